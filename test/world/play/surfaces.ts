/** What else shows an answer: the rows behind its numbers, the formats, and the tables of the published file. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { visible } from '../../../lib/text.ts';
import { type ChartSpec, listReports } from '../../../reports/catalogue.ts';
import type { ReportRow } from '../../../reports/cells.ts';
import { drilldownOfCell } from '../../../reports/drilldown.ts';
import { openPublishedFile } from '../../../reports/open-published-file.ts';
import { pointsOf } from '../../../reports/render/chart-points.ts';
import { drawCharts } from '../../../reports/render/charts.ts';
import { renderReport } from '../../../reports/render/render-report.ts';
import type { ReportResult } from '../../../reports/report-result.ts';
import type { ReportSession } from '../../../reports/report-session.ts';
import { cellsOf as workbookCells } from '../../support/tools/read-workbook.ts';
import { runOnFile } from '../../warehouse/support.ts';
import type { Filters, Listing } from '../history.ts';
import { compareKeys, costOf, plainZone } from '../model/answer.ts';
import { dateOf, groups, money, parse as parse4, parsed, sum } from '../model/exact.ts';
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

/** Every format gives back every cell, sums are those of the rows, and the page of few rows is small. */
export async function readBack(result: ReportResult, what: string): Promise<void> {
  const bodyOf = async (format: Parameters<typeof renderReport>[1]): Promise<Uint8Array> =>
    Buffer.from((await renderReport(result, format)).body);
  const { columns, rows } = result;
  const cellsOf = (row: Readonly<Record<string, unknown>>): string =>
    JSON.stringify(columns.map(({ name }) => row[name] ?? null));
  const expectRows = (format: string, wanted: readonly unknown[], found: readonly unknown[]): void => {
    const at = Math.max(wanted.length, found.length);
    for (let place = 0; place < at; place += 1)
      if (JSON.stringify(wanted[place]) !== JSON.stringify(found[place]))
        throw new Difference(
          `${what}: row ${place + 1} of ${format} is ${JSON.stringify(found[place])}, expected ${JSON.stringify(wanted[place])}`,
        );
  };
  const own = rows.map(cellsOf);
  expectRows('JSON', own, (JSON.parse(String(await bodyOf('json'))) as ReportRow[]).map(cellsOf));
  const lines = String(await bodyOf('ndjson'))
    .split('\n')
    .slice(0, -1);
  expectRows(
    'NDJSON',
    own,
    lines.map((line) => cellsOf(JSON.parse(line) as ReportRow)),
  );
  const [names = [], ...exact] = parse(String(await bodyOf('csv-exact')), { bom: true }) as string[][];
  expectRows(
    'the exact CSV',
    rows.map((row) => names.map((name) => String(row[name] ?? ''))),
    exact,
  );
  const [, ...spreadsheet] = parse(String(await bodyOf('csv'))) as string[][];
  const shown = rows.map((row) => names.map((name) => visible(String(row[name] ?? ''))));
  const plain = spreadsheet.map((cells, row) =>
    cells.map((cell, at) => (cell === `'${shown[row]?.[at]}` ? cell.slice(1) : cell)),
  );
  expectRows('the CSV for spreadsheets', shown, plain);
  const formula = spreadsheet.flat().find((cell) => /^\s*[=@\t\r|%]|^\s*[+-](?![\d.])/.test(cell));
  if (formula !== undefined) throw new Difference(`${what}: a spreadsheet computes ${formula}`);

  const [, ...sheet] = workbookCells(await bodyOf('xlsx'));
  const summed = [...Map.groupBy(rows, (row) => JSON.stringify([row.partner_id, row.currency_code])).values()]
    .filter(
      (of) =>
        of.length > 1 && (result.summed ?? []).some((name) => columns.some((column) => column.name === name)),
    )
    .filter(() => names.includes('currency_code'))
    .map((of) =>
      columns.map(({ name, type }, at) => {
        if (at === 0) return `Sum in ${of[0]?.currency_code}`;
        if (name === 'currency_code' || name === 'partner_id') return String(of[0]?.[name] ?? '');
        const known = of.filter((row) => row[name] !== null && result.summed?.includes(name));
        if (known.length === 0) return '';
        const total = known.reduce((all, row) => all + parsed(String(row[name])), 0n);
        return type === 'count' ? String(total / 10_000n) : money(total);
      }),
    );
  const inSheet = (cells: readonly string[]): string[] =>
    columns.map(({ type }, at) => {
      const cell = cells[at] ?? '';
      if (type === 'date' && /^\d+$/.test(cell)) return dateOf(Number(cell) - 25_569);
      if (type === 'flag') return cell === '1' || cell === 'true' ? 'true' : cell === '' ? '' : 'false';
      // Of a number its value counts, not its zeros.
      return (type === 'decimal' || type === 'count') && /^-?[\d.]+$/.test(cell)
        ? String(parse4(cell))
        : cell;
    });
  const own_ = rows.map((row) => columns.map(({ name }) => String(row[name] ?? '')));
  expectRows('the workbook', [...own_, ...summed].map(inSheet), sheet.map(inSheet));

  const folder = mkdtempSync(join(tmpdir(), 'billsync-world-'));
  try {
    const path = join(folder, 'rows.parquet');
    writeFileSync(path, await bodyOf('parquet'));
    const read = await runOnFile(':memory:', "set TimeZone = 'UTC'", `from '${path}'`);
    const asText = (row: Readonly<Record<string, unknown>>): string[] =>
      columns.map(({ name, type }) => {
        const text = String(row[name] ?? '');
        return type === 'instant' && text !== '' ? String(Date.parse(text.replace(/\+00$/, 'Z'))) : text;
      });
    expectRows('the Parquet file', rows.map(asText), read.map(asText));
  } finally {
    rmSync(folder, { recursive: true });
  }

  const page = String(await bodyOf('html'));
  const { found } = result.head;
  if (rows.length < found && !page.includes(`The first ${rows.length} of ${found} rows`))
    throw new Difference(`${what}: the page does not say that ${rows.length} of ${found} rows are shown`);
  if (page.length > MAX_PAGE_BYTES) throw new Difference(`${what}: a page of ${page.length} characters`);
  if (/<script|javascript:|\son\w+=["']/i.test(page.replaceAll(/>[^<]*</g, '><')))
    throw new Difference(`${what}: a page with a script`);
  for (const spec of result.charts)
    for (const of of Map.groupBy(rows, ({ currency_code: currency }) => currency).values())
      comparePoints(spec, of, what);
}

/** A chart has each value at a place of its own, or the sum of all at a place. */
function comparePoints(spec: ChartSpec, rows: readonly ReportRow[], what: string): void {
  const points = pointsOf(spec, rows);
  const { combine, value = '', ...places } = spec.roles;
  const placeOf = (row: ReportRow): string =>
    JSON.stringify(Object.values(places).map((role) => role.split('+').map((name) => row[name] ?? null)));
  const wanted = new Set(rows.map(placeOf)).size;
  const total = (list: readonly unknown[]): bigint => sum(list.map((each) => parsed(String(each ?? '0'))));
  const isComplete =
    combine === undefined ||
    total(points.map((point) => point.value)) === total(rows.map((row) => row[value]));
  if ((combine === undefined && points.length !== wanted) || !isComplete)
    throw new Difference(
      `${what}: the chart ${JSON.stringify(spec)} has ${points.length} values of ${wanted}`,
    );
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
