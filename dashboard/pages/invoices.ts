import type { FastifyInstance } from 'fastify';
import { INVOICE_STATES, invoiceWorkflowId } from '../../lib/wire/names.ts';
import { type ReportRow, reportColumn } from '../../reports/cells.ts';
import { invoiceHistory } from '../../reports/invoices/invoice-questions.ts';
import { timelineOf } from '../../reports/invoices/timeline.ts';
import { renderCsv } from '../../reports/render/csv-text.ts';
import { money } from '../../reports/render/html-cells.ts';
import { allValues, lastValue, pageNumber, pagesBeside, type Query, withQuery } from '../address.ts';
import { choicesOf } from '../filter-form.ts';
import {
  asOfNow,
  cachedPage,
  type PageContext,
  type PublishedPage,
  readPublished,
  sendMessage,
  sendPage,
  sendPublished,
} from '../page-context.ts';
import { runInvoices } from '../page-queries.ts';
import { count } from '../views.ts';
import { saveAddress } from './saved-views.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ROWS_ON_A_PAGE = 50;
const MAX_LINES = 20;

const HEADS: readonly (readonly [label: string, sort: string | null, isNumber?: true])[] = [
  ...([
    ['Invoice', 'number'],
    ['Tenant', 'tenant'],
    ['State', 'state'],
    ['Date', 'date'],
  ] as const),
  ...([
    ['Shipments', 'shipments', true],
    ['Stated', null, true],
    ['Loaded', 'cost', true],
    ['Proof', null],
  ] as const),
];
const ORDERS = ['ascending', 'descending'] as const;
const LARGEST_FIRST: readonly string[] = ['date', 'shipments', 'cost'];
const MAX_DOWNLOADED = 100_000;

export function registerInvoices(app: FastifyInstance, context: PageContext): void {
  app.get('/invoices', (request, reply) =>
    sendPublished(context, reply, () => listPage(context, request.query as Query)),
  );
  app.get('/invoices/download', async (request, reply) => {
    const rows = await readPublished(context, (run) =>
      runInvoices(run, { ...requestOf(request.query as Query), limit: MAX_DOWNLOADED }),
    );
    const columns = Object.keys(listColumns(rows[0] ?? {})).map((name) => reportColumn(name));
    return reply
      .type('text/csv; charset=utf-8; header=present')
      .header('content-disposition', 'attachment; filename="invoices.csv"')
      .send(renderCsv({ columns, rows }));
  });
  app.get<{ Params: { id: string } }>('/invoices/:id', async (request, reply) => {
    const { id } = request.params;
    if (!UUID.test(id)) {
      const [named, ...others] = await readPublished(context, (run) => run('invoice', { invoice: id }));
      if (others.length > 0) return reply.redirect(withQuery('/invoices', {}, { search: id }), 302);
      if (named !== undefined) return reply.redirect(`/invoices/${named.invoice_id}`, 302);
    }
    const page = await cachedPage(context, request, () => invoicePage(context, id));
    if (page !== null) return sendPage(context, reply, page);
    return sendMessage(context, reply.code(404), {
      ...{ title: 'No such invoice', section: '/invoices' },
      message: `There is no invoice ${id}, or it is not published yet. The field above finds invoices by part of their number.`,
    });
  });
}

function requestOf(query: Query) {
  const sort = lastValue(query, 'sort') ?? 'changed';
  const month = lastValue(query, 'month') ?? null;
  return {
    states: allValues(query, 'state').filter((state) => state !== ''),
    tenants: allValues(query, 'tenant').filter((tenant) => tenant !== ''),
    search: lastValue(query, 'search') ?? null,
    sort: HEADS.some(([, name]) => name === sort.replace('-', '')) ? sort : 'changed',
    month: month !== null && /^\d{4}-\d\d$/.test(month) ? month : null,
  };
}

async function listPage(context: PageContext, query: Query): Promise<PublishedPage> {
  const { sort, tenants, ...wanted } = requestOf(query);
  const page = pageNumber(query);
  const { rows, found, asOf } = await readPublished(context, async (run) => {
    const place = { limit: ROWS_ON_A_PAGE, offset: (page - 1) * ROWS_ON_A_PAGE };
    const listed = await runInvoices(run, { ...wanted, tenants, sort, ...place });
    return { rows: listed.map(listColumns), found: Number(listed[0]?.found ?? 0), asOf: await asOfNow(run) };
  });
  const beside = pagesBeside(page, page * ROWS_ON_A_PAGE >= found, (number) =>
    withQuery('/invoices', query, { page: number }),
  );
  return {
    ...{ asOf, view: 'invoices', title: 'Invoices', section: '/invoices' },
    data: { found, rows, next: beside.next },
    values: {
      save: saveAddress('/invoices', query),
      ...{ ...wanted, rows, found, tenants, download: withQuery('/invoices/download', query) },
      heads: HEADS.map(([label, name, isNumber = false]) => ({
        ...{ label, isNumber },
        address:
          name && withQuery('/invoices', query, { sort: sort === name ? `-${name}` : name, page: null }),
        order:
          sort.replace('-', '') === name
            ? ORDERS[Number(LARGEST_FIRST.includes(name) !== sort.startsWith('-'))]
            : null,
      })),
      allStates: INVOICE_STATES,
      // A chosen tenant stays offered, even when the published file no longer contains it.
      allTenants: [...new Set([...(await choicesOf(context)).tenants, ...tenants])],
      ...beside,
    },
  };
}

function listColumns(row: ReportRow): ReportRow {
  const { reason_code: _1, discrepancy_rules: _2, loaded_at: _3, found: _4, ...columns } = row;
  return columns;
}

async function invoicePage(context: PageContext, id: string): Promise<PublishedPage | null> {
  const invoice = id.toLowerCase();
  const found = await readPublished(context, async (run) => {
    const [row] = await run('invoice', { invoice });
    if (!row) return null;
    return {
      row,
      history: await invoiceHistory(run, invoice),
      lines: await run('invoice-lines', { invoice, limit: MAX_LINES }),
      asOf: await asOfNow(run),
    };
  });
  if (found === null) return null;
  const { row, history, lines, asOf } = found;
  const { discrepancies } = history;
  const life = timelineOf(row, history);
  return {
    ...{ asOf, view: 'invoice', title: `Invoice ${row.invoice_number ?? invoice}`, section: '/invoices' },
    data: { invoice: row, life, discrepancies, lines },
    values: {
      ...{ invoice: row, life, discrepancies, lines },
      facts: FACTS.filter(([name]) => (row[name] ?? null) !== null).map(([name, label]) => ({
        ...{ label, value: String(row[name]), isId: /_id$|sha256/.test(name) },
      })),
      compared: comparedOf(row),
      // All levels are asked for, because the level of the invoice may differ from the one that reports count by default.
      allLines: withQuery('/shipments', { invoice, level: 'all', sort: 'row_number' }),
      workflow: workflowOf(context, row),
    },
  };
}

function workflowOf(
  { environment, temporalUi }: PageContext,
  { partner_id: partnerId, invoice_id: invoiceId }: ReportRow,
): { readonly id: string; readonly url: string | null } | null {
  if (typeof partnerId !== 'string') return null;
  const id = invoiceWorkflowId({ environment, partnerId, invoiceId: String(invoiceId) });
  const url =
    temporalUi === null ? null : `${temporalUi.replace(/\/+$/, '')}/workflows/${encodeURIComponent(id)}`;
  return { id, url };
}

/** Whether rows and header agree is decided by the ledger alone; the page only shows its finding. */
function comparedOf(row: ReportRow) {
  const rules = String(row.discrepancy_rules ?? '').split(', ');
  const amount = (name: string, currency: string): string =>
    (row[name] ?? null) === null ? '' : money(row[name], row[currency]);
  const pairs = [
    {
      label: 'Total',
      stated: amount('stated_total_amount', 'stated_currency_code'),
      loaded: amount('billing_cost', 'currency_code'),
      agrees: !rules.includes('total-amount') && !rules.includes('currency'),
    },
    {
      label: 'Shipments',
      ...{ stated: count(row.stated_shipments), loaded: count(row.shipments) },
      agrees: !rules.includes('shipment-count'),
    },
  ];
  return pairs.filter(({ stated, loaded }) => stated !== '' && loaded !== '');
}

const FACTS: readonly (readonly [column: string, label: string])[] = [
  ['invoice_level', 'Level'],
  ['proof', 'Proof'],
  ['version', 'Version'],
  ['versions', 'Versions'],
  ['file_source', 'File source'],
  ['file_sha256', 'File hash (SHA-256)'],
  ['partner_invoice_id', 'Partner’s reference'],
  ['tenant_id', 'Tenant id'],
  ['partner_tenant_id', 'Partner’s tenant id'],
  ['invoice_id', 'Invoice id'],
];
