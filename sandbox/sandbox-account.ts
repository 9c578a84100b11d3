import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { type Account, connectionOf, type ListenerAddresses } from './account.ts';
import { billedRows } from './billed-rows.ts';
import { planMonths } from './billing/months.ts';
import type { NewInvoice } from './billing/new-invoice.ts';
import type { NewRegistration } from './delivery/registrations.ts';
import type { BillingEvent, EventType } from './model.ts';
import { refuse } from './refusal.ts';

export type SandboxAccount = ReturnType<typeof sandboxAccount>;

export function sandboxAccount(account: Account, addresses: ListenerAddresses & { readonly caPem: string }) {
  const { billing, registrations, deliveries, schedules, faults } = account;
  const connection = connectionOf(account, addresses);
  return {
    ...connection,
    connection,
    caPem: addresses.caPem,
    tenants: () => billing.tenants(),

    registerWebhook: (settings: Parameters<typeof registrations.add>[0]) => registrations.add(settings),
    editWebhook: (registrationId: string, changes: Partial<NewRegistration>) =>
      registrations.edit(registrationId, changes),
    enableWebhook: (registrationId: string) => registrations.setActive(registrationId, true),
    disableWebhook: (registrationId: string) => registrations.setActive(registrationId, false),
    deleteWebhook: (registrationId: string) => registrations.delete(registrationId),
    webhooks: () => registrations.list(),

    createInvoice: (request?: NewInvoice) => billing.create(request),
    submit: (invoiceId: string) => billing.submit(invoiceId),
    cancel: (invoiceId: string) => billing.cancel(invoiceId),
    finalize: (invoiceId: string) => billing.finalize(invoiceId),
    repair: (invoiceId: string) => billing.repair(invoiceId),
    invoice: (invoiceId: string) => billing.invoice(invoiceId),
    invoices: () => billing.invoices(),
    seedInvoices: (count: number, shipments?: number) => seedInvoices(account, count, shipments),
    seedMonths: (months: number, shipments?: number) => seedMonths(account, months, shipments),

    resend: (eventId: string, registrationId?: string) => billing.resend(eventId, registrationId),
    testEvent: (registrationId: string, eventType?: EventType) =>
      billing.testEvent(registrationId, eventType),
    events: (): readonly BillingEvent[] => [...account.store.all('event').values()],
    deliveries: () => deliveries.list(),
    schedules,
    faults,
    apiKeys: {
      add: (name: string) => account.addApiKey(name),
      list: () => account.apiKeys(),
      deactivate: (keyId: string) => account.deactivateApiKey(keyId),
    },
    revokeTokens: () => account.revokeTokens(),

    billedShipments: () => billedRows(account),
    reset: () => account.reset(),
    idle: () => account.idle(),
  };
}

/** Time that a receiver gets to load an invoice before it is canceled. */
const LOADED_WITHIN_MS = 10_000;
/** The limit keeps the journal small, which stores the rows of planned invoices one by one. */
const MAX_MONTH_SHIPMENTS = 10_000;

/** Deliveries start while other invoices are still generated. @returns the number of invoices */
export async function seedInvoices({ billing }: Account, count: number, shipments?: number): Promise<number> {
  for (let made = 0; made < count; made += 1) {
    await setImmediate();
    const { invoiceId } = await billing.create(shipments === undefined ? {} : { shipments });
    const end = made % 6;
    if (end !== 0) billing.submit(invoiceId);
    if (end > 1) await billing.approve(invoiceId);
    if (end === 5) billing.cancel(invoiceId);
  }
  return count;
}

/** @returns the number of invoices */
export async function seedMonths(account: Account, months: number, shipments = 40): Promise<number> {
  if (shipments > MAX_MONTH_SHIPMENTS) refuse(`shipments goes up to ${MAX_MONTH_SHIPMENTS} with months.`);
  const { billing, seed, deliveries, registrations } = account;
  const tenants = billing.tenants();
  const request = { seed, months, shipments, now: account.now() };
  const toCancel: string[] = [];
  let made = 0;
  for (const { invoice, ends } of planMonths({
    ...request,
    tenants: tenants.length > 0 ? tenants : [null],
  })) {
    await setImmediate();
    const { invoiceId } = await billing.create(invoice);
    if (ends !== 'draft') await billing.finalize(invoiceId);
    if (ends === 'canceled') toCancel.push(invoiceId);
    made += 1;
  }
  // An invoice is canceled only after it was delivered, so that a receiver has loaded it by then.
  if (registrations.list().some(({ active }) => active)) {
    await deliveries.idle();
    await sleep(LOADED_WITHIN_MS);
  }
  for (const invoiceId of toCancel) billing.cancel(invoiceId);
  return made;
}
