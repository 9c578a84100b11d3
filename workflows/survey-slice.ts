/** Finds out which invoices of a slice want a workflow: one look at the ledger, then a question each to the service. */

import { ActivityFailure, isCancellation, log } from '@temporalio/workflow';
import type { Finding } from '../activities/check-standing.ts';
import type { SurveyActivities } from './options.ts';

/** @returns a finding for each id, in their order; `work` for all when the service cannot be asked */
export async function surveySlice(
  { recallStandings, surveyInvoices }: SurveyActivities,
  { invoiceIds, atOnce }: { readonly invoiceIds: readonly string[]; readonly atOnce: number },
): Promise<readonly Finding[]> {
  try {
    const standings = await recallStandings({ invoiceIds });
    return await surveyInvoices({ invoiceIds, standings, atOnce });
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn('the service could not be asked about a slice of a backfill; each invoice asks separately');
    return invoiceIds.map(() => 'work');
  }
}
