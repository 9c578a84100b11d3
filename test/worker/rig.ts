/**
 * A worker with real parts around it: a foreign billing service over HTTPS, an embedded Temporal, a DuckDB warehouse.
 * Events are given as the forwarder gives them: parsed, archived, signalled.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import type { Archive } from '../../archive/archive.ts';
import { openArchive } from '../../archive/open-archive.ts';
import { createAlerts } from '../../lib/alerts/alerts.ts';
import { loadSettings } from '../../lib/config/load-settings.ts';
import { createHealth } from '../../lib/health/health.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { openTemporalLink } from '../../lib/temporal/connect.ts';
import { startEmbeddedTemporal } from '../../lib/temporal/embedded.ts';
import { type InvoiceEvent, withoutUrlQuery } from '../../lib/wire/invoice-event.ts';
import { parseDelivery } from '../../lib/wire/parse-delivery.ts';
import { startWorker } from '../../worker/start-worker.ts';
import { type InvoiceRoute, sendInvoiceEvent } from '../../workflows/client/invoice-client.ts';
import type { Pace } from '../../workflows/pace.ts';
import { serviceSettings, startForeignService } from '../support/foreign-service.ts';
import { QUICK_PACE } from '../support/quick-route.ts';

export interface Envelope {
  readonly metadata: Record<string, unknown>;
  readonly payload: Record<string, unknown>;
}

export type Rig = Awaited<ReturnType<typeof aRig>>;

export function changed(body: string, change: (envelope: Envelope) => void): string {
  const envelope = JSON.parse(body) as Envelope;
  change(envelope);
  return JSON.stringify(envelope);
}

/** @param pace over the quick one */
export async function aRig(
  env: Readonly<Record<string, string>> = {},
  pace: Partial<Pace> = {},
  foreign: Parameters<typeof startForeignService>[0] = {},
) {
  const dataDir = await mkdtemp(join(tmpdir(), 'billsync-worker-'));
  const service = await startForeignService(foreign);
  const settings = loadSettings({
    cwd: dataDir,
    env: {
      BILLSYNC_DATA_DIR: dataDir,
      ...serviceSettings(service),
      BILLSYNC_DOWNLOAD_HOSTS: service.storageHost,
      ...env,
    },
  });
  const lines: string[] = [];
  const log: Logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const health = createHealth();
  const route: InvoiceRoute = { environment: settings.environment, pace: { ...QUICK_PACE, ...pace } };
  const temporal = openTemporalLink(settings, { log });
  const closers: (() => Promise<void>)[] = [];
  let archive: Archive | undefined;
  let forwarded = 0;

  /** Gives the workflows one event, by its text. @param own pace of the run that it starts, over the rig's */
  async function give(body: string, own: Partial<Pace> = {}): Promise<InvoiceEvent> {
    const parsed = parseDelivery(Buffer.from(body), { wirePrefix: settings.wirePrefix });
    if (parsed.kind !== 'event') throw new Error(`The service sent something else: ${parsed.kind}`);
    const { event, envelope } = parsed;
    const { eventId } = event;
    const receivedAt = new Date().toISOString();
    // Once for all events, as the endpoint has it.
    archive ??= await openArchive(settings);
    await archive.putEvent({
      ...{ eventId, receivedAt, verdict: 'accepted', reason: null },
      ...{ event: withoutUrlQuery(event), envelope },
    });
    const itsRoute = { ...route, pace: { ...route.pace, ...own } };
    await temporal.run((client) => sendInvoiceEvent(client, itsRoute, event));
    return event;
  }

  return {
    ...{ dataDir, settings, service, health, route, temporal },
    logged: () => lines.join(''),
    async startTemporal() {
      const server = await startEmbeddedTemporal({ dataDir, log });
      closers.push(() => server.stop());
      return server;
    },
    async startWorker() {
      const alerts = createAlerts({ settings, log, scrub: (text) => text });
      const worker = await startWorker({
        ...{ settings, log, health, metrics: createMetrics('worker'), alerts, role: 'worker' },
        forwardOverdue: async () => ({ forwarded: 0, waiting: 0, oldestReceivedAt: null }),
        onFatal: () => undefined,
      });
      closers.push(() => worker.close());
      return worker;
    },
    give,
    /** Gives the workflows every event that the service has emitted since the last call. */
    async forward(change?: (envelope: Envelope) => void) {
      const events: InvoiceEvent[] = [];
      for (const body of service.events.slice(forwarded)) {
        forwarded += 1;
        events.push(await give(change === undefined ? body : changed(body, change)));
      }
      return events;
    },
    async close() {
      await temporal.close();
      for (const closer of closers.reverse()) await closer();
      await archive?.close();
      await service.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
