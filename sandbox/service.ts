/**
 * Starts the billing service of the spec on this machine, over real HTTPS, with everything a person does in its
 * application as calls. Tests and demos use this; people use the commands, the admin API and the page.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Account } from './account.js';
import type { ActivityLine } from './activity.js';
import { assertUnlocked, removeAddresses, writeAddresses } from './address-file.js';
import type { FaultRule, NewFault } from './faults.js';
import { startListeners } from './http/listeners.js';
import type {
  ApiKey,
  BillingEvent,
  Delivery,
  Environment,
  EventType,
  InternalStatus,
  Invoice,
  Partner,
  PartnerKind,
  Registration,
  Schedule,
  Tenant,
} from './model.js';
import type { NewInvoice } from './new-invoice.js';
import type { NewRegistration } from './registrations.js';
import type { NewSchedule } from './schedules.js';
import { createTlsMaterial, type TlsMaterial } from './tls.js';

export interface SandboxOptions {
  /** Where state and keys are kept across restarts; left out, a temporary folder that `close` removes. */
  readonly dataDir?: string;
  /** Of API and admin; 0 takes a free one. Left out, the port of the last start, when it is free. */
  readonly port?: number;
  readonly storagePort?: number;
  /** Address to listen at and name in URLs, `127.0.0.1` by default. */
  readonly host?: string;
  readonly seed?: number;
  readonly partnerKind?: PartnerKind;
  /** Maker's prefix of the two id fields: `shipium` gives `shipiumInvoiceId`, `service` the neutral spelling. */
  readonly wirePrefix?: string;
  readonly tokenLifetimeSeconds?: number;
  readonly urlLifetimeSeconds?: number;
  readonly retryDelayMs?: number;
  readonly deliveryTimeoutMs?: number;
  readonly now?: () => Date;
}

/** One account of the partner with what a person does there. */
export interface SandboxAccount {
  readonly environment: Environment;
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly storageUrl: string;
  readonly adminUrl: string;
  readonly pageUrl: string;
  readonly caFile: string;
  readonly caPem: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string;
  readonly partner: Partner;
  readonly partnerId: string;
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

export interface Sandbox extends SandboxAccount {
  /** The other account: own credentials, own partner, own data (spec 5). The sandbox itself is the test account. */
  readonly production: SandboxAccount;
  readonly dataDir: string;
  close(): Promise<void>;
}

/** A row of the truth. Decimals are exact text, empty cells null. */
export interface BilledRow {
  readonly invoiceId: string;
  readonly invoiceNumber: string;
  readonly status: InternalStatus;
  readonly level: 'tenant' | 'partner';
  /** The CSV's Tenant column: tenant name, or partner name on partner-level invoices. */
  readonly tenant: string;
  /** null on partner-level invoices. */
  readonly tenantId: string | null;
  readonly invoiceDate: string;
  readonly shipDate: string;
  readonly origin: string | null;
  readonly currencyCode: string;
  readonly billingCost: string;
  readonly billableWeight: string | null;
  readonly unit: string | null;
  readonly trackingNumber: string;
  readonly carrier: string;
  readonly zone: string | null;
  readonly carrierInvoiceDate: string | null;
  readonly serviceLevel: string | null;
}

const DEFAULTS = {
  host: '127.0.0.1',
  seed: 1,
  partnerKind: '3pl',
  wirePrefix: 'shipium',
  tokenLifetimeSeconds: 3_600,
  urlLifetimeSeconds: 24 * 3_600,
  retryDelayMs: 5_000,
  deliveryTimeoutMs: 30_000,
  now: () => new Date(),
} as const;

/**
 * @throws DataDirLockedError when another sandbox runs on the folder
 * @throws Error with code EADDRINUSE when a port that was asked for is taken
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = { ...DEFAULTS, ...options };
  const isTemporary = options.dataDir === undefined;
  const dataDir = isTemporary ? mkdtempSync(join(tmpdir(), 'billing-sandbox-')) : resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await assertUnlocked(dataDir);
  const keys = await openKeys(dataDir, settings.host);
  const caFile = join(dataDir, 'ca.pem');
  writeFileSync(caFile, keys.caPem);

  let storageUrl = '';
  const open = (environment: Environment) =>
    new Account({
      ...settings,
      environment,
      dataDir,
      signingSecret: keys.signingSecret,
      storageUrl: () => `${storageUrl}/exports-${environment}`,
    });
  const accounts = { test: open('test'), production: open('production') };
  const listeners = await startListeners({ ...settings, dataDir, accounts, keys });
  storageUrl = listeners.storageUrl;

  writeAddresses(dataDir, { pid: process.pid, adminUrl: `${listeners.apiUrl}/admin`, caFile });
  const addresses = { caFile, caPem: keys.caPem, storageUrl };
  const close = async () => {
    await listeners.close();
    await Promise.all([accounts.test.close(), accounts.production.close()]);
    removeAddresses(dataDir);
    if (isTemporary) rmSync(dataDir, { recursive: true, force: true });
  };
  return {
    ...asPerson(accounts.test, { ...addresses, apiUrl: listeners.apiUrl }),
    production: asPerson(accounts.production, { ...addresses, apiUrl: `${listeners.apiUrl}/production` }),
    dataDir,
    close,
  };
}

export interface ServiceKeys extends TlsMaterial {
  readonly signingSecret: string;
}

/** Keys are made once for a data folder, so clients keep trusting it and URLs stay valid across restarts. */
async function openKeys(dataDir: string, host: string): Promise<ServiceKeys> {
  const path = join(dataDir, 'keys.json');
  if (existsSync(path)) {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as ServiceKeys & { host: string };
    if (kept.host === host) return kept;
  }
  const tls = await createTlsMaterial(host === DEFAULTS.host ? [] : [host]);
  const keys = { ...tls, signingSecret: randomBytes(32).toString('hex'), host };
  writeFileSync(path, JSON.stringify(keys), { mode: 0o600 });
  return keys;
}

function asPerson(
  account: Account,
  {
    apiUrl,
    caFile,
    caPem,
    storageUrl,
  }: { apiUrl: string; caFile: string; caPem: string; storageUrl: string },
): SandboxAccount {
  const { billing, registrations, deliveries, schedules, faults, credentials, partner, environment } =
    account;
  return {
    environment,
    baseUrl: apiUrl,
    authUrl: apiUrl,
    storageUrl: `${storageUrl}/exports-${environment}`,
    adminUrl: `${apiUrl}/admin`,
    pageUrl: `${apiUrl}/`,
    caFile,
    caPem,
    clientId: credentials.clientId,
    clientSecret: credentials.clientSecret,
    apiKey: credentials.apiKey,
    partner,
    partnerId: partner.partnerId,
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
    seedInvoices: (count, shipments) => account.seedInvoices(count, shipments),
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

/** Used by the admin API as well. */
export async function* billedRows({ billing }: Account): AsyncGenerator<BilledRow> {
  for (const invoice of billing.invoices()) {
    const tenant = billing.tenantOf(invoice);
    const front = {
      invoiceId: invoice.invoiceId,
      invoiceNumber: invoice.invoiceNumber,
      status: invoice.status,
      level: invoice.tenantId === null ? ('partner' as const) : ('tenant' as const),
      tenant: tenant?.name ?? billing.partner.name,
      tenantId: invoice.tenantId,
      invoiceDate: invoice.invoiceDate,
    };
    for (const { shipment: s } of billing.rows(invoice)) {
      yield {
        ...front,
        shipDate: s.shipDate,
        origin: s.origin || null,
        currencyCode: invoice.currencyCode,
        billingCost: s.billingCost,
        billableWeight: s.billableWeight || null,
        unit: s.billableWeightUnit || null,
        trackingNumber: s.trackingNumber,
        carrier: s.carrier,
        zone: s.carrierZone || null,
        carrierInvoiceDate: s.carrierInvoiceDate || null,
        serviceLevel: s.serviceLevel || null,
      };
    }
  }
}
