/** Loads a CSV that a person exported by hand, for a command that found this worker running. */

import { describeInvoice } from '../billing/billing-service.ts';
import { type Imported, type ImportRequest, importFile } from '../warehouse/import/import-files.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';
import { attentionKey } from './park-invoice.ts';
import { tellAnnouncement } from './tell-announcement.ts';

/** The path is one of this machine: the command only asks a worker that holds the data folder beside it. */
export function importCsv({
  warehouse,
  archive,
  quarantine,
  alerts,
  settings,
  service,
  now,
}: WarehouseDependencies) {
  return (request: ImportRequest): Promise<Imported> =>
    translated(async () => {
      const deps = { warehouse, archive, quarantine, dataDir: settings.dataDir, now };
      const lookUp = (invoiceId: string) => describeInvoice(service, invoiceId);
      const isServiceKnown = settings.service.baseUrl !== null;
      const imported = await importFile(isServiceKnown ? { ...deps, lookUp } : deps, request);
      const { invoiceId, outcome } = imported;
      const isLoaded = outcome.outcome === 'loaded' || outcome.outcome === 'already_loaded';
      if (invoiceId !== null && isLoaded) {
        alerts.resolve(attentionKey(invoiceId));
        tellAnnouncement(alerts, invoiceId, outcome.discrepancies);
      }
      return imported;
    });
}
