/** The last resort: has the service export an invoice's CSV (spec 4.5), which nothing announces a hash for. */

import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { UnknownInvoiceError } from '../billing/errors.js';
import type { BillingDependencies } from './dependencies.js';
import { translated } from './failures.js';

export type ExportCsvResult =
  | { readonly outcome: 'fetched'; readonly sha256: string; readonly sizeBytes: number }
  | { readonly outcome: 'not-found' };

export function exportCsv({ service }: BillingDependencies) {
  return ({ invoiceId }: { readonly invoiceId: string }): Promise<ExportCsvResult> =>
    translated(async () => {
      try {
        const { sha256, sizeBytes } = await service.exportCsv(invoiceId, {
          signal: cancellationSignal(),
          onProgress: (progress) => heartbeat(progress),
        });
        return { outcome: 'fetched', sha256, sizeBytes };
      } catch (error) {
        if (error instanceof UnknownInvoiceError) return { outcome: 'not-found' };
        throw error;
      }
    });
}
