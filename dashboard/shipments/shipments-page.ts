/** `/shipments`: the lines that reports count, with filters, order, pages and totals; the same as JSON and as files. */

import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ReportCell, ReportColumn, ReportRow } from '../../reports/cells.ts';
import { invalidFilter, isReportError } from '../../reports/errors.ts';
import { columnLabel, displayCell, fileNameOf, grouped } from '../../reports/render/labels.ts';
import { REPORT_FORMATS, type ReportFormat, renderReport } from '../../reports/render/render-report.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import type { ReportSession } from '../../reports/report-session.ts';
import { DEFAULT_SORT, SHIPMENT_COLUMNS } from '../../reports/shipments/columns.ts';
import { TYPED_CONDITIONS } from '../../reports/shipments/conditions.ts';
import {
  checkShipmentsRequest,
  type ShipmentsPage,
  type ShipmentsRequest,
  type ShipmentTotals,
} from '../../reports/shipments/list-shipments.ts';
import { filtersOf, one, periodOf, type Query, withQuery } from '../address.ts';
import { sendFigures } from '../figures.ts';
import { filterFields } from '../filter-form.ts';
import {
  ask,
  asOfHead,
  asOfNow,
  type PageContext,
  type PublishedPage,
  withReports,
} from '../page-context.ts';
import { saveAddress } from '../saved-views/saved-views.ts';
import { sendWhenKnown } from '../stream-page.ts';
import { renderPart } from '../views.ts';
import { askedOf, conditionsOf, withoutPlace } from './shipments-address.ts';

/** A file is made in memory, which took 1.3 GB for so many lines; whoever wants more takes `billsync export`. */
const MAX_EXPORTED = 100_000;
/** Every form but the terminal's, a page of so many lines, and JSON, which here is the figures of this page. */
const EXPORTS: readonly (readonly [format: ReportFormat, label: string])[] = [
  ['xlsx', 'Excel'],
  ['csv', 'CSV'],
  ['csv-bom', 'CSV for Excel'],
  ['parquet', 'Parquet'],
  ['ndjson', 'JSON lines'],
  ['about', 'About the figures (JSON)'],
];

/** Serves `/shipments`; with `format` as JSON, or as a file of all of them. */
export function registerShipments(app: FastifyInstance, context: PageContext): void {
  app.get('/shipments', async (request, reply) => {
    const query = request.query as Query;
    const format = one(query, 'format');
    if (format === 'json') return sendFigures(reply, await figuresOf(context, query));
    if (format !== undefined) return exportOf(context, { query, format, reply });
    return sendWhenKnown(context, reply, {
      ...{ title: 'Shipments', section: '/shipments', status: refuses(query) ? 400 : 200 },
      period: periodOf(query),
      lead: formOf(context, query),
      page: context.cache.page(request.url, () => listPage(context, query)),
    });
  });
}

/** Checked before anything is read, so that a page which is sent in parts has the right status as well. */
function refuses(query: Query): boolean {
  try {
    checkFilters(filtersOf(query));
    checkShipmentsRequest(askedOf(query));
    return false;
  } catch (error) {
    if (isReportError(error, 'invalid-filter')) return true;
    throw error;
  }
}

/** Rows, totals by currency, and the address of the next page: amounts as text, counts as numbers. */
async function figuresOf(context: PageContext, query: Query) {
  const { result, totals, next } = await answer(context, query, askedOf(query, []));
  const following = next === null ? null : withQuery('/shipments', query, { after: next });
  return { rows: result.rows, totals: totals.rows, next: following };
}

/** Totals and rows are read in one session, which reads the file's blocks once. */
async function answer(context: PageContext, query: Query, asked: ShipmentsRequest): Promise<ShipmentsPage> {
  checkShipmentsRequest(asked);
  return withReports(context, filtersOf(query), async (session) =>
    session.shipments({ ...asked, totals: await totalsOf(context, query, session) }),
  );
}

/** Counted once for all pages of one list. */
function totalsOf(context: PageContext, query: Query, session: ReportSession): Promise<ShipmentTotals> {
  const address = withQuery('totals of /shipments', withoutPlace(query));
  return context.cache.present(address, () => session.totalShipments(conditionsOf(query)));
}

async function exportOf(
  context: PageContext,
  { query, format, reply }: { readonly query: Query; readonly format: string; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  const known = REPORT_FORMATS.find((each) => each === format);
  if (known === undefined)
    throw invalidFilter(`Take one of json, ${EXPORTS.map(([format]) => format).join(', ')} as format.`);
  const totals = await withReports(context, filtersOf(query), (session) => totalsOf(context, query, session));
  const found = totals.rows.reduce((sum, row) => sum + Number(row.shipments), 0);
  if (found > MAX_EXPORTED) {
    throw invalidFilter(
      `These are ${grouped(String(found))} shipments, and one file takes at most ${grouped(String(MAX_EXPORTED))}: narrow the list, or let "billsync export" write all of them.`,
    );
  }
  const asked = { ...askedOf(query, []), after: undefined, limit: MAX_EXPORTED };
  const { result } = await answer(context, query, asked);
  const rendered = await renderReport(result, known);
  const about = withQuery('/shipments', query, { format: 'about' });
  return reply
    .type(rendered.contentType)
    .header('link', `<${about}>; rel="describedby"; type="application/json"`)
    .header('content-disposition', `attachment; filename="${fileNameOf(result, rendered.extension)}"`)
    .send(typeof rendered.body === 'string' ? rendered.body : Buffer.from(rendered.body));
}

async function formOf(context: PageContext, query: Query): Promise<string> {
  const asked = askedOf(query);
  const exact = Object.entries(conditionsOf(query)).filter(([name]) => name.startsWith('is_'));
  return renderPart('shipments-form', {
    ...(await filterFields(context, { query, path: '/shipments' })),
    lines: one(query, 'lines') ?? '',
    typed: TYPED_CONDITIONS.map(({ name, label }) => ({ name, label, value: one(query, name) ?? '' })),
    exact: exact.flatMap(([name, values]) => values.map((value) => ({ name, value }))),
    sort: one(query, 'sort') ?? DEFAULT_SORT,
    columns: SHIPMENT_COLUMNS.map((name) => ({
      ...{ name, label: columnLabel({ ...PLAIN, name }) },
      isChosen: asked.columns?.includes(name) ?? false,
    })),
    save: saveAddress('/shipments', query),
    downloads: EXPORTS.map(([format, label]) => ({
      ...{ label, address: withQuery('/shipments', query, { format, after: null }) },
    })),
  });
}

const PLAIN: ReportColumn = { name: '', type: 'text', scale: 0, unit: null, align: 'left', isDetail: false };

async function listPage(
  context: PageContext,
  query: Query,
): Promise<PublishedPage & { readonly status: number }> {
  const page = {
    ...({ view: 'shipments', title: 'Shipments', section: '/shipments' } as const),
    period: periodOf(query),
  };
  try {
    const asked = askedOf(query);
    // Links need these columns of every row, even when they are hidden.
    const needed = [...(asked.columns ?? []), 'tracking_number', 'invoice_id', 'currency_code'];
    const found = await answer(context, query, { ...asked, columns: needed });
    return {
      ...{ ...page, status: 200, asOf: asOfHead(found.result.head) },
      values: shown(found, { query, asked }),
    };
  } catch (error) {
    const isRefused = isReportError(error, 'invalid-filter');
    if (!isRefused && !isReportError(error, 'interrupted')) throw error;
    const values = { problem: error.message };
    return { ...page, status: isRefused ? 400 : 503, asOf: await ask(context, asOfNow), values };
  }
}

function shown(
  { result, totals, next }: ShipmentsPage,
  { query, asked }: { readonly query: Query; readonly asked: ShipmentsRequest },
): Readonly<Record<string, unknown>> {
  const columns = result.columns.filter(({ name }) => asked.columns?.includes(name));
  const partners = new Set(totals.rows.map(({ partner_id }) => partner_id));
  const inTotals = totals.columns.filter(({ name }) => name !== 'partner_id' || partners.size > 1);
  const sorted = asked.sort?.replace('-', '');
  const isDescending = asked.sort?.startsWith('-') ?? false;
  return {
    problem: null,
    notes: result.head.notes,
    found: result.head.shipments,
    totals: { columns: headOf(inTotals), rows: cellsOf(totals.rows, inTotals) },
    columns: columns.map((column) => ({
      ...{ label: columnLabel(column), align: column.align },
      order: column.name !== sorted ? 'none' : isDescending ? 'descending' : 'ascending',
      address: withQuery('/shipments', query, {
        after: null,
        // A second time turns the order round.
        sort: column.name === sorted && isDescending ? column.name : `-${column.name}`,
      }),
    })),
    rows: cellsOf(result.rows, columns),
    foot: footOf(totals.rows, columns),
    first: asked.after === undefined ? null : withQuery('/shipments', query, { after: null }),
    next: next === null ? null : withQuery('/shipments', query, { after: next }),
  };
}

function headOf(columns: readonly ReportColumn[]) {
  return columns.map((column) => ({ label: columnLabel(column), align: column.align }));
}

function cellsOf(rows: readonly ReportRow[], columns: readonly ReportColumn[]) {
  return rows.map((row) =>
    columns.map((column) => ({
      ...{ ...displayCell(row, column), align: column.align },
      kind: column.align === 'right' ? 'number' : column.type === 'date' ? 'day' : 'short',
      address: addressOf(column.name, row),
    })),
  );
}

function addressOf(column: string, row: ReportRow): string | null {
  const cell: ReportCell = row[column] ?? null;
  if (cell === null) return null;
  if (column === 'tracking_number') return `/shipments/${encodeURIComponent(String(cell))}`;
  if (column === 'invoice_number' || column === 'invoice_id') return `/invoices/${row.invoice_id}`;
  return null;
}

/** Below its column stands what all lines of a currency come to, on whatever page they are. */
function footOf(totals: readonly ReportRow[], columns: readonly ReportColumn[]) {
  return totals.map((total) =>
    columns.map((column, index) => {
      const isTold = column.name === 'billing_cost' || column.name === 'currency_code';
      const all = index === 0 ? `All ${grouped(String(total.shipments))} in ${total.currency_code}` : '';
      return { ...(isTold ? displayCell(total, column) : { text: all }), align: column.align };
    }),
  );
}
