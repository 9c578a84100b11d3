/** The last resort: has the service export an invoice's CSV (spec 4.5), which nothing announces a hash for. */

import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { UnknownInvoiceError } from '../billing/errors.js';
import { alertingRefusal } from './credentials-alert.js';
import type { BillingDependencies } from './dependencies.js';
import { translated } from './failures.js';

export type ExportCsvResult =
  | { readonly outcome: 'fetched'; readonly sha256: string; readonly sizeBytes: number }
  | { readonly outcome: 'not-found' };

export function exportCsv({ service, alerts }: BillingDependencies) {
  return ({ invoiceId }: { readonly invoiceId: string }): Promise<ExportCsvResult> =>
    translated(async () => {
      try {
        const options = { signal: cancellationSignal(), onProgress: heartbeat };
        const ask = () => service.exportCsv(invoiceId, options);
        const { sha256, sizeBytes } = await alertingRefusal(alerts, ask, { provesThem: true });
        return { outcome: 'fetched', sha256, sizeBytes };
      } catch (error) {
        if (error instanceof UnknownInvoiceError) return { outcome: 'not-found' };
        throw error;
      }
    });
}
