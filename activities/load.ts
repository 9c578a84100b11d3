import { describeInvoice } from '../billing/billing-service.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Discrepancy, LoadedRows, LoadOutcome } from '../lib/warehouse-requests.ts';
import { importFile } from '../warehouse/import/import-files.ts';
import { holdRefused, rejection, releaseRefused } from '../warehouse/import/refused-files.ts';
import type { LoadInvoiceResult, WarehouseActivities } from '../workflows/activities.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { attentionKey, voidedAfterLoadKey } from './invoice-records.ts';
import { alertFullDisk } from './service-calls.ts';

export function createLoadActivities({
  warehouse,
  archive,
  quarantine,
  alerts,
  metrics,
  log,
  settings,
  service,
  now,
}: WarehouseDependencies): Pick<WarehouseActivities, 'loadInvoice' | 'importCsv'> {
  const measure = createLoadMetrics(metrics);
  return {
    // The activity cannot be cancelled: a commit in progress ends first, and the void follows.
    async loadInvoice(request) {
      // The header of a received event is the proof of a file without a hash.
      await warehouse.ingestArchive({ deferFacts: true });
      const outcome = await measure(() =>
        alertFullDisk(alerts, request.invoiceId, () => warehouse.load(request)),
      );
      if (outcome.outcome === 'rejected') {
        const { sizeBytes = 0 } = (await archive.file(request.sha256)) ?? {};
        await holdRefused(quarantine, { ...request, sizeBytes }, { ...outcome, at: now().toISOString() });
      }
      if (outcome.outcome === 'loaded') {
        const { version, shipments, billingCost, currencyCode } = outcome;
        const { invoiceId, sha256 } = request;
        log.info({ invoiceId, version, shipments, billingCost, currencyCode, sha256 }, 'invoice loaded');
      }
      if ('shipments' in outcome) await settleLoad(request.invoiceId, outcome);
      return resultOf(outcome);
    },

    async importCsv(request) {
      const deps = { warehouse, archive, quarantine, dataDir: settings.dataDir, now };
      const lookUp = (invoiceId: string) => describeInvoice(service, invoiceId);
      const hasService = settings.service.baseUrl !== null;
      const imported = await importFile(hasService ? { ...deps, lookUp } : deps, request);
      const { invoiceId, outcome } = imported;
      const isLoaded = outcome.outcome === 'loaded' || outcome.outcome === 'already_loaded';
      if (invoiceId !== null && isLoaded) alerts.resolve(attentionKey(invoiceId));
      return imported;
    },
  };

  async function settleLoad(invoiceId: string, loaded: LoadedRows): Promise<void> {
    updateOutrankedAlert(alerts, invoiceId, loaded);
    updateTotalsAlert(alerts, invoiceId, loaded.discrepancies);
    alerts.resolve(attentionKey(invoiceId));
    alerts.resolve(voidedAfterLoadKey(invoiceId));
    await releaseRefused(quarantine, invoiceId);
  }
}

function updateOutrankedAlert(
  alerts: Alerts,
  invoiceId: string,
  { version, outrankedBy }: Pick<LoadedRows, 'version' | 'outrankedBy'>,
): void {
  const key = `outranked/${invoiceId}` as const;
  if (outrankedBy === null) {
    alerts.resolve(key);
    return;
  }
  const counting = outrankedBy.version === null ? 'no version' : `version ${outrankedBy.version}`;
  alerts.raise({
    key,
    title: `Invoice ${invoiceId}: a file was received that does not count`,
    detail: `Version ${version} is not the file with the hash ${outrankedBy.sha256}, which ${WHY_IT_COUNTS[outrankedBy.proof]}; ${counting} counts. If the new file is right: \`billsync invoices use-version ${invoiceId} ${version} --reason WHY\`.`,
  });
}

const WHY_IT_COUNTS = {
  chosen: 'a person chose',
  named: 'the service named',
  announced: 'the service announced',
  later: 'was loaded later',
} as const;

const TOTALS: Readonly<Record<string, string>> = {
  'shipment-count': 'shipments',
  'total-amount': 'total',
  currency: 'currency',
};

function updateTotalsAlert(alerts: Alerts, invoiceId: string, discrepancies: readonly Discrepancy[]): void {
  const key = `totals/${invoiceId}` as const;
  const differences = discrepancies.flatMap(({ rule, stated, found }) =>
    rule in TOTALS ? [`${TOTALS[rule]} ${stated} stated, ${found} in its file`] : [],
  );
  if (differences.length === 0) {
    alerts.resolve(key);
    return;
  }
  alerts.raise({
    key,
    title: `Invoice ${invoiceId}: its file contradicts its totals`,
    detail: `${differences.join('; ')}. The file's rows are loaded and count. Ask the billing service which of the two is right; \`billsync invoices show ${invoiceId}\` shows both.`,
  });
}

function createLoadMetrics(metrics: Metrics) {
  const loads = metrics.counter('loads_total');
  const seconds = metrics.histogram('load_seconds');
  const rows = metrics.counter('loaded_rows_total');
  const last = metrics.gauge('last_load_timestamp_seconds');
  return async (load: () => Promise<LoadOutcome>): Promise<LoadOutcome> => {
    const stop = seconds.startTimer();
    let outcome: LoadOutcome['outcome'] | 'failed' = 'failed';
    try {
      const loaded = await load();
      outcome = loaded.outcome;
      if (loaded.outcome === 'loaded') {
        rows.inc(loaded.shipments);
        last.setToCurrentTime();
      }
      return loaded;
    } finally {
      stop();
      loads.inc({ outcome });
    }
  };
}

function resultOf(outcome: LoadOutcome): LoadInvoiceResult {
  switch (outcome.outcome) {
    case 'loaded':
    case 'already_loaded':
      if (outcome.outrankedBy?.version === null) return { outcome: 'contradicted', reason: NOT_ANNOUNCED };
      return { outcome: outcome.outcome, shipments: outcome.shipments };
    case 'voided':
      return { outcome: 'voided' };
    case 'rejected':
      return { outcome: 'rejected', reason: rejection(outcome) };
    case 'contradicted':
      return { outcome: 'contradicted', reason: describeContradiction(outcome.discrepancies) };
  }
}

const NOT_ANNOUNCED =
  'The exported file is one that a person imported after the service had named the hash of another file, so it does not count. `billsync invoices use-version` makes it count; a new event or `billsync invoices retry` tries again.';

function describeContradiction(discrepancies: readonly Discrepancy[]): string {
  const list = discrepancies.map(({ rule, stated, found }) => `${rule} ${stated} stated, ${found} found`);
  return `The exported file has no announced hash and contradicts the invoice's header (${list.join('; ')}). Nothing was loaded. Once the service's file or its totals are corrected, a new event or \`billsync invoices retry\` tries again; \`billsync import\` takes a file from a person.`;
}
