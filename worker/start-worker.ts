import type { Client } from '@temporalio/client';
import { confirmAnnounced } from '../activities/confirm-announced.ts';
import { createBillingActivities, createWarehouseActivities } from '../activities/create-activities.ts';
import type { ForwardOverdue } from '../activities/dependencies.ts';
import type { Archive } from '../archive/archive.ts';
import { openArchive } from '../archive/open-archive.ts';
import { createBillingService } from '../billing/client.ts';
import { closedMonthsCheck } from '../finance/closing/restated.ts';
import { watchCosts } from '../finance/cost-alerts/watch-costs.ts';
import { claimsCheck } from '../finance/disputes/watch-claims.ts';
import type { Alert } from '../lib/alerts/alert-store.ts';
import { type Alerts, registerInvoiceNumbers } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import { dataFolder } from '../lib/files/data-folder.ts';
import { onFsyncFailure } from '../lib/files/durable-files.ts';
import { clockCheck, refuseWrongClock } from '../lib/health/clocks.ts';
import { type Health, startChecks } from '../lib/health/health.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { isTemporalError } from '../lib/temporal/errors.ts';
import { activeTracing } from '../lib/temporal/tracing.ts';
import { taskQueues } from '../lib/wire/names.ts';
import { startPublisher } from '../warehouse/publication-loop.ts';
import type { SetAside, Warehouse } from '../warehouse/warehouse.ts';
import { openQuarantine, reportDropped } from '../webhook/inbox/quarantine.ts';
import { lookUpInvoice } from '../workflows/client/invoice-client.ts';
import { applySchedule } from '../workflows/client/schedules.ts';
import { machineChecks, partsChecks, reportPublisherFailures } from './checks.ts';
import { openOrRebuild } from './open-or-rebuild.ts';
import { pollTemporal } from './poll-temporal.ts';
import {
  createAnnouncementAlerts,
  measureContents,
  publishedPath,
  readGaps,
  readMissingFiles,
} from './publication-listeners.ts';
import { requireSharedKey } from './require-shared-key.ts';
import { createRetryAlert } from './retry-alert.ts';
import { installRuntime } from './runtime.ts';
import { scheduleChecks } from './schedule-checks.ts';
import { writeScheduledReport } from './scheduled-reports.ts';
import { tokenCheck, withServiceHealth } from './service-check.ts';
import { workflowBundle } from './workflow-bundle.ts';

export interface WorkerOptions {
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly alerts: Alerts;
  readonly role: string;
  readonly forwardOverdue: ForwardOverdue;
  /**
   * Called when the warehouse or the disk has failed: the process has to end, and a new start repairs the cause or reports what to
   * do.
   */
  readonly onFatal: (error: Error) => void;
}

export interface RunningWorker {
  /** The worker starts without Temporal and waits for it. */
  readonly ready: Promise<void>;
  partnerIds(): readonly string[];
  readonly archive: Archive;
  readonly warehouse: Warehouse;
  /** Publishes the remaining changes and closes everything in reverse order. Safe to call twice. */
  close(): Promise<void>;
}

/** A worker that was killed during a write takes a moment to end; a command that holds the lock ends soon. */
const LOCK_TIMEOUT_MS = 5_000;
/** Groups loads and events (ADR 15). An idle writer does not wait, and readers get a copy every few seconds anyway. */
const LINGER_MS = 1_000;
/** After a failed fsync current responses are still sent; everything else is repeated by the next start. */
const END_DELAY_MS = 250;
/** Well within the hour that is promised (ADR 17). */
const CONFIRM_EVERY_MS = 10 * 60_000;

function alertSlowHost(alerts: Alerts): (host: string, isSlow: boolean) => void {
  return (host, isSlow) => {
    if (!isSlow) return alerts.resolve(`slow-host/${host}`);
    const title = `The storage host ${host} sends files too slowly`;
    alerts.raise({
      key: `slow-host/${host}`,
      title,
      detail: 'Its files are retried with more time, behind first attempts of others.',
    });
  };
}

/**
 * An absent Temporal is not an error. @throws WrongClockError, workflow-bundle, and the errors of opening warehouse
 * and archive
 */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { settings, log, metrics, health, alerts, onFatal } = options;
  installRuntime(log, metrics);
  const closers = new AsyncDisposableStack();
  try {
    const sinks = { health, alerts };
    const databasePath = publishedPath(settings);
    const queues = taskQueues(settings.environment);
    const stopListening = onFsyncFailure((error) => {
      health.set('disk', { isHealthy: false, detail: error.message });
      alerts.raise({ key: 'disk', title: 'The disk failed to store written data', detail: error.message });
      setTimeout(() => onFatal(error), END_DELAY_MS).unref();
    });
    closers.defer(stopListening);
    const checks = startChecks({ log, ...sinks });
    closers.defer(() => checks.close());
    checks.add(...machineChecks({ ...sinks, dataDir: settings.dataDir, metrics }));

    const archive = await openArchive(settings);
    closers.defer(() => archive.close());
    const service = withServiceHealth(
      createBillingService({ settings, archive, log, metrics, onSlowHost: alertSlowHost(alerts) }),
      { health },
    );
    closers.defer(() => service.close());
    const clocks = [service.clock, ...(archive.clock === undefined ? [] : [archive.clock])];
    await refuseWrongClock(clocks);
    const bundle = await workflowBundle();
    const quarantine = await openQuarantine(dataFolder(settings.dataDir).quarantine, {
      onDropped: reportDropped({ log, alerts }),
    });
    const warehouse = await openOrRebuild({
      ...{ settings, archive, log, metrics, health, alerts, role: options.role },
      lockPatienceMs: LOCK_TIMEOUT_MS,
      lingerMs: LINGER_MS,
      onSetAside: (records) => alerts.raise(setAsideAlert(records)),
      onFatal(error) {
        health.set('warehouse', { isHealthy: false, detail: error.message });
        alerts.raise({ key: 'warehouse', title: 'The warehouse failed', detail: error.message });
        onFatal(error);
      },
    });
    closers.defer(() => warehouse.close());
    closers.defer(registerInvoiceNumbers(settings.dataDir, (ids) => warehouse.invoiceNumbers(ids)));
    health.set('warehouse', { isHealthy: true });

    const contents = measureContents({ metrics, quarantine, databasePath });
    const dashboardUrl = settings.alerts.dashboardUrl;
    const costs = watchCosts({ dataDir: settings.dataDir, databasePath, dashboardUrl, alerts, log });
    const announcements = createAnnouncementAlerts({
      ...{ warehouse, dataDir: settings.dataDir, alerts, log },
    });
    closers.defer(() => announcements.close());
    const traced = activeTracing()?.publications();
    warehouse.onChange(() => traced?.recordChange());
    const publisher = startPublisher(reportPublisherFailures(warehouse, sinks), {
      ...{ log, metrics, bytesPerSecond: settings.publishMegabytes * 1_000_000 },
      onPublished(publication) {
        contents.published();
        costs.published();
        announcements.published();
        traced?.published(publication);
      },
    });
    closers.defer(() => publisher.close());

    const schedules = scheduleChecks({ settings, health });
    const retries = createRetryAlert({ alerts });
    checks.add(
      ...partsChecks({
        ...{ settings, archive, quarantine, warehouse },
        readMissingFiles: () => readMissingFiles(warehouse),
      }),
      ...schedules.checks,
      clockCheck(clocks),
      tokenCheck(service, { alerts }),
      retries.check,
      costs.check,
      claimsCheck({ dataDir: settings.dataDir, databasePath, alerts, log }),
      closedMonthsCheck({ dataDir: settings.dataDir, databasePath, alerts, log }),
    );
    // Checks end after the last activity, and before the parts that they read are closed.
    closers.defer(() => checks.close());

    const warehouseActivities = createWarehouseActivities({
      ...{ warehouse, archive, quarantine, service, alerts, metrics, log, settings },
      readGaps: () => readGaps(databasePath),
      writeReport: (scheduled) =>
        writeScheduledReport(scheduled, {
          ...{ databasePath, dataDir: settings.dataDir, now: new Date() },
        }),
      forwardOverdue: options.forwardOverdue,
      now: () => new Date(),
    });
    let client: Client | undefined;
    checks.add({
      component: 'announced files',
      everyMs: CONFIRM_EVERY_MS,
      async run() {
        const connected = client;
        if (connected === undefined) return;
        const route = { ...settings, queues };
        await confirmAnnounced(
          { ...{ warehouse, service, alerts, log, settings }, now: () => new Date() },
          (invoice) => lookUpInvoice(connected, route, invoice),
        ).catch((error: unknown) => log.warn({ err: error }, 'announced files could not be confirmed'));
      },
    });
    const { recordEvent, loadInvoice } = warehouseActivities;
    const polling = pollTemporal({
      ...{ settings, log, health, alerts, queues, bundle, interceptor: retries.interceptor },
      billing: { ...createBillingActivities({ service, alerts, log, loadInvoice }), recordEvent },
      warehouse: warehouseActivities,
      async onConnected(connected) {
        client = connected;
        await requireSharedKey(connected, settings, queues);
        // An account without the right to create schedules may still work.
        await applySchedule(connected, settings, queues).catch((error: unknown) => {
          if (isTemporalError(error, 'unknown-encryption-key', 'undecryptable-payload')) throw error;
          log.warn({ err: error }, 'the schedule could not be created; see `billsync schedule apply`');
        });
        schedules.connect(connected);
        retries.connect(connected);
      },
    });
    closers.defer(() => polling.close());
    return {
      ready: polling.ready,
      partnerIds: () => service.partnerIds(),
      ...{ archive, warehouse },
      close: () => closers.disposeAsync(),
    };
  } catch (error) {
    await closers.disposeAsync();
    throw error;
  }
}

function setAsideAlert(records: readonly SetAside[]): Alert {
  const [first] = records;
  const noun = records.length === 1 ? 'record' : 'records';
  return {
    // Each record that was set aside has an alert key of its own, so that no quiet window suppresses it.
    key: `set-aside/${first?.place}`,
    title: `${records.length} ${noun} of the archive could not be read`,
    detail: `${first?.place}: ${first?.why}. All others were. \`billsync verify\` lists what is set aside; once it is repaired, \`billsync rebuild\` reads it.`,
  };
}
