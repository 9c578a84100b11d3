/** Fills an account with invoices, as they would lie around in one that has been used. */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Account } from './account.ts';
import { planMonths } from './billing/months.ts';
import { RefusalError } from './refusal.ts';

/** A receiver needs a moment to load what it heard of. */
const LOADED_WITHIN_MS = 10_000;
/** Rows of planned invoices lie in the journal one by one. */
const MOST_OF_A_MONTH = 10_000;

/**
 * Generates invoices in every status, as they would lie around in an account of some weeks.
 *
 * @returns how many there were made
 */
export async function seedInvoices({ billing }: Account, count: number, shipments?: number): Promise<number> {
  for (let made = 0; made < count; made += 1) {
    if (made % 16 === 0) await setImmediate();
    const { invoiceId } = await billing.create(shipments === undefined ? {} : { shipments });
    const end = made % 6;
    if (end !== 0) billing.submit(invoiceId);
    if (end > 1) await billing.approve(invoiceId);
    if (end === 5) billing.cancel(invoiceId);
  }
  return count;
}

/**
 * Generates months of invoices with what reports look for planted in them; see months.ts.
 *
 * @returns how many there were made
 */
export async function seedMonths(account: Account, months: number, shipments = 40): Promise<number> {
  if (shipments > MOST_OF_A_MONTH)
    throw new RefusalError('invalid_request', `shipments goes up to ${MOST_OF_A_MONTH} with months.`);
  const { billing, seed, deliveries, registrations } = account;
  const tenants = billing.tenants();
  let made = 0;
  const toCancel: string[] = [];
  const wanted = { seed, months, shipments, now: account.now() };
  for (const { invoice, ends } of planMonths({
    ...wanted,
    tenants: tenants.length > 0 ? tenants : [null],
  })) {
    if (made % 16 === 0) await setImmediate();
    const { invoiceId } = await billing.create(invoice);
    if (ends !== 'draft') await billing.finalize(invoiceId);
    if (ends === 'canceled') toCancel.push(invoiceId);
    made += 1;
  }
  // Canceled after they were billed, as in life: whoever listens has loaded them by then.
  if (registrations.list().some(({ active }) => active)) {
    await deliveries.idle();
    await sleep(LOADED_WITHIN_MS);
  }
  for (const invoiceId of toCancel) billing.cancel(invoiceId);
  return made;
}
