/** The names of the tenants are difficult for software in different ways; the CSV has them in every row (spec 2.8, 2.9). */

import type { Environment, Invoice, Partner, PartnerKind, Shipment, Tenant } from '../model.ts';
import { parseMoney } from '../money.ts';
import { uuidFrom } from '../randomness.ts';
import { RefusalError, refuse } from '../refusal.ts';
import { measureCsv } from '../storage/csv-file.ts';
import { addDays, type InvoiceContent, shipmentsOf } from '../storage/shipments.ts';
import type { InvoiceBook } from './invoice-book.ts';

const TENANTS = [
  { name: 'Harbor & Pine, Inc.', partnerTenantId: '000417', currencyCode: 'USD', weightUnit: 'LB' },
  { name: 'Zoë’s "Fine" Goods', partnerTenantId: 'ZOE-1', currencyCode: 'USD', weightUnit: 'LB' },
  { name: 'Müller & Söhne GmbH', partnerTenantId: 'müller', currencyCode: 'EUR', weightUnit: 'KG' },
  { name: '=Cost+Plus Traders', partnerTenantId: '=1+1', currencyCode: 'USD', weightUnit: 'LB' },
  { name: 'Two Lines\r\nLogistics', partnerTenantId: 'two lines', currencyCode: 'USD', weightUnit: 'KG' },
  { name: '北海道マーケット', partnerTenantId: '0042', currencyCode: 'EUR', weightUnit: 'KG' },
] as const;

export function seededTenants(seed: number, environment: Environment): readonly Tenant[] {
  return TENANTS.map((tenant, index) => ({
    tenantId: uuidFrom(seed, environment, 'tenant', index),
    ...tenant,
  }));
}

export function seededPartner(seed: number, environment: Environment, kind: PartnerKind): Partner {
  return {
    partnerId: uuidFrom(seed, environment, 'partner', kind),
    name: kind === '3pl' ? 'Northwind Fulfillment, LLC' : 'Borealis "Direct" Retail, Inc.',
    kind,
  };
}

/** All invoices must have one currency (spec 2.9). */
export function sourcesOf(request: NewInvoice, book: InvoiceBook): readonly Invoice[] {
  if (request.partnerLevel !== true || book.partner.kind === 'enterprise') return [];
  if (request.shipments !== undefined) {
    refuse('A partner-level invoice has the rows of the invoices it sums.');
  }
  const sources = request.sources?.map((id) => book.invoice(id)) ?? unsummed(book, request.set?.currencyCode);
  const currencies = new Set(sources.map(({ currencyCode }) => currencyCode));
  if (currencies.size > 1) {
    refuse('Invoices of several currencies cannot be summed.');
  }
  if (sources.length > 0 && sources.every(({ tenantId }) => tenantId !== null)) return sources;
  throw new RefusalError(
    'conflict',
    'There are no tenant-level invoices that a partner-level one could sum.',
  );
}

function unsummed(book: InvoiceBook, currencyCode = 'USD'): readonly Invoice[] {
  const live = book.invoices().filter(({ status }) => status !== 'CANCELED');
  const summed = new Set(live.flatMap(({ sources }) => sources));
  return live.filter(
    (one) => one.tenantId !== null && one.currencyCode === currencyCode && !summed.has(one.invoiceId),
  );
}

/** Fields of the invoice by their names of spec 2.6; dates are `YYYY-MM-DD`. */
export interface InvoiceSettings {
  readonly invoiceNumber?: string;
  readonly partnerInvoiceId?: string | null;
  readonly invoiceStartDate?: string;
  readonly invoiceEndDate?: string;
  readonly invoiceDate?: string;
  readonly invoiceDueDate?: string;
  readonly currencyCode?: string;
  readonly weightUnit?: 'LB' | 'KG';
}

export interface NewInvoice {
  /** The tenant's name, its id or the partner's own id; without it, the tenants take turns. */
  readonly tenant?: string;
  readonly partnerLevel?: boolean;
  /** The invoices that a partner-level invoice sums; without it, every invoice that no other sums. */
  readonly sources?: readonly string[];
  /** How many rows to draw, or the rows themselves. */
  readonly shipments?: number | readonly Partial<Shipment>[];
  readonly set?: InvoiceSettings;
  readonly scheduleId?: string;
}

export interface InvoicePlan {
  readonly seed: number;
  readonly environment: Environment;
  readonly sequence: number;
  readonly now: Date;
  readonly partner: Partner;
  readonly tenant: Tenant | null;
  readonly sources: readonly Invoice[];
  readonly find: (invoiceId: string) => InvoiceContent;
}

const DEFAULT_SHIPMENTS = 25;
const MAX_SHIPMENTS = 20_000_000;
const DUE_AFTER_DAYS = 15;
const SETTABLE = [
  'invoiceNumber',
  'partnerInvoiceId',
  'invoiceStartDate',
  'invoiceEndDate',
  'invoiceDate',
  'invoiceDueDate',
  'currencyCode',
  'weightUnit',
];

/** @throws RefusalError with the wrong field */
export async function makeInvoice(request: NewInvoice, plan: InvoicePlan): Promise<Invoice> {
  const set = request.set ?? {};
  checkSettings(set);
  const { seed, environment, sequence, tenant, sources, partner } = plan;
  const lines = Array.isArray(request.shipments) ? readLines(request.shipments) : null;
  const dates = planDates(set, plan.now);
  const invoiceId = uuidFrom(seed, environment, 'invoice', sequence);
  const content = {
    invoiceId,
    tenantId: tenant?.tenantId ?? null,
    ...dates,
    currencyCode: set.currencyCode ?? sources[0]?.currencyCode ?? tenant?.currencyCode ?? 'USD',
    weightUnit: set.weightUnit ?? tenant?.weightUnit ?? 'LB',
    contentSeed: `${seed}/${environment}/${sequence}`,
    shipmentCount: lines?.length ?? countOf(request.shipments),
    sources: sources.map((source) => source.invoiceId),
    lines,
  };
  checkCells(content, plan.find);
  const { sha256, sizeBytes, rows, totalAmount } = await measureCsv(
    { invoice: content, tenantColumn: tenant?.name ?? partner.name, find: plan.find },
    null,
  );
  return {
    ...content,
    invoiceNumber: set.invoiceNumber ?? `INV-${String(sequence).padStart(6, '0')}`,
    partnerInvoiceId: set.partnerInvoiceId === undefined ? ownReference(sequence) : set.partnerInvoiceId,
    status: 'DRAFT',
    shipmentCount: rows,
    totalAmount,
    file: { key: `${partner.partnerId}/${invoiceId}/1.csv`, sha256, sizeBytes, malformation: null },
    exports: [],
    stated: null,
    scheduleId: request.scheduleId ?? null,
    history: [{ status: 'DRAFT', at: plan.now.toISOString() }],
  };
}

function planDates(
  set: InvoiceSettings,
  now: Date,
): Pick<Invoice, 'startDate' | 'endDate' | 'invoiceDate' | 'dueDate'> {
  const invoiceDate = set.invoiceDate ?? now.toISOString().slice(0, 10);
  const endDate = set.invoiceEndDate ?? addDays(invoiceDate, -1);
  const startDate = set.invoiceStartDate ?? addDays(endDate, -6);
  if (startDate > endDate) refuse(`The billing period starts ${startDate} and ends before that, ${endDate}.`);
  return {
    startDate,
    endDate,
    invoiceDate,
    dueDate: set.invoiceDueDate ?? addDays(invoiceDate, DUE_AFTER_DAYS),
  };
}

/** Two invoices in three have no reference of the partner, so that clients meet null (spec 2.6). */
function ownReference(sequence: number): string | null {
  return sequence % 3 === 0 ? `PO-${String(sequence).padStart(5, '0')}` : null;
}

function countOf(shipments: NewInvoice['shipments']): number {
  const count = typeof shipments === 'number' ? shipments : DEFAULT_SHIPMENTS;
  if (Number.isInteger(count) && count >= 0 && count <= MAX_SHIPMENTS) return count;
  return refuse(`shipments is ${count}; it goes from 0 to ${MAX_SHIPMENTS}.`);
}

const LINE: Omit<Shipment, 'trackingNumber'> = {
  shipDate: '',
  origin: '',
  billingCost: '0.00',
  billableWeight: '',
  billableWeightUnit: '',
  carrier: 'ups',
  carrierZone: '',
  carrierInvoiceDate: '',
  serviceLevel: '',
};

function readLines(lines: readonly Partial<Shipment>[]): Shipment[] {
  return lines.map((line, index) => ({
    ...{ ...LINE, trackingNumber: `HAND${String(index + 1).padStart(8, '0')}` },
    ...line,
  }));
}

function checkCells(content: InvoiceContent, find: InvoicePlan['find']): void {
  if (content.lines === null) return;
  try {
    for (const { shipment } of shipmentsOf(content, find)) {
      if (shipment.billableWeight !== '') parseMoney(shipment.billableWeight);
    }
  } catch (error) {
    refuse((error as Error).message);
  }
}

function checkSettings(set: InvoiceSettings): void {
  for (const [name, value] of Object.entries(set)) {
    if (!SETTABLE.includes(name)) refuse(`"${name}" cannot be set; ${SETTABLE.join(', ')} can.`);
    if (name.endsWith('Date') && !isDate(value)) refuse(`${name} is "${value}", not a date YYYY-MM-DD.`);
  }
  if (set.currencyCode !== undefined && !/^[A-Z]{3}$/.test(set.currencyCode)) {
    refuse(`currencyCode is "${set.currencyCode}", not three capital letters of ISO 4217.`);
  }
  if (set.weightUnit !== undefined && !['LB', 'KG'].includes(set.weightUnit)) {
    refuse(`weightUnit is "${set.weightUnit}", not LB or KG.`);
  }
}

function isDate(text: unknown): boolean {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}
