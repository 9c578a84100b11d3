/** The last resort: has the service export an invoice's CSV (spec 4.5), which nothing announces a hash for. */

import { cancellationSignal, heartbeat } from '@temporalio/activity';
import type { FileTag } from '../billing/billing-service.ts';
import { isBillingError } from '../billing/errors.ts';
import { alertingRefusal } from './credentials-alert.ts';
import type { BillingDependencies } from './dependencies.ts';
import { translated } from './failures.ts';
import { alertingFullDisk } from './full-disk-alert.ts';

export interface ExportCsvRequest {
  readonly invoiceId: string;
  /** Only a file that is another one than this is fetched. */
  readonly unless?: FileTag;
}

export type ExportCsvResult =
  | {
      readonly outcome: 'fetched';
      readonly sha256: string;
      readonly sizeBytes: number;
      readonly tag?: FileTag;
    }
  /** The export equals the file named by `unless`; nothing was downloaded. */
  | { readonly outcome: 'not-modified' }
  | { readonly outcome: 'not-found' };

export function exportCsv({ service, alerts }: BillingDependencies) {
  return ({ invoiceId, unless }: ExportCsvRequest): Promise<ExportCsvResult> =>
    translated(async () => {
      try {
        const only = unless === undefined ? {} : { unless };
        const options = { signal: cancellationSignal(), onProgress: heartbeat, ...only };
        const ask = () => alertingFullDisk(alerts, () => service.exportCsv(invoiceId, options));
        const { sha256, sizeBytes, tag } = await alertingRefusal(alerts, ask, { provesThem: true });
        return { outcome: 'fetched', sha256, sizeBytes, ...(tag === undefined ? {} : { tag }) };
      } catch (error) {
        if (isBillingError(error, 'unknown-invoice')) return { outcome: 'not-found' };
        if (isBillingError(error, 'not-modified')) return { outcome: 'not-modified' };
        throw error;
      }
    });
}
