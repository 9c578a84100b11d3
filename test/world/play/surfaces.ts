/** What else shows an answer: the rows behind its numbers, the formats, and the tables of the published file. */

import { parse } from 'csv-parse/sync';
import { listReports } from '../../../reports/catalogue.ts';
import type { ReportRow } from '../../../reports/cells.ts';
import { drilldownOfCell } from '../../../reports/drilldown.ts';
import { openPublishedFile } from '../../../reports/open-published-file.ts';
import { drawCharts } from '../../../reports/render/charts.ts';
import { renderReport } from '../../../reports/render/render-report.ts';
import type { ReportResult } from '../../../reports/report-result.ts';
import type { ReportSession } from '../../../reports/report-session.ts';
import type { Filters, Listing } from '../history.ts';
import { compareKeys, costOf, plainZone } from '../model/answer.ts';
import { groups, money, parsed, sum } from '../model/exact.ts';
import { CONDITIONS, SORTED } from '../model/shipments.ts';
import type { KnownInvoice, Line as PlainLine } from '../model/truth.ts';
import type { Line, View } from '../model/view.ts';
import { Difference, type Played } from './fast.ts';

const DRILLDOWNS = new Map(listReports().map(({ name, drilldowns }) => [name, drilldowns]));
/** An answer of few rows is no page of this size. */
const MAX_PAGE_BYTES = 3_000_000;
const FOLLOWED_ROWS = 2;

/** Every number and every mark of a chart leads to rows, and equals their total if it names them completely. */
export async function followLinks(
  result: ReportResult,
  what: string,
  filters: Filters,
  sessionOf: (filters: Filters) => Promise<ReportSession>,
): Promise<void> {
  const drilldowns = DRILLDOWNS.get(result.name) ?? [];
  const seen = new Map<string, readonly ReportRow[]>();
  for (const [rows, column] of [...numbersOf(result), ...(await marksOf(result))]) {
    const [row] = rows;
    const lead = drilldownOfCell({ drilldowns, result }, rows, column);
    const key = JSON.stringify(lead?.fields);
    // A bar of several rows has no link when they share no field.
    if (row === undefined || (lead === null && rows.length > 1)) continue;
    if (lead === null || (lead.target !== 'shipments' && Object.values(lead.fields)[0] === ''))
      throw new Difference(`${what}: ${column} of ${JSON.stringify(row)} leads nowhere: ${key}`);
    if (lead.target !== 'shipments' || lead.total === null) continue;
    const { level, ...fields } = lead.fields;
    const conditions = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value]]));
    // A row with its own days or level leads to lines that the filter may leave out.
    const { from: _, to: __, ...others } = filters;
    const own = {
      ...(fields.days_from === undefined ? filters : others),
      ...(level === undefined ? {} : { level: level as 'tenant' }),
    };
    const totals = seen.get(key) ?? (await (await sessionOf(own)).totalShipments(conditions)).rows;
    seen.set(key, totals);
    const total = totals.find(({ currency_code: currency }) => currency === row.currency_code)?.[lead.total];
    const sizes = rows.map((one) => parsed(String(one[column])));
    const isEqual = rows.length === 1 ? total === row[column] : parsed(String(total ?? 0)) === sum(sizes);
    // A row may be zero without any line.
    if (!isEqual && (Number(total ?? 0) !== 0 || sum(sizes) !== 0n))
      throw new Difference(
        `${what}: ${column} of ${JSON.stringify(rows)} is not of its lines by ${key} are ${total}`,
      );
  }
}

type Shown = readonly [rows: readonly ReportRow[], column: string];

function numbersOf({ columns, rows }: ReportResult): Shown[] {
  const numbers = columns.filter(({ align }) => align === 'right').map(({ name }) => name);
  return rows
    .slice(0, FOLLOWED_ROWS)
    .flatMap((row) => numbers.filter((name) => row[name] !== null).map((name): Shown => [[row], name]));
}

async function marksOf(result: ReportResult): Promise<Shown[]> {
  const marks = new Map<string, Shown>();
  await drawCharts(result, (rows, column) => {
    marks.set(JSON.stringify([rows, column]), [rows, column]);
    return null;
  });
  return [...marks.values()].slice(0, FOLLOWED_ROWS);
}

/** Formats for programs give every cell back; the page of few rows is small. */
export async function readBack(result: ReportResult, what: string): Promise<void> {
  const json = JSON.parse(String((await renderReport(result, 'json')).body)) as ReportRow[];
  const cellsOf = (row: ReportRow): string =>
    JSON.stringify(result.columns.map(({ name }) => row[name] ?? null));
  if (json.map(cellsOf).join() !== result.rows.map(cellsOf).join())
    throw new Difference(`${what}: JSON differs from the rows`);
  const csv = String((await renderReport(result, 'csv-exact')).body);
  const [names = [], ...lines] = parse(csv, { bom: true, relax_column_count: false }) as string[][];
  const wanted = result.rows.map((row) => names.map((name) => String(row[name] ?? '')));
  if (JSON.stringify(lines) !== JSON.stringify(wanted))
    throw new Difference(`${what}: the exact CSV differs from the rows`);
  const spreadsheet = parse(String((await renderReport(result, 'csv')).body)) as string[][];
  const formula = spreadsheet.flat().find((cell) => /^[=@\t\r]|^[+-](?![\d.])/.test(cell));
  if (formula !== undefined) throw new Difference(`${what}: a spreadsheet computes ${formula}`);
  const { length } = String((await renderReport(result, 'html')).body);
  if (length > MAX_PAGE_BYTES) throw new Difference(`${what}: a page of ${length} characters`);
}

/** All pages, one after the other, and the totals. */
export async function compareListing(
  listing: Listing,
  views: readonly View[],
  session: ReportSession,
): Promise<void> {
  const {
    condition: [name, value],
    sort,
    isDescending,
    pageSize,
  } = listing;
  const [, holds] = CONDITIONS[name] ?? [];
  const sortedBy = SORTED[sort];
  if (holds === undefined || sortedBy === undefined) throw new Error(`The model lacks ${name} or ${sort}.`);
  const placeOf = (line: Line): string => `${line.invoice.id}:${String(line.row).padStart(9, '0')}`;
  const selected = views.map(({ lines }) => lines.filter((line) => holds(line, value)));
  const expected = selected.flat().toSorted((one, other) => {
    const [a, b] = [one, other].map(sortedBy);
    if (a === null || b === null || a === undefined || b === undefined || a === b)
      return Number(a === null) - Number(b === null) || compareKeys([placeOf(one)], [placeOf(other)]);
    return (isDescending ? -1 : 1) * compareKeys([a], [b]);
  });
  const found: string[] = [];
  const request = { conditions: { [name]: [value] }, sort: `${isDescending ? '-' : ''}${sort}` };
  let after: string | undefined;
  do {
    const { result, next, totals } = await session.shipments({
      ...{ ...request, limit: pageSize },
      ...(after === undefined ? {} : { after }),
    });
    found.push(...result.rows.map((row) => `${row.invoice_id}:${String(row.row_number).padStart(9, '0')}`));
    after = next ?? undefined;
    const sums = totals.rows.map((row) => [row.currency_code, row.shipments, row.billing_cost].join()).sort();
    const wanted = selected
      .flatMap((lines) => groups(lines, ({ currency }) => [currency]))
      .map((of) => [of[0]?.currency, of.length, money(costOf(of))].join())
      .sort();
    if (sums.join(' ') !== wanted.join(' '))
      throw new Difference(`shipments ${JSON.stringify(listing)}: totals ${sums}, expected ${wanted}`);
  } while (after !== undefined && found.length <= expected.length);
  if (found.join() !== expected.map(placeOf).join())
    throw new Difference(
      `shipments ${JSON.stringify(listing)}:\n  expected ${expected.map(placeOf)}\n  was ${found}`,
    );
}

/** The tables that other tools read: docs/reference/tables.md. @param instants null: now */
export async function compareTables(
  { path, world }: Played,
  instants: readonly (string | null)[],
): Promise<void> {
  const known = world.invoices();
  // With one partner, what has none is its own.
  const partners = new Set(known.flatMap(({ partnerId }) => partnerId ?? []));
  const [only = null] = partners.size === 1 ? partners : [];
  const partnerOf = ({ partnerId }: KnownInvoice): string | null => partnerId ?? only;
  await compareTable(
    path,
    'select * from invoices',
    known.map((invoice) => ({
      ...{
        invoice_id: invoice.id,
        invoice_number: invoice.number,
        invoice_level: invoice.level,
        tenant_id: invoice.tenantId,
      },
      ...{
        partner_tenant_id: invoice.partnerTenantId,
        partner_id: partnerOf(invoice),
        state: invoice.state,
        reason: invoice.reason,
      },
      ...{
        service_status: invoice.serviceStatus,
        invoice_start_date: invoice.start,
        invoice_end_date: invoice.end,
      },
      ...{
        invoice_date: invoice.date,
        invoice_due_date: invoice.due,
        stated_currency_code: invoice.statedCurrency,
      },
      ...{
        stated_total_text: invoice.statedText,
        stated_shipments: invoice.statedShipments,
        proof: invoice.proof,
      },
      ...{ version: invoice.current?.version ?? null, versions: invoice.versions.length },
      shipments: invoice.current?.lines.length ?? null,
      discrepancy_rules: invoice.rules.length === 0 ? null : [...invoice.rules].sort().join(', '),
    })),
  );
  const counted = world.countedAt(null).flatMap(({ lines }) => lines);
  await compareTable(
    path,
    'select * from invoice_amounts',
    groups(counted, ({ invoice, currency }) => [invoice.id, currency]).map((lines) => ({
      ...{ invoice_id: lines[0]?.invoice.id, currency_code: lines[0]?.currency },
      ...{ shipments: lines.length, billing_cost: money(costOf(lines)) },
    })),
  );
  await compareTable(
    path,
    'select * from tenant_shipments',
    counted
      .filter(({ invoice }) => invoice.level !== 'partner')
      .map((line) => ({
        ...{ invoice_id: line.invoice.id, row_number: line.row, zone: plainZone(line.zone) },
        ...{ ship_month: line.shipDate.slice(0, 7), invoice_month: line.invoiceDate.slice(0, 7) },
      })),
  );
  const cells = (line: PlainLine) => ({
    ...{
      invoice_id: line.invoice.id,
      row_number: line.row,
      tenant: line.tenant,
      tenant_id: line.invoice.tenantId,
    },
    ...{
      invoice_number: line.invoice.number,
      invoice_level: line.invoice.level,
      partner_id: partnerOf(line.invoice),
    },
    ...{
      invoice_generation_date: line.invoiceDate,
      ship_date: line.shipDate,
      origin: line.origin,
      currency_code: line.currency,
    },
    ...{ billing_cost: money(line.cost), billable_weight: line.weight === null ? null : money(line.weight) },
    ...{
      billable_weight_unit: line.unit,
      tracking_number: line.tracking,
      carrier: line.carrier,
      carrier_zone: line.zone,
    },
    ...{ carrier_invoice_date: line.carrierInvoiceDate, service_level: line.service },
  });
  for (const instant of instants)
    await compareTable(
      path,
      instant === null ? 'select * from shipments' : `select * from shipments_as_known_on('${instant}')`,
      world.countedAt(instant).flatMap(({ lines }) => lines.map(cells)),
    );
}

/** Compares the columns that are expected. */
async function compareTable(
  path: string,
  sql: string,
  expected: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const file = await openPublishedFile(path);
  const found = (await file.query(sql)).getRowObjectsJson();
  file.close();
  const names = Object.keys(expected[0] ?? {});
  const textOf = (row: Readonly<Record<string, unknown>>): string =>
    JSON.stringify(names.map((name) => String(row[name] ?? null)));
  const [wanted, had] = [expected.map(textOf).sort(), found.map(textOf).sort()];
  const at = wanted.findIndex((text, place) => text !== had[place]);
  if (wanted.length !== had.length || at >= 0)
    throw new Difference(
      `${sql}: ${wanted.length} rows expected, ${had.length} found\n  ${names.join()}\n  expected ${wanted[at]}\n  was      ${had[at]}`,
    );
}
