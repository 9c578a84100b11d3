/** Asks whether the service has another file by now than the one whose rows were refused (it may have repaired it). */

import type { FileTag } from '../billing/billing-service.ts';
import type { ExportLocation } from '../lib/wire/names.ts';
import { failureOf } from './failure.ts';
import type { InvoiceActivities } from './options.ts';

export interface RepairedFile {
  /** null: the file is to be had by export-csv only. */
  readonly location: ExportLocation | null;
}

export interface RefusedFile {
  readonly invoiceId: string;
  readonly refusedSha256: string | null;
  /** null: it came another way, or the service told nothing to know it by. */
  readonly refusedTag: FileTag | null;
}

/**
 * One cheap call where the service announces a hash: the same hash is the same file, and nothing is downloaded. Where
 * there is only export-csv, which announces nothing, it is asked for another version than the refused one, or, when it
 * told nothing to know that by, its bytes are compared.
 *
 * @returns null when the file is still the refused one, or the service cannot say
 */
export async function findRepairedFile(
  activities: InvoiceActivities,
  { invoiceId, refusedSha256, refusedTag }: RefusedFile,
): Promise<RepairedFile | null> {
  try {
    await activities.fetchToken();
    const answer = await activities.regenerateUrl({ invoiceId });
    if (answer.outcome === 'location') {
      const { location } = answer;
      return location.fileHashSha256 === refusedSha256 ? null : { location };
    }
    const unless = refusedTag === null ? {} : { unless: refusedTag };
    const exported = await activities.exportCsv({ invoiceId, ...unless });
    const isOther = exported.outcome === 'fetched' && exported.sha256 !== refusedSha256;
    return isOther ? { location: null } : null;
  } catch (error) {
    failureOf(error); // Throws on what is not an activity's failure: a cancellation.
    return null;
  }
}
