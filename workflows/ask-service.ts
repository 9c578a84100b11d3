/** Asks the service about an invoice no event tells enough of: the details for its status, regenerate for its file. */

import type { LookUpInvoiceResult } from '../activities/look-up-invoice.ts';
import type { ExportLocation, WebhookStatus } from '../lib/wire/names.ts';
import { failureOf } from './failure.ts';
import type { InvoiceActivities } from './options.ts';

export interface AskAnswer {
  /** false: the service answers 404 to both questions. */
  readonly isKnown: boolean;
  /** null: no status that we know was named. */
  readonly status: WebhookStatus | null;
  /** A fresh URL, when the file turned out to exist. */
  readonly location: ExportLocation | null;
}

/** The details endpoint is there and does not do its work: the other question may still be answered. */
const DETAILS_UNUSABLE = new Set(['refused', 'forbidden', 'server-fault', 'unexpected-answer', 'redirect']);

/** @throws ActivityFailure when the service could not be asked */
export async function askService(activities: InvoiceActivities, invoiceId: string): Promise<AskAnswer> {
  await activities.fetchToken();
  const { details, error } = await lookUp(activities, invoiceId);
  if (details.outcome === 'found') {
    const { status, unknownStatus = null, header } = details;
    await activities.recordDetails({ invoiceId, status, unknownStatus, header });
    // A word that nobody knows may mean a void, so the file that still exists must not be taken for an approval.
    if (status !== null || unknownStatus !== null) return { isKnown: true, status, location: null };
  }
  // The details' shape is not shown (spec 4.4). A file that exists says as much as a status: it is finalized.
  const answer = await activities.regenerateUrl({ invoiceId });
  if (answer.outcome !== 'location') {
    if (error !== null) throw error;
    const isKnown = details.outcome === 'found' || answer.outcome !== 'not-exported';
    return { isKnown, status: null, location: null };
  }
  await activities.recordDetails({ invoiceId, status: 'finalized', header: {} });
  return { isKnown: true, status: 'finalized', location: answer.location };
}

async function lookUp(
  activities: InvoiceActivities,
  invoiceId: string,
): Promise<{ readonly details: LookUpInvoiceResult; readonly error: unknown }> {
  try {
    return { details: await activities.lookUpInvoice({ invoiceId }), error: null };
  } catch (error) {
    if (!DETAILS_UNUSABLE.has(failureOf(error).code)) throw error;
    return { details: { outcome: 'not-found' }, error };
  }
}
