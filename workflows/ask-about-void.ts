/** Asks the service whether an invoice is void, when only an event said so; what it answers is kept, whatever it is. */

import { failureOf } from './failure.ts';
import type { InvoiceActivities } from './options.ts';

/** `unaskable`: no answer is to be had, however often it is asked. `later`: it could not be asked now. */
export type VoidAnswer =
  | { readonly outcome: 'confirmed' }
  | { readonly outcome: 'denied'; readonly status: string }
  | { readonly outcome: 'unaskable' | 'later'; readonly message: string };

/** The details are not for us: no such scope, no such endpoint, an answer in no form that we know. */
const UNASKABLE = new Set([
  'forbidden',
  'refused',
  'redirect',
  'unexpected-answer',
  'not-configured',
  'address-refused',
]);

/** By the details alone: that a file can be had says nothing about a void. */
export async function askAboutVoid(activities: InvoiceActivities, invoiceId: string): Promise<VoidAnswer> {
  try {
    await activities.fetchToken();
    const details = await activities.lookUpInvoice({ invoiceId });
    if (details.outcome === 'not-found') {
      return { outcome: 'unaskable', message: 'The service answers 404 when it is asked for its details.' };
    }
    const { status, unknownStatus = null, header } = details;
    await activities.recordDetails({ invoiceId, status, unknownStatus, header });
    if (status === 'voided') return { outcome: 'confirmed' };
    if (status !== null) return { outcome: 'denied', status };
    return { outcome: 'unaskable', message: 'Its details name no status that we know.' };
  } catch (error) {
    const { code, message } = failureOf(error);
    return { outcome: UNASKABLE.has(code) ? 'unaskable' : 'later', message };
  }
}
