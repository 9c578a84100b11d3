/** Asks whether the service has another file by now than the one whose rows were refused (it may have repaired it). */

import type { ExportLocation } from '../contract/invoice-event.js';
import { failureOf } from './failure.js';
import type { InvoiceActivities } from './options.js';

export interface RepairedFile {
  /** null: the file is to be had by export-csv only. */
  readonly location: ExportLocation | null;
}

/**
 * One cheap call where the service announces a hash: the same hash is the same file, and nothing is downloaded. Where
 * there is only export-csv, which announces nothing, its bytes are compared.
 *
 * @returns null when the file is still the refused one, or the service cannot say
 */
export async function findRepairedFile(
  activities: InvoiceActivities,
  { invoiceId, refusedSha256 }: { readonly invoiceId: string; readonly refusedSha256: string | null },
): Promise<RepairedFile | null> {
  try {
    await activities.fetchToken();
    const answer = await activities.regenerateUrl({ invoiceId });
    if (answer.outcome === 'location') {
      const { location } = answer;
      return location.fileHashSha256 === refusedSha256 ? null : { location };
    }
    const exported = await activities.exportCsv({ invoiceId });
    const isOther = exported.outcome === 'fetched' && exported.sha256 !== refusedSha256;
    return isOther ? { location: null } : null;
  } catch (error) {
    failureOf(error); // Throws on what is not an activity's failure: a cancellation.
    return null;
  }
}
