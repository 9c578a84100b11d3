/** Invoices: the list with its filters, and one invoice with its whole life. */

import { listValue } from '@duckdb/node-api';
import type { FastifyInstance } from 'fastify';
import { INVOICE_STATES, invoiceWorkflowId } from '../../lib/wire/names.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { money } from '../../reports/render/html-cells.ts';
import { all, one, pageNumber, type Query, withQuery } from '../address.ts';
import { addressOfPage, patienceFor } from '../figures.ts';
import { rowsOfInvoices, withTenants } from '../invoice-rows.ts';
import {
  ask,
  asOfNow,
  type PageContext,
  type PublishedPage,
  sendFramed,
  sendPublished,
  sendShown,
} from '../page-context.ts';
import { saveAddress } from '../saved-views/saved-views.ts';
import { count } from '../views.ts';
import { choicesOf } from './choices.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const ROWS_ON_A_PAGE = 50;
const LINES_SHOWN = 20;

const SORTS: readonly (readonly [string, string])[] = [
  ['changed', 'last change'],
  ['date', 'invoice date'],
  ['number', 'number'],
  ['tenant', 'tenant'],
  ['state', 'state'],
  ['cost', 'cost'],
  ['shipments', 'shipments'],
];

/** Columns that need the files of invoices. */
const SORTS_BY_FILE: readonly string[] = ['tenant', 'cost', 'shipments'];

/** Serves `/invoices` with its filters, and a page for each invoice. */
export function registerInvoices(app: FastifyInstance, context: PageContext): void {
  app.get('/invoices', (request, reply) =>
    sendPublished(context, reply, () => listPage(context, request.query as Query)),
  );
  app.get<{ Params: { id: string } }>('/invoices/:id', async (request, reply) => {
    const { id } = request.params;
    if (!UUID.test(id)) {
      const [named] = await ask(context, (asking) => asking('invoice-by-number', { number: id }));
      if (named !== undefined) return reply.redirect(`/invoices/${named.invoice_id}`, 302);
    }
    const make = () => invoicePage(context, id);
    const { value, isFormer } = await context.cache.page(addressOfPage(request), make, patienceFor(request));
    if (value !== null) return sendShown(context, reply, { value, isFormer });
    const message = `There is no invoice ${id}, or it is not published yet. The field above finds invoices by part of their number.`;
    return sendFramed(context, reply.code(404), {
      ...({ view: 'message', title: 'No such invoice', section: '/invoices' } as const),
      ...{ values: { message }, figures: { error: message } },
    });
  });
}

async function listPage(context: PageContext, query: Query): Promise<PublishedPage> {
  const states = all(query, 'state').filter((state) => state !== '');
  const tenants = all(query, 'tenant').filter((tenant) => tenant !== '');
  const search = one(query, 'search') ?? null;
  const sort = SORTS.find(([name]) => name === one(query, 'sort'))?.[0] ?? 'changed';
  const page = pageNumber(query);
  const { rows, found, asOf } = await ask(context, async (asking) => {
    const asked = {
      states: states.length > 0 ? listValue([...states]) : null,
      ...{ search, sort, limit: ROWS_ON_A_PAGE, offset: (page - 1) * ROWS_ON_A_PAGE },
    };
    const ids =
      tenants.length > 0 || SORTS_BY_FILE.includes(sort)
        ? await asking('invoices-found-by-file', {
            ...asked,
            tenants: tenants.length > 0 ? listValue([...tenants]) : null,
          })
        : await asking('invoices-found', asked);
    const rows = await withTenants(asking, await rowsOfInvoices(asking, ids));
    return { rows: rows.map(shownOf), found: Number(ids[0]?.found ?? 0), asOf: await asOfNow(asking) };
  });
  const to = (number: number): string => withQuery('/invoices', query, { page: String(number) });
  const next = page * ROWS_ON_A_PAGE < found ? to(page + 1) : null;
  return {
    asOf,
    view: 'invoices',
    title: 'Invoices',
    section: '/invoices',
    figures: { found, rows, next },
    values: {
      save: saveAddress('/invoices', query),
      ...{ rows, found, search, states, tenants, sort, sorts: SORTS },
      allStates: INVOICE_STATES,
      allTenants: (await choicesOf(context)).tenants,
      previous: page > 1 ? to(page - 1) : null,
      next,
    },
  };
}

/** The columns of the list. */
function shownOf(row: ReportRow): ReportRow {
  const { reason_code: _1, discrepancy_rules: _2, loaded_at: _3, ...rest } = row;
  const { partner_id: _4, tenant_id: _5, partner_tenant_id: _6, ...shown } = rest;
  return shown;
}

async function invoicePage(context: PageContext, id: string): Promise<PublishedPage | null> {
  const invoice = id.toLowerCase();
  const found = await ask(context, async (asking) => {
    const [row] = await asking('invoice', { invoice });
    if (!row) return null;
    return {
      row,
      life: await asking('invoice-life', { invoice }),
      discrepancies: await asking('invoice-discrepancies', { invoice }),
      lines: await asking('invoice-lines', { invoice, limit: LINES_SHOWN }),
      asOf: await asOfNow(asking),
    };
  });
  if (found === null) return null;
  return {
    asOf: found.asOf,
    view: 'invoice',
    title: `Invoice ${found.row.invoice_number ?? invoice}`,
    section: '/invoices',
    figures: { invoice: found.row, life: found.life, discrepancies: found.discrepancies, lines: found.lines },
    values: {
      invoice: found.row,
      facts: factsOf(found.row),
      compared: comparedOf(found.row),
      life: found.life,
      discrepancies: found.discrepancies,
      lines: found.lines,
      // An invoice is of one level, which need not be the one that reports count by themselves.
      allLines: withQuery('/shipments', { invoice, level: 'all', sort: 'row_number' }),
      workflow: workflowOf(context, found.row),
    },
  };
}

/** The workflow that looks after the invoice, and where it can be looked at; null until its partner is known. */
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

/** Stated and loaded totals side by side; empty before a load. */
function comparedOf(row: ReportRow) {
  const amount = (name: string, currency: string): string =>
    row[name] === null || row[name] === undefined ? '' : money(row[name], row[currency]);
  const pairs = [
    {
      what: 'Total',
      stated: amount('stated_total_amount', 'stated_currency_code'),
      loaded: amount('billing_cost', 'currency_code'),
      agrees: Number(row.stated_total_amount) === Number(row.billing_cost),
    },
    {
      what: 'Shipments',
      ...{ stated: count(row.stated_shipments), loaded: count(row.shipments) },
      agrees: row.stated_shipments === row.shipments,
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

/** Label and value of what is known. */
function factsOf(row: ReportRow): readonly (readonly [string, string])[] {
  return FACTS.filter(([name]) => row[name] !== null && row[name] !== undefined).map(([name, label]) => [
    label,
    String(row[name]),
  ]);
}
