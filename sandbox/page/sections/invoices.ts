import type { NewInvoice } from '../../billing/new-invoice.ts';
import { INTERNAL_STATUSES, type Invoice } from '../../model.ts';
import type { BilledShipment } from '../../storage/shipments.ts';
import { given } from '../form.ts';
import type { Page } from '../render.ts';
import { action, type PageRequest, page, paged, type Route } from '../section.ts';

const MAX_ROWS = 20;
const MAX_DELIVERIES = 50;

export const invoiceSection: readonly Route[] = [
  page('/invoices', list),
  page('/invoices/:invoiceId', detail),
  action('/invoices', list, async ({ account, form }) => {
    const { invoiceId } = await account.billing.create(readInvoice({ form }));
    return `/invoices/${invoiceId}?done=generated`;
  }),
  action('/invoices/:invoiceId/submit', detail, ({ account, params }) => {
    const { invoiceId } = account.billing.submit(params.invoiceId ?? '');
    return `/invoices/${invoiceId}?done=submitted`;
  }),
  action('/invoices/:invoiceId/approve', detail, async ({ account, params, form }) => {
    const invoiceId = params.invoiceId ?? '';
    const fails = form.has('exportFails');
    const rule = fails
      ? account.faults.add({ name: 'export-failure', count: 1, target: { invoiceId } })
      : null;
    try {
      await account.billing.approve(invoiceId);
    } finally {
      if (rule !== null) account.faults.clear(rule.faultId);
    }
    return `/invoices/${invoiceId}?done=${fails ? 'unexported' : 'approved'}`;
  }),
  action('/invoices/:invoiceId/cancel', detail, ({ account, params }) => {
    const { invoiceId } = account.billing.cancel(params.invoiceId ?? '');
    return `/invoices/${invoiceId}?done=canceled`;
  }),
  action('/invoices/:invoiceId/repair', detail, async ({ account, params }) => {
    const { invoiceId } = await account.billing.repair(params.invoiceId ?? '');
    return `/invoices/${invoiceId}?done=repaired`;
  }),
];

function list({ account, query, typed }: PageRequest): Page {
  const { billing } = account;
  const filter = { status: query.text('status'), tenant: query.text('tenant'), search: query.text('search') };
  const found = billing.invoices().filter((invoice) => matches(invoice, filter));
  const { onPage, position } = paged(found, query);
  return {
    view: 'invoices',
    title: 'Invoices',
    section: 'invoices',
    data: {
      statuses: INTERNAL_STATUSES,
      tenants: billing.tenants(),
      filter,
      typed,
      invoices: onPage.map((invoice) => ({ ...invoice, tenant: tenantName(account, invoice) })),
      ...position,
      filterQuery: new URLSearchParams(filter).toString(),
    },
  };
}

function detail({ account, params }: PageRequest): Page {
  const { billing, store, deliveries } = account;
  const invoice = billing.invoice(params.invoiceId ?? '');
  const { invoiceId } = invoice;
  const events = [...store.all('event').values()].filter((one) => one.invoiceId === invoiceId);
  const log = deliveries.list().filter((one) => one.invoiceId === invoiceId);
  return {
    view: 'invoice',
    title: invoice.invoiceNumber,
    section: 'invoices',
    data: {
      invoice,
      tenant: billing.tenantOf(invoice),
      tenantName: tenantName(account, invoice),
      steps: stepsOf(invoice),
      rows: firstRows(billing.rows(invoice)),
      maxRows: MAX_ROWS,
      sources: invoice.sources.map((id) => billing.invoice(id)),
      events: events.reverse(),
      deliveries: log.slice(-MAX_DELIVERIES).reverse(),
    },
  };
}

function readInvoice({ form }: Pick<PageRequest, 'form'>): NewInvoice {
  const shipments = form.number('shipments', 'Shipments');
  const isPartnerLevel = form.text('level') === 'partner';
  const set = given<NonNullable<NewInvoice['set']>>({
    currencyCode: form.text('currencyCode').toUpperCase() || null,
    invoiceDate: form.text('invoiceDate') || null,
    partnerInvoiceId: form.text('partnerInvoiceId') || null,
  });
  return {
    ...given<Pick<NewInvoice, 'tenant' | 'shipments'>>({
      tenant: isPartnerLevel ? null : form.text('tenant') || null,
      shipments: isPartnerLevel ? null : shipments,
    }),
    ...(isPartnerLevel ? { partnerLevel: true } : {}),
    set,
  };
}

function matches(
  invoice: Invoice,
  { status, tenant, search }: { status: string; tenant: string; search: string },
) {
  if (status !== '' && invoice.status !== status) return false;
  if (tenant === 'partner' && invoice.tenantId !== null) return false;
  if (tenant !== '' && tenant !== 'partner' && invoice.tenantId !== tenant) return false;
  const texts = [invoice.invoiceNumber, invoice.invoiceId, invoice.partnerInvoiceId ?? ''];
  return texts.some((text) => text.toLowerCase().includes(search.toLowerCase()));
}

function tenantName({ billing, partner }: PageRequest['account'], invoice: Invoice): string {
  return billing.tenantOf(invoice)?.name ?? partner.name;
}

function stepsOf({ status, history }: Invoice) {
  const way =
    status === 'CANCELED' ? history.map((one) => one.status) : ['DRAFT', 'PENDING_APPROVAL', 'APPROVED'];
  return way.map((step) => ({
    status: step,
    at: history.find((one) => one.status === step)?.at ?? null,
    isCurrent: step === status,
  }));
}

function firstRows(rows: Iterable<BilledShipment>): BilledShipment['shipment'][] {
  const first: BilledShipment['shipment'][] = [];
  for (const { shipment } of rows) {
    if (first.length === MAX_ROWS) break;
    first.push(shipment);
  }
  return first;
}
