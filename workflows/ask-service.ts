/** Asks the service about an invoice no event tells enough of: the details for its status, regenerate for its file. */

import type { ExportLocation } from '../contract/invoice-event.js';
import type { WebhookStatus } from '../contract/names.js';
import type { InvoiceActivities } from './options.js';

export interface AskAnswer {
  /** false: the service answers 404 to both questions. */
  readonly isKnown: boolean;
  /** null: no status that we know was named. */
  readonly status: WebhookStatus | null;
  /** A fresh URL, when the file turned out to exist. */
  readonly location: ExportLocation | null;
}

/** @throws ActivityFailure when the service could not be asked */
export async function askService(activities: InvoiceActivities, invoiceId: string): Promise<AskAnswer> {
  await activities.fetchToken();
  const details = await activities.lookUpInvoice({ invoiceId });
  if (details.outcome === 'found') {
    const { status, header } = details;
    await activities.recordDetails({ invoiceId, status, header });
    if (status !== null) return { isKnown: true, status, location: null };
  }
  // The details' shape is not shown (spec 4.4). A file that exists says as much as a status: it is finalized.
  const answer = await activities.regenerateUrl({ invoiceId });
  if (answer.outcome !== 'location') {
    const isKnown = details.outcome === 'found' || answer.outcome !== 'not-exported';
    return { isKnown, status: null, location: null };
  }
  await activities.recordDetails({ invoiceId, status: 'finalized', header: {} });
  return { isKnown: true, status: 'finalized', location: answer.location };
}
