/** The worker role, wired: archive, warehouse with its publisher, billing service, and both task queues. */

import { join } from 'node:path';
import { createBillingActivities, createWarehouseActivities } from '../activities/create-activities.ts';
import type { ForwardOverdue } from '../activities/dependencies.ts';
import { createReportActivities } from '../activities/write-report.ts';
import type { Archive } from '../archive/archive.ts';
import { openArchive } from '../archive/open-archive.ts';
import type { BillingService } from '../billing/billing-service.ts';
import { createBillingService } from '../billing/client.ts';
import { costPaths, watchCosts } from '../finance/cost-alerts/watch-costs.ts';
import { claimsCheck } from '../finance/disputes/watch-claims.ts';
import { sentFolder } from '../finance/statements/sent-statements.ts';
import type { Alert } from '../lib/alerts/alert-store.ts';
import { type Alerts, createAlerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import { onFsyncFailure } from '../lib/files/durable-files.ts';
import { clockWatch, refuseWrongClock } from '../lib/health/clocks.ts';
import { type Health, startChecks, stateCheck } from '../lib/health/health.ts';
import type { Logger } from '../lib/log/log.ts';
import { createScrub } from '../lib/log/scrub.ts';
import type { Metrics } from '../lib/metrics.ts';
import { UndecryptablePayloadError, UnknownEncryptionKeyError } from '../lib/temporal/codec.ts';
import { activeTracing } from '../lib/temporal/tracing.ts';
import { taskQueues } from '../lib/wire/names.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';
import { startPublisher } from '../warehouse/publisher.ts';
import type { SetAside, Warehouse } from '../warehouse/warehouse.ts';
import { openQuarantine, reportDropped } from '../webhook/inbox/quarantine.ts';
import { applySchedule } from '../workflows/client/schedule.ts';
import { duckDbCheck } from './check-duckdb.ts';
import { lakeCheck } from './check-lake.ts';
import type { QueueNames } from './create-workers.ts';
import { measureContents } from './measure-contents.ts';
import { openOrRebuild } from './open-or-rebuild.ts';
import { pollTemporal } from './poll-temporal.ts';
import { publishedPath } from './published-path.ts';
import { readGaps } from './read-gaps.ts';
import { readWaiting } from './read-waiting.ts';
import { installRuntime } from './runtime.ts';
import { watchAnnouncements } from './watch-announcements.ts';
import { diskCheck } from './watch-disk.ts';
import { othersCheck } from './watch-others.ts';
import { watchRetries } from './watch-retries.ts';
import { temporalWatches } from './watch-schedules.ts';
import { tokenCheck, watchedService } from './watch-service.ts';
import { upkeepWatches } from './watch-upkeep.ts';
import { watchedWarehouse } from './watched-warehouse.ts';
import { writeScheduled } from './write-scheduled.ts';

export interface WorkerOptions {
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Stands in the warehouse's lock file, `up` or `worker`. */
  readonly role?: string;
  /** Instead of the environment's; tests that share a server keep apart by them. */
  readonly queues?: QueueNames;
  /** Shared with the endpoint when both run in one process. */
  readonly alerts?: Alerts;
  /** Takes up what an endpoint left in the inbox; missing where no inbox lies beside the worker. */
  readonly forwardOverdue?: ForwardOverdue;
  /** Warehouse or disk cannot go on: end the process, a new start repairs or says what to do. */
  readonly onFatal?: (error: Error) => void;
}

export interface RunningWorker {
  /** Resolves when the worker polls Temporal for the first time; it starts and waits without. */
  readonly ready: Promise<void>;
  /** Of the account, once a token was had. */
  partnerIds(): readonly string[];
  readonly archive: Archive;
  readonly warehouse: Warehouse;
  readonly service: BillingService;
  readonly quarantine: Quarantine;
  /** Drains, publishes what is not published yet, and closes in order. Safe to call twice. */
  close(): Promise<void>;
}

/** A worker that was killed while it wrote to disk takes a moment to be gone; a command that has the lock ends soon. */
const LOCK_PATIENCE_MS = 5_000;

/**
 * A group of loads or events costs nearly as much as one (ADR 15). Only who comes while others are written, or just after
 * several were, waits, and readers get a copy every few seconds then.
 */
const LINGER_MS = 1_000;

/** From a flush that failed to the end of the process. */
const ENDS_AFTER_MS = 250;

/** @throws WrongClockError, warehouse-locked and whatever else keeps the warehouse or archive from opening; never for Temporal */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { settings, log, metrics, health } = options;
  installRuntime(log, metrics);
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    // Newest first: polling, then publisher, then what they write to.
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) await closer();
  };
  try {
    const alerts = options.alerts ?? createAlerts({ settings, log, metrics, scrub: createScrub(settings) });
    if (options.alerts === undefined) closers.push(() => alerts.close());
    const stopListening = onFsyncFailure((error) => {
      health.set('disk', { isHealthy: false, detail: error.message });
      alerts.raise({ key: 'disk', title: 'The disk failed to store written data', detail: error.message });
      // What is being answered just now gets out; everything else is done again by the next start.
      setTimeout(() => options.onFatal?.(error), ENDS_AFTER_MS).unref();
    });
    closers.push(async () => stopListening());
    const checks = startChecks({ log });
    closers.push(() => checks.close());
    checks.add(
      diskCheck({ dataDir: settings.dataDir, health, alerts, metrics }),
      othersCheck({ health, alerts }),
      duckDbCheck({ health, alerts }),
    );
    const archive = await openArchive(settings);
    closers.push(() => archive.close());
    const service = watchedService(createBillingService({ settings, archive, log, metrics }), { health });
    closers.push(() => service.close());
    const clocks = [service.clock, ...(archive.clock === undefined ? [] : [archive.clock])];
    await refuseWrongClock(clocks);
    const quarantine = await openQuarantine(join(settings.dataDir, 'quarantine'), {
      onDropped: reportDropped({ log, alerts }),
    });
    const warehouse = await openOrRebuild({
      ...{ settings, archive, log, metrics, health, alerts, role: options.role ?? 'worker' },
      lockPatienceMs: LOCK_PATIENCE_MS,
      lingerMs: LINGER_MS,
      onSetAside: (records) => alerts.raise(setAsideAlert(records)),
      onFatal(error) {
        health.set('warehouse', { isHealthy: false, detail: error.message });
        alerts.raise({ key: 'warehouse', title: 'The warehouse cannot go on', detail: error.message });
        options.onFatal?.(error);
      },
    });
    closers.push(() => warehouse.close());
    checks.add(lakeCheck(warehouse, { health, alerts }));
    health.set('warehouse', { isHealthy: true });
    const contents = measureContents({ metrics, quarantine, publishedPath: publishedPath(settings) });
    const costs = watchCosts({
      ...{ ...costPaths(settings.dataDir), databasePath: publishedPath(settings) },
      ...{ dashboardUrl: settings.alerts.dashboardUrl ?? null, alerts, log },
    });
    closers.push(() => costs.close());
    const claims = claimsCheck({
      ...{ dataDir: settings.dataDir, databasePath: publishedPath(settings), alerts, log },
    });
    const announcements = watchAnnouncements({
      ...{ publishedPath: publishedPath(settings), runFolder: join(settings.dataDir, 'run'), alerts, log },
    });
    closers.push(() => announcements.close());
    const traced = activeTracing()?.publications();
    warehouse.onChange(() => traced?.recordChange());
    const publisher = startPublisher(watchedWarehouse(warehouse, { health, alerts }), {
      ...{ log, metrics },
      onPublished(publication) {
        contents.published();
        costs.published();
        announcements.published();
        traced?.published(publication);
      },
    });
    closers.push(() => publisher.close());
    const upkeep = upkeepWatches({
      ...{ settings, archive, quarantine },
      readWaiting: () => readWaiting(publishedPath(settings)),
    });
    const queues = options.queues ?? taskQueues(settings.environment);
    const ofTemporal = temporalWatches({ settings, health, queues });

    const ofWarehouse = createWarehouseActivities({
      ...{ warehouse, archive, quarantine, service, alerts, metrics, log, settings },
      readGaps: () => readGaps(publishedPath(settings)),
      forwardOverdue: options.forwardOverdue ?? nothingWaits,
      now: () => new Date(),
    });
    const { recordEvent, loadInvoice } = ofWarehouse;
    const retries = watchRetries({ alerts });
    const states = [...upkeep, ...ofTemporal.watches, clockWatch(clocks)].map((watch) =>
      stateCheck(watch, { health, alerts }),
    );
    checks.add(...states, tokenCheck(service, { alerts }), retries.check, costs.check, claims);
    // They end after the last activity and before what they look at is closed.
    closers.push(() => checks.close());
    const polling = pollTemporal({
      ...{ settings, log, health, alerts, queues, watch: retries.interceptor },
      billing: { ...createBillingActivities({ service, alerts, log, loadInvoice }), recordEvent },
      warehouse: {
        ...ofWarehouse,
        ...createReportActivities({
          alerts,
          writeReport: (scheduled) =>
            writeScheduled(scheduled, {
              databasePath: publishedPath(settings),
              ...{ sentFolder: sentFolder(settings.dataDir), now: new Date() },
            }),
        }),
      },
      // An account without the right to make schedules may still work, a worker with another key may not.
      async onConnected(client) {
        await applySchedule(client, settings, queues).catch((error: unknown) => {
          if (error instanceof UnknownEncryptionKeyError || error instanceof UndecryptablePayloadError)
            throw error;
          log.warn({ err: error }, 'the schedule could not be made; see `billsync schedule apply`');
        });
        ofTemporal.ask(client);
      },
    });
    closers.push(() => polling.close());
    return {
      ready: polling.ready,
      partnerIds: () => service.partnerIds(),
      ...{ archive, warehouse, service, quarantine, close },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function setAsideAlert(records: readonly SetAside[]): Alert {
  const [first] = records;
  const title = `${records.length} ${records.length === 1 ? 'record' : 'records'} of the archive could not be taken in`;
  return {
    // Each is said, whatever was said of another before.
    key: `set-aside/${first?.place}`,
    title,
    detail: `${first?.place}: ${first?.why}. All others were. \`billsync verify\` lists what is set aside; once it is repaired, \`billsync rebuild\` takes it in.`,
  };
}

const nothingWaits: ForwardOverdue = async () => ({ forwarded: 0, waiting: 0, oldestReceivedAt: null });
