/** The in-process interface of one account. */

import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Account } from './account.ts';
import { type BilledRow, billedRows } from './billed-rows.ts';
import { planMonths } from './billing/months.ts';
import type { NewInvoice } from './billing/new-invoice.ts';
import type { NewSchedule } from './billing/schedules.ts';
import { type Addresses, type Connection, connectionOf } from './connection.ts';
import type { NewRegistration } from './delivery/registrations.ts';
import type { FaultRule, NewFault } from './faults/faults.ts';
import type {
  ApiKey,
  BillingEvent,
  Delivery,
  Environment,
  EventType,
  Invoice,
  Partner,
  Registration,
  Schedule,
  Tenant,
} from './model.ts';
import { RefusalError } from './refusal.ts';
import type { ActivityLine } from './state/activity.ts';

/** One account of the partner with what a person does there. */
export interface SandboxAccount extends Connection {
  readonly environment: Environment;
  readonly caPem: string;
  readonly partner: Partner;
  tenants(): readonly Tenant[];

  /** Adds an inactive registration (spec 2.3); with `active` it is enabled at once. */
  registerWebhook(settings: NewRegistration & { readonly active?: boolean }): Registration;
  editWebhook(registrationId: string, changes: Partial<NewRegistration>): Registration;
  enableWebhook(registrationId: string): Registration;
  disableWebhook(registrationId: string): Registration;
  deleteWebhook(registrationId: string): void;
  webhooks(): readonly Registration[];

  createInvoice(wanted?: NewInvoice): Promise<Invoice>;
  submit(invoiceId: string): Invoice;
  approve(invoiceId: string): Promise<Invoice>;
  cancel(invoiceId: string): Invoice;
  /** Submits when need be, then approves. */
  finalize(invoiceId: string): Promise<Invoice>;
  /** Exports an approved invoice again, rightly, without an event. */
  repair(invoiceId: string): Promise<Invoice>;
  invoice(invoiceId: string): Invoice;
  invoices(): readonly Invoice[];
  seedInvoices(count: number, shipments?: number): Promise<number>;
  seedMonths(months: number, shipments?: number): Promise<number>;
  resend(eventId: string, registrationId?: string): readonly Delivery[];
  testEvent(registrationId: string, eventType?: EventType): Promise<Delivery>;
  events(): readonly BillingEvent[];
  deliveries(): readonly Delivery[];
  activity(): readonly ActivityLine[];

  readonly schedules: {
    add(wanted: NewSchedule): Schedule;
    edit(scheduleId: string, changes: Partial<NewSchedule>): Schedule;
    delete(scheduleId: string): void;
    list(): readonly Schedule[];
    run(scheduleId: string): Promise<readonly Invoice[]>;
  };
  readonly faults: {
    add(fault: NewFault): FaultRule;
    list(): readonly FaultRule[];
    clear(faultId?: string): void;
  };
  readonly apiKeys: {
    add(name: string): ApiKey;
    list(): readonly ApiKey[];
    deactivate(keyId: string): ApiKey;
  };
  revokeTokens(): void;

  /** Every row as billed, whatever faults made of files and events. */
  billedShipments(): AsyncIterable<BilledRow>;
  reset(): Promise<void>;
  /** Resolves when no delivery is under way or scheduled. */
  idle(): Promise<void>;
}

/** @param addresses of this account's side of the listeners */
export function asPerson(
  account: Account,
  addresses: Addresses & { readonly caPem: string },
): SandboxAccount {
  const { billing, registrations, deliveries, schedules, faults, partner, environment } = account;
  return {
    ...connectionOf(account, addresses),
    environment,
    caPem: addresses.caPem,
    partner,
    tenants: () => billing.tenants(),
    registerWebhook: ({ active = false, ...settings }) => {
      const added = registrations.add(settings);
      return active ? registrations.setActive(added.registrationId, true) : added;
    },
    editWebhook: (id, changes) => registrations.edit(id, changes),
    enableWebhook: (id) => registrations.setActive(id, true),
    disableWebhook: (id) => registrations.setActive(id, false),
    deleteWebhook: (id) => registrations.delete(id),
    webhooks: () => registrations.list(),
    createInvoice: (wanted) => billing.create(wanted),
    submit: (id) => billing.submit(id),
    approve: (id) => billing.approve(id),
    cancel: (id) => billing.cancel(id),
    finalize: (id) => billing.finalize(id),
    repair: (id) => billing.repair(id),
    invoice: (id) => billing.invoice(id),
    invoices: () => billing.invoices(),
    seedInvoices: (count, shipments) => seedInvoices(account, count, shipments),
    seedMonths: (months, shipments) => seedMonths(account, months, shipments),
    resend: (eventId, registrationId) => billing.resend(eventId, registrationId),
    testEvent: (registrationId, eventType) => billing.testEvent(registrationId, eventType),
    events: () => [...account.store.all('event').values()],
    deliveries: () => deliveries.list(),
    activity: () => account.activity.after(0),
    schedules: {
      add: (wanted) => schedules.add(wanted),
      edit: (id, changes) => schedules.edit(id, changes),
      delete: (id) => schedules.delete(id),
      list: () => schedules.list(),
      run: (id) => schedules.run(id),
    },
    faults: {
      add: (fault) => faults.add(fault),
      list: () => faults.list(),
      clear: (id) => faults.clear(id),
    },
    apiKeys: {
      add: (name) => account.addApiKey(name),
      list: () => account.apiKeys(),
      deactivate: (id) => account.deactivateApiKey(id),
    },
    revokeTokens: () => account.revokeTokens(),
    billedShipments: () => billedRows(account),
    reset: () => account.reset(),
    idle: () => account.idle(),
  };
}

// Fills an account with sample invoices.

/** A receiver needs a moment to load what it heard of. */
const LOADED_WITHIN_MS = 10_000;
/** Rows of planned invoices lie in the journal one by one. */
const MAX_MONTH_SHIPMENTS = 10_000;

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
  if (shipments > MAX_MONTH_SHIPMENTS)
    throw new RefusalError('invalid_request', `shipments goes up to ${MAX_MONTH_SHIPMENTS} with months.`);
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
