import { dirname } from 'node:path';
import type { Gap } from '../activities/dependencies.ts';
import { openAlerts } from '../lib/alerts/alert-store.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Quarantine } from '../lib/quarantine.ts';
import { INVOICE_STATES } from '../lib/wire/names.ts';
import { isReportError } from '../reports/errors.ts';
import { openGaps } from '../reports/gap-answers.ts';
import { openPublishedFile, registerConnection } from '../reports/open-published-file.ts';
import { runReport } from '../reports/report-session.ts';
import { warehousePaths } from '../warehouse/data-folder.ts';
import type { LedgerWarehouse } from '../warehouse/warehouse.ts';
import type { MissingFiles } from './checks.ts';

export function publishedPath(settings: Pick<Settings, 'dataDir' | 'warehouse' | 'archive'>): string {
  const { warehouse } = settings;
  const { published } = warehousePaths(settings);
  if (warehouse.kind === 'ducklake') {
    registerConnection(published, async () => {
      const { connectToLake } = await import('../warehouse/lake/lake-reader.ts');
      return connectToLake(published, warehouse);
    });
  }
  return published;
}

/** The gaps that no person answered. */
export async function readGaps(databasePath: string): Promise<readonly Gap[]> {
  try {
    const { rows } = await runReport({ databasePath, name: 'gaps', filters: { level: 'all' } });
    return (await openGaps(dirname(databasePath), rows)).map(({ kind, missing, finding }) => ({
      kind: kind as Gap['kind'],
      missing: Number(missing),
      finding: String(finding),
    }));
  } catch (error) {
    if (isReportError(error, 'not-published')) return [];
    throw error;
  }
}

export async function readMissingFiles(warehouse: Pick<LedgerWarehouse, 'invoices'>): Promise<MissingFiles> {
  const found = await warehouse.invoices({ states: ['finalized'] });
  const [since = null] = found.map(({ stateSince }) => stateSince).sort();
  return { invoices: found.length, since };
}

export interface PublicationListener {
  published(): void;
}

export function measureContents({
  metrics,
  quarantine,
  databasePath,
}: {
  readonly metrics: Metrics;
  readonly quarantine: Pick<Quarantine, 'list'>;
  readonly databasePath: string;
}): PublicationListener {
  const invoices = metrics.gauge('invoices');
  const shipments = metrics.gauge('shipments');
  const depth = metrics.gauge('quarantine_depth');
  let isCurrent = false;
  metrics.beforeRead(async () => {
    if (isCurrent) return;
    isCurrent = true;
    try {
      const counts = await countPublished(databasePath);
      for (const state of INVOICE_STATES) invoices.set({ state }, counts.states.get(state) ?? 0);
      shipments.set(counts.shipments);
    } catch (error) {
      isCurrent = isReportError(error, 'not-published');
    }
  }, 5_000);
  metrics.beforeRead(async () => {
    const refused = await quarantine.list();
    for (const kind of ['delivery', 'file'] as const)
      depth.set({ kind }, refused.filter((item) => item.kind === kind).length);
  }, 10_000);
  return {
    published() {
      isCurrent = false;
    },
  };
}

async function countPublished(path: string) {
  const file = await openPublishedFile(path);
  try {
    const states = await file.query('select state, count(*) from invoices group by state');
    const publication = await file.query('select shipments from publication');
    return {
      states: new Map(states.getRows().map(([state, count]) => [String(state), Number(count)])),
      shipments: Number(publication.getRows()[0]?.[0] ?? 0),
    };
  } finally {
    file.close();
  }
}

interface AnnouncementAlertOptions {
  readonly warehouse: Pick<LedgerWarehouse, 'announcementDifferences'>;
  readonly dataDir: string;
  readonly alerts: Alerts;
  readonly log: Logger;
}

/** Read from the ledger after each publication, because a person's decision changes it as well as a load. */
export function createAnnouncementAlerts(
  options: AnnouncementAlertOptions,
): PublicationListener & { close(): Promise<void> } {
  const { alerts, log } = options;
  let raised: ReadonlySet<string> | null = null;
  let reading: Promise<void> | null = null;
  let isStale = false;

  async function update(): Promise<void> {
    raised ??= new Set(
      (await openAlerts(options.dataDir)).flatMap(({ key }) => /^announcement\/(.+)$/.exec(key)?.[1] ?? []),
    );
    const differing = await options.warehouse.announcementDifferences();
    for (const invoiceId of raised) {
      if (!differing.has(invoiceId)) alerts.resolve(`announcement/${invoiceId}`);
    }
    for (const [invoiceId, differences] of differing) {
      alerts.raise({
        key: `announcement/${invoiceId}`,
        title: `Invoice ${invoiceId}: the file differs from the announced one`,
        detail: `${differences.join('; ')}. The received file is loaded and counts. Ask the billing service which of the two is right; \`billsync invoices show ${invoiceId}\` shows both.`,
      });
    }
    raised = new Set(differing.keys());
  }

  async function updateWhileStale(): Promise<void> {
    while (isStale) {
      isStale = false;
      await update().catch((error: unknown) =>
        log.error({ err: error }, 'the discrepancies could not be read'),
      );
    }
    reading = null;
  }

  function published(): void {
    isStale = true;
    reading ??= updateWhileStale();
  }

  published();
  return {
    published,
    async close() {
      await reading;
    },
  };
}
