/** The endpoint with probes beside it, as a process of its own. */

import { setTimeout as sleep } from 'node:timers/promises';
import { openArchive } from '../../archive/open-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { createBillingService } from '../../billing/client.ts';
import { startProbes } from '../../dashboard/probes.ts';
import { requireService, type Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { clockWatch, refuseWrongClock } from '../../lib/health/clocks.ts';
import { startChecks, stateCheck } from '../../lib/health/health.ts';
import { certificateWatch } from '../../lib/health/watch-expiry.ts';
import type { Logger } from '../../lib/log/log.ts';
import { temporalTarget } from '../../lib/temporal/connect.ts';
import { claimDataFolder } from '../../warehouse/data-folder.ts';
import type { ForwardDeps } from '../../webhook/forward-entry.ts';
import { startForwarder } from '../../webhook/forwarder.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { openQuarantine, reportDropped } from '../../webhook/inbox/quarantine.ts';
import { startWebhook } from '../../webhook/server.ts';
import { type RoleContext, type RunningRole, startParts } from './run-role.ts';
import { reportEndpoint, watchEndpoint } from './watch-endpoint.ts';

/** The endpoint first: what cannot be heard is lost, who asks how we are asks again. */
export function startWebhookAloneRole(context: RoleContext): Promise<RunningRole> {
  return startParts(context.log, async (parts) => {
    const webhook = await startWebhookRole(context);
    parts.add('webhook', () => webhook.close());
    const watch = watchEndpoint({
      url: () => webhook.addresses.webhook ?? null,
      onState: reportEndpoint(context),
    });
    parts.add('watch', async () => watch.close());
    const probes = await startProbesRole(context);
    parts.add('probes', () => probes.close());
    return { addresses: { ...webhook.addresses, ...probes.addresses }, close: () => parts.close() };
  });
}

export async function startWebhookRole(context: RoleContext): Promise<RunningRole> {
  const { settings, log, metrics, health, alerts, fatal, stopping } = context;
  await claimDataFolder(settings.dataDir, settings.environment);
  return startParts(log, async (parts) => {
    const archive = await openArchive(settings);
    parts.add('archive', () => archive.close());
    const service = hasService(settings) ? createBillingService({ settings, archive, log, metrics }) : null;
    if (service !== null) parts.add('billing service', () => service.close());
    const clocks = [service?.clock, archive.clock].filter((clock) => clock !== undefined);
    await refuseWrongClock(clocks);
    const inbox = await openInbox(dataFolder(settings.dataDir).inbox);
    const quarantine = await openQuarantine(dataFolder(settings.dataDir).quarantine, {
      onDropped: reportDropped({ log, alerts }),
    });
    const partner = learnPartner({ settings, service, log, stopping });
    parts.add('partner', () => partner.close());
    const temporal = linkOnDemand(settings, log);
    parts.add('temporal', () => temporal.close());

    const shared = {
      settings,
      inbox,
      archive,
      quarantine,
      partnerIds: partner.ids,
      log,
      metrics,
      health,
      alerts,
    };
    const forwarder = startForwarder({
      ...shared,
      send: temporal.send,
      onFatal: fatal,
    });
    parts.add('forwarder', async () => {
      await forwarder.close();
    });
    const server = await startWebhook({
      ...shared,
      onFatal: fatal,
      isOpenAllowed: settings.webhook.open === true,
    });
    parts.add('endpoint', () => server.close());
    temporal.loadSoon();
    const checks = startChecks({ log });
    parts.add('checks', () => checks.close());
    checks.add(stateCheck(clockWatch(clocks), { health, alerts }));
    const { tls, tlsCert, tlsKey } = settings.webhook;
    // One that we made ourselves is renewed by itself.
    if (tls && tlsCert !== null && tlsKey !== null) {
      const watch = certificateWatch(
        'certificate',
        { setting: 'BILLSYNC_WEBHOOK_TLS_CERT', path: tlsCert },
        { key: { setting: 'BILLSYNC_WEBHOOK_TLS_KEY', path: tlsKey } },
      );
      checks.add(stateCheck(watch, { health, alerts }));
    }
    return { addresses: { webhook: server.url }, close: () => parts.close() };
  });
}

/** So long after the start the client of Temporal is loaded, if no event asked for it before. */
const LOADED_AFTER_MS = 3_000;

/**
 * The client of Temporal takes longer to load than all else here, and the endpoint does without: it listens first. What is delivered
 * meanwhile waits on disk.
 */
function linkOnDemand(settings: Settings, log: Logger) {
  let loading: ReturnType<typeof load> | null = null;
  let timer: NodeJS.Timeout | undefined;
  async function load() {
    const [{ openTemporalLink }, { sendInvoiceEvent }] = await Promise.all([
      import('../../lib/temporal/connect.ts'),
      import('../../workflows/client/invoice-client.ts'),
    ]);
    return { link: openTemporalLink(settings, { log }), sendInvoiceEvent };
  }
  const loaded = () => (loading ??= load());
  const send: ForwardDeps['send'] = async (event) => {
    const { link, sendInvoiceEvent } = await loaded();
    await link.run((client) => sendInvoiceEvent(client, settings, event));
  };
  return {
    send,
    loadSoon() {
      timer = setTimeout(loaded, LOADED_AFTER_MS).unref();
    },
    async close() {
      clearTimeout(timer);
      await (await loading)?.link.close();
    },
  };
}

interface PartnerQuestion {
  readonly settings: Settings;
  readonly service: BillingService | null;
  readonly log: Logger;
  readonly stopping: AbortSignal;
}

/** Asks for a token until one tells whose account this is; until then deliveries are kept and checked later. */
function learnPartner({ settings, service, log, stopping }: PartnerQuestion) {
  if (settings.partnerId !== null || service === null) {
    const configured = settings.partnerId === null ? [] : [settings.partnerId];
    return { ids: () => configured, close: async () => {} };
  }
  // Also when the role is not asked to stop but cannot start: its port is taken, say.
  const closing = new AbortController();
  const until = AbortSignal.any([stopping, closing.signal]);
  const learning = (async () => {
    for (let waitMs = 1_000; service.partnerIds().length === 0; waitMs = Math.min(waitMs * 2, 60_000)) {
      try {
        await service.fetchToken({ signal: until });
      } catch (error) {
        log.warn({ err: error }, 'whose account this is cannot be learned yet');
      }
      // A token that names no partner is no error, and asking again at once would never end.
      if (service.partnerIds().length === 0) await sleep(waitMs, undefined, { signal: until });
    }
  })().catch((error: unknown) => {
    if (!until.aborted) log.error({ err: error }, 'stopped asking whose account this is');
  });
  return {
    ids: () => service.partnerIds(),
    async close() {
      closing.abort(new Error('closing'));
      await learning;
    },
  };
}

function hasService(settings: Settings): boolean {
  try {
    requireService(settings);
    return true;
  } catch {
    return false;
  }
}

/**
 * The worker owns the admin port (ADR 13). Only where Temporal is on another machine can we be alone on
 * ours; beside a worker, which may just not run yet, we take a free port, so that nobody's address ever changes hands.
 */
export async function startProbesRole(context: RoleContext): Promise<RunningRole> {
  const { settings } = context;
  const isBesideWorker = await temporalTarget(settings).then(
    ({ isLocal }) => isLocal,
    () => true,
  );
  const probes = await startProbes({
    ...context,
    admin: settings.admin,
    port: isBesideWorker ? null : settings.admin.port,
  });
  return { addresses: { probes: probes.url }, close: () => probes.close() };
}
