import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { shortName } from '../../lib/text.ts';
import type { ReportColumn, ReportRow } from '../../reports/cells.ts';
import { invalidFilter } from '../../reports/errors.ts';
import { columnLabel, displayCell, grouped } from '../../reports/render/labels.ts';
import { REPORT_FORMATS, type ReportFormat } from '../../reports/render/render-report.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import type { ReportSession } from '../../reports/report-session.ts';
import { DEFAULT_COLUMNS, DEFAULT_SORT, SHIPMENT_COLUMNS } from '../../reports/shipments/columns.ts';
import {
  CONDITION_NAMES,
  type ShipmentConditions,
  TYPED_CONDITIONS,
} from '../../reports/shipments/conditions.ts';
import {
  checkShipmentsRequest,
  type ShipmentsPage,
  type ShipmentsRequest,
  type ShipmentTotals,
} from '../../reports/shipments/list-shipments.ts';
import { allValues, filtersOf, lastValue, periodOf, type Query, withQuery } from '../address.ts';
import { filterFields, labelOf } from '../filter-form.ts';
import {
  asOfHead,
  cachedPage,
  isRefused,
  type PageContext,
  sendJson,
  withProblem,
  withReports,
} from '../page-context.ts';
import { sendWhenReady } from '../stream-page.ts';
import { renderPart } from '../views.ts';
import { sendFile } from './reports.ts';
import { saveAddress } from './saved-views.ts';

/** A file is made in memory (1.3 GB for this many lines); `billsync export` has no limit. */
const MAX_EXPORTED = 100_000;
const ROWS_ON_A_PAGE = 100;
const MAX_ROWS_ON_A_PAGE = 10_000;
const EXPORTS = [
  ['xlsx', 'Excel'],
  ['csv', 'CSV for spreadsheets'],
  ['csv-bom', 'CSV for Excel'],
  ['csv-exact', 'CSV for programs'],
  ['parquet', 'Parquet'],
  ['ndjson', 'JSON lines'],
  ['about', 'About the data (JSON)'],
] as const satisfies readonly (readonly [format: ReportFormat, label: string])[];

export function registerShipments(app: FastifyInstance, context: PageContext): void {
  app.get('/shipments', async (request, reply) => {
    const query = request.query as Query;
    const format = lastValue(query, 'format');
    if (format === 'json') return sendJson(reply, await dataOf(context, query));
    if (format !== undefined) return sendExport(context, { query, format, reply });
    const isInvalid = isRefused(() => {
      checkFilters(filtersOf(query));
      checkShipmentsRequest(requestOf(query));
    });
    return sendWhenReady(context, reply, {
      ...{ title: 'Shipments', section: '/shipments', status: isInvalid ? 400 : 200 },
      period: periodOf(query),
      lead: formOf(context, query),
      page: listPage(context, request),
    });
  });
}

function conditionsOf(query: Query): ShipmentConditions {
  const names = Object.keys(query).filter((name) => CONDITION_NAMES.includes(name) || name.startsWith('is_'));
  // An empty field of the form is no condition, but `is_zone=` means lines without a zone.
  const given = names.map(
    (name) =>
      [name, allValues(query, name).filter((value) => name.startsWith('is_') || value !== '')] as const,
  );
  return Object.fromEntries(given.filter(([, values]) => values.length > 0));
}

function requestOf(query: Query, usual: readonly string[] = DEFAULT_COLUMNS): ShipmentsRequest {
  const columns = allValues(query, 'columns').filter((name) => name !== '');
  const limit = Number(lastValue(query, 'limit') ?? ROWS_ON_A_PAGE);
  return {
    conditions: conditionsOf(query),
    columns: columns.length > 0 ? columns : usual,
    sort: lastValue(query, 'sort') ?? DEFAULT_SORT,
    after: lastValue(query, 'after'),
    limit: Number.isSafeInteger(limit) && limit >= 1 && limit <= MAX_ROWS_ON_A_PAGE ? limit : ROWS_ON_A_PAGE,
  };
}

/** Amounts are text, counts are numbers. */
async function dataOf(context: PageContext, query: Query) {
  const { result, totals, next } = await listOf(context, query, requestOf(query, []));
  const following = next === null ? null : withQuery('/shipments', query, { after: next });
  return { rows: result.rows, totals: totals.rows, next: following };
}

async function listOf(context: PageContext, query: Query, request: ShipmentsRequest): Promise<ShipmentsPage> {
  checkShipmentsRequest(request);
  return withReports(context, filtersOf(query), async (session) =>
    session.shipments({ ...request, totals: await totalsOf(context, query, session) }),
  );
}

function totalsOf(context: PageContext, query: Query, session: ReportSession): Promise<ShipmentTotals> {
  const place = { after: null, sort: null, columns: null, limit: null, format: null };
  const address = withQuery('totals of /shipments', query, place);
  return context.cache.present(address, () => session.totalShipments(conditionsOf(query)));
}

async function sendExport(
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
  const request = { ...requestOf(query, []), after: undefined, limit: MAX_EXPORTED };
  const { result } = await listOf(context, query, request);
  return sendFile(reply, result, known, withQuery('/shipments', query, { format: 'about' }));
}

async function formOf(context: PageContext, query: Query): Promise<string> {
  const request = requestOf(query);
  const exact = Object.entries(conditionsOf(query)).filter(([name]) => name.startsWith('is_'));
  return renderPart('shipments-form', {
    ...(await filterFields(context, { query, path: '/shipments' })),
    lines: lastValue(query, 'lines') ?? '',
    typed: TYPED_CONDITIONS.map(({ name, label }) => ({ name, label, value: lastValue(query, name) ?? '' })),
    exact: exact.flatMap(([name, values]) => values.map((value) => ({ name, value }))),
    sort: lastValue(query, 'sort') ?? DEFAULT_SORT,
    columns: SHIPMENT_COLUMNS.map((name) => ({
      ...{ name, label: labelOf(name), isChosen: request.columns?.includes(name) ?? false },
    })),
    save: saveAddress('/shipments', query),
    downloads: EXPORTS.map(([format, label]) => ({
      ...{ label, address: withQuery('/shipments', query, { format, after: null }) },
    })),
  });
}

/** An exceeded limit is not cached, so the next reader retries. */
function listPage(context: PageContext, request: FastifyRequest) {
  const query = request.query as Query;
  const page = { view: 'shipments', title: 'Shipments', section: '/shipments', period: periodOf(query) };
  const make = async () => {
    const shown = requestOf(query);
    // Links need these columns even when they are hidden.
    const columns = [...(shown.columns ?? []), 'tracking_number', 'invoice_id', 'currency_code'];
    const list = await listOf(context, query, { ...shown, columns });
    return { asOf: asOfHead(list.result.head), values: valuesOf(list, query, shown) };
  };
  return withProblem(context, page, () => cachedPage(context, request, make));
}

function valuesOf(
  { result, totals, next }: ShipmentsPage,
  query: Query,
  { columns: chosen, sort, after }: ShipmentsRequest,
): Readonly<Record<string, unknown>> {
  const partners = new Set(totals.rows.map(({ partner_id }) => partner_id));
  const ofPartner = ({ name }: ReportColumn): boolean => name !== 'partner_id' || partners.size > 1;
  const columns = result.columns.filter((column) => chosen?.includes(column.name) && ofPartner(column));
  const inTotals = totals.columns.filter(ofPartner);
  const sorted = sort?.replace('-', '');
  const isDescending = sort?.startsWith('-') ?? false;
  const head = (column: ReportColumn) => ({ label: columnLabel(column), align: column.align });
  return {
    problem: null,
    notes: result.head.notes,
    found: result.head.shipments,
    totals: { columns: inTotals.map(head), rows: cellsOf(totals.rows, inTotals) },
    columns: columns.map((column) => ({
      ...head(column),
      order: column.name !== sorted ? 'none' : isDescending ? 'descending' : 'ascending',
      address: withQuery('/shipments', query, {
        after: null,
        sort: column.name === sorted && isDescending ? column.name : `-${column.name}`,
      }),
    })),
    rows: cellsOf(result.rows, columns),
    first: after === undefined ? null : withQuery('/shipments', query, { after: null }),
    next: next === null ? null : withQuery('/shipments', query, { after: next }),
  };
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
  const cell = row[column] ?? null;
  if (cell === null) return null;
  if (column === 'tracking_number') return `/shipments/${encodeURIComponent(shortName(String(cell)))}`;
  return column === 'invoice_number' || column === 'invoice_id' ? `/invoices/${row.invoice_id}` : null;
}
