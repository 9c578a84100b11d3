import { createHash } from 'node:crypto';
import { Decimal } from 'decimal.js';
import type {
  Application,
  ApplicationInvoice,
  InvoiceRequest,
  Tenant,
  WebhookSettings,
} from './application.ts';
import type { CsvRow } from './csv.ts';
import { type Answer, digitsOf, excerpt, jsonObject, textOf } from './http.ts';
import type { Choose, ReceivedRequest } from './receiver.ts';
import { breakRule, requireThat } from './rule.ts';
import type { Service } from './service.ts';
import { type SuiteContext, skip } from './suite-context.ts';

export const SOON_MS = 10_000;
/** HTTP Basic is what the specification calls common (spec 2.3). */
export const CUSTOM_HEADERS = {
  authorization: 'Basic cGFydG5lcjpzM2NyZXQ6Kw==',
  'x-partner-system': 'erp 7; blue',
};

let endpoints = 0;

export interface Endpoint {
  readonly path: string;
  readonly registrationId: string;
}

export interface EndpointSettings extends Partial<WebhookSettings> {
  /** The application that creates the invoice; without it, that of the context. */
  readonly at?: Application;
  readonly reply?: Choose;
  readonly active?: boolean;
}

export async function openEndpoint(context: SuiteContext, request: EndpointSettings = {}): Promise<Endpoint> {
  const { reply, active = true, at: application = context.application, ...settings } = request;
  endpoints += 1;
  const path = `endpoint-${endpoints}`;
  const url = context.receiver.at(path, reply);
  const { registrationId } = await application.addWebhook({ name: `Conformance ${path}`, url, ...settings });
  if (active) await application.enableWebhook(registrationId);
  return { path, registrationId };
}

export async function receive(
  context: SuiteContext,
  { path, invoiceId, count }: { path: string; invoiceId: string; count: number },
  withinMs = SOON_MS,
): Promise<readonly ReceivedRequest[]> {
  const isOurs = (received: ReceivedRequest) => received.invoiceId === invoiceId;
  const all = await context.receiver.wait(
    path,
    (received) => received.filter(isOurs).length >= count,
    withinMs,
  );
  return all.filter(isOurs);
}

/** @throws BrokenRuleError when the event does not arrive */
export async function receiveEvent(
  context: SuiteContext,
  path: string,
  invoiceId: string,
  eventType: string,
): Promise<ReceivedRequest> {
  const isIt = (received: ReceivedRequest) =>
    received.invoiceId === invoiceId && received.eventType === eventType;
  const all = await context.receiver.wait(path, (received) => received.some(isIt), SOON_MS);
  return all.find(isIt) ?? breakRule(`no ${eventType} came within ${SOON_MS / 1_000} s`);
}

export interface ApprovedInvoice {
  readonly invoiceId: string;
  readonly tenant: Tenant | null;
  readonly created: ReceivedRequest;
  readonly finalized: ReceivedRequest;
  readonly received: readonly ReceivedRequest[];
}

export async function approvedInvoice(context: SuiteContext): Promise<ApprovedInvoice> {
  const { application } = context;
  const { path } = await openEndpoint(context, { headers: CUSTOM_HEADERS });
  const [tenant = null] = await application.tenants();
  return approve(
    context,
    path,
    { shipments: 40, ...(tenant === null ? {} : { tenant: tenant.tenantId }) },
    tenant,
  );
}

export interface PartnerInvoice extends ApprovedInvoice {
  readonly sources: readonly ApplicationInvoice[];
}

/** Makes an invoice of the partner itself, which sums those of its tenants (spec 2.9). */
export async function partnerInvoice(context: SuiteContext): Promise<PartnerInvoice> {
  const { application } = context;
  const { path } = await openEndpoint(context);
  const tenants = await application.tenants();
  if (tenants.length === 0) skip('the partner does not use the tenant feature');
  const all: ApplicationInvoice[] = [];
  for (const { tenantId } of tenants)
    all.push(await application.createInvoice({ tenant: tenantId, shipments: 3 }));
  const sources = all.filter(({ currencyCode }) => currencyCode === all[0]?.currencyCode);
  for (const { invoiceId } of sources) {
    await application.finalize(invoiceId);
  }
  const request = { partnerLevel: true, sources: sources.map(({ invoiceId }) => invoiceId) };
  return { ...(await approve(context, path, request, null)), sources };
}

export async function canceledInvoice(
  context: SuiteContext,
): Promise<ApprovedInvoice & { readonly voided: ReceivedRequest }> {
  const { path } = await openEndpoint(context);
  const approved = await approve(context, path, { shipments: 2 }, null);
  const { invoiceId } = approved;
  await context.application.cancel(invoiceId);
  const voided = await receiveEvent(context, path, invoiceId, 'invoice_voided');
  return { ...approved, voided, received: await receive(context, { path, invoiceId, count: 3 }) };
}

/** Makes an approved invoice whose export has failed (spec 6, rule 6). */
export async function unexportedInvoice(context: SuiteContext) {
  const { application } = context;
  const { path } = await openEndpoint(context);
  const { invoiceId } = await application.createInvoice({ shipments: 4 });
  await application.failExport(invoiceId);
  await application.finalize(invoiceId);
  const marker = await application.createInvoice({ shipments: 1 });
  await receiveEvent(context, path, marker.invoiceId, 'invoice_created');
  return { invoiceId, received: await receive(context, { path, invoiceId, count: 1 }) };
}

export interface Download {
  readonly invoiceId: string;
  readonly location: Readonly<Record<string, unknown>>;
  readonly url: string;
  readonly answer: Answer;
  readonly sha256: string;
}

export async function readableInvoiceId(context: SuiteContext): Promise<string> {
  if (context.hasApplication) return (await context.once(approvedInvoice)).invoiceId;
  return context.invoiceIds[0] ?? skip('no invoice was given (--invoice ID)');
}

export async function download(context: SuiteContext): Promise<Download> {
  return downloadOf(context.service, await readableInvoiceId(context));
}

export async function downloadOf(service: Service, invoiceId: string): Promise<Download> {
  const regenerated = await service.regenerate(invoiceId);
  const location = jsonObject(regenerated.body) ?? {};
  const url = textOf(location.presignedUrl);
  requireThat(url !== null, `regenerate answered ${regenerated.status} ${excerpt(regenerated.body)}`);
  const answer = await service.plain({ url });
  requireThat(answer.status === 200, `the presigned URL answered ${answer.status} ${excerpt(answer.body)}`);
  const sha256 = createHash('sha256').update(answer.body).digest('hex');
  return { invoiceId, location, url, answer, sha256 };
}

export function sumOf(rows: readonly CsvRow[]): Decimal {
  return rows.reduce((sum, row) => sum.plus(decimal(row['Billing Cost'])), new Decimal(0));
}

export function decimal(text: string): Decimal {
  return /^-?\d+(\.\d+)?$/.test(text) ? new Decimal(text) : breakRule(`"${text}" is no decimal`);
}

export function decimalOf(value: unknown, name: string): Decimal {
  const digits = digitsOf(value) ?? breakRule(`${name} is ${JSON.stringify(value) ?? 'missing'}, no number`);
  return new Decimal(digits);
}

async function approve(context: SuiteContext, path: string, request: InvoiceRequest, tenant: Tenant | null) {
  const { application } = context;
  const { invoiceId } = await application.createInvoice(request);
  const created = await receiveEvent(context, path, invoiceId, 'invoice_created');
  await application.finalize(invoiceId);
  const finalized = await receiveEvent(context, path, invoiceId, 'invoice_finalized');
  return {
    invoiceId,
    tenant,
    created,
    finalized,
    received: await receive(context, { path, invoiceId, count: 2 }),
  };
}
