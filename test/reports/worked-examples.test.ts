import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type ExampleTable, listReports, type WorkedExample } from '../../reports/catalogue.ts';
import { testFolder } from '../support/folders.ts';
import {
  anInvoice,
  aShipment,
  cells,
  type FixtureInvoice,
  type FixtureShipment,
  runReportOn,
} from '../support/reports-fixture.ts';

/** Columns as analysts know them, and what the fixture calls them. */
const LINE_FIELDS: Readonly<Record<string, keyof FixtureShipment>> = {
  tenant: 'tenant',
  invoice_generation_date: 'invoiceDate',
  ship_date: 'shipDate',
  origin: 'origin',
  currency_code: 'currency',
  billing_cost: 'cost',
  billable_weight: 'weight',
  billable_weight_unit: 'unit',
  tracking_number: 'tracking',
  carrier: 'carrier',
  carrier_zone: 'zone',
  carrier_invoice_date: 'carrierInvoiceDate',
  service_level: 'service',
};

const INVOICE_FIELDS: Readonly<Record<string, keyof FixtureInvoice>> = {
  invoice_number: 'number',
  tenant: 'tenant',
  invoice_level: 'level',
  state: 'state',
  proof: 'proof',
  invoice_start_date: 'start',
  invoice_end_date: 'end',
  invoice_date: 'date',
  invoice_due_date: 'due',
  currency_code: 'currency',
  stated_total: 'statedTotal',
  stated_shipments: 'statedShipments',
  loaded_at: 'loadedAt',
  voided_at: 'voidedAt',
  created_at: 'createdAt',
  reason: 'reason',
};

const reports = listReports();

const folder = testFolder();

test.each(reports.map((report) => report.name))('computes the worked example of %s', async (name) => {
  const example = reports.find((report) => report.name === name)?.example;
  if (!example) throw new Error(`The header of ${name} has no worked example.`);
  const result = await runReportOn(name, invoicesOf(example), {
    parameters: example.parameters,
    tables: await filesOf(name, example),
    ...(example.publishedAt === null ? {} : { publishedAt: example.publishedAt }),
  });
  const found = cells(result, ...example.rows.columns).map((row) =>
    row.map((cell) => (cell === null ? '' : String(cell))),
  );
  expect(found).toEqual(example.rows.rows);
});

/** One invoice holds all lines unless they name several. */
function invoicesOf(example: WorkedExample): FixtureInvoice[] {
  const numberAt = example.lines.columns.indexOf('invoice_number');
  const linesOf = (number: string | null): FixtureShipment[] =>
    example.lines.rows
      .filter((row) => number === null || row[numberAt] === number)
      .map((row) => aShipment(fieldsOf(LINE_FIELDS, example.lines.columns, row)));
  const stated = (example.invoices?.rows ?? []).map((row) =>
    fieldsOf(INVOICE_FIELDS, example.invoices?.columns ?? [], row),
  );
  if (numberAt < 0 && stated.length <= 1) return [anInvoice(linesOf(null), stated[0])];
  const named = stated.map(({ number }) => number);
  const unnamed = [...new Set(example.lines.rows.map((row) => row[numberAt] ?? ''))].filter(
    (number) => !named.includes(number),
  );
  return [...stated, ...unnamed.map((number) => ({ number }))].map((invoice) =>
    anInvoice(linesOf(String(invoice.number)), { ...invoice, ...datesOf(invoice) }),
  );
}

/** A voided invoice has the instant of its void, whether or not the example states one. */
function datesOf(invoice: Partial<FixtureInvoice>): Partial<FixtureInvoice> {
  if (invoice.state !== 'voided') return {};
  return { voidedAt: invoice.voidedAt ?? '2026-03-20T00:00:00Z' };
}

function fieldsOf<T>(
  fields: Readonly<Record<string, keyof T>>,
  columns: readonly string[],
  row: readonly string[],
): Partial<T> {
  const found: [keyof T, unknown][] = [];
  for (const [index, column] of columns.entries()) {
    const field = fields[column];
    if (field === undefined) {
      if (column === 'invoice_number') continue;
      throw new Error(`An example cannot state ${column}.`);
    }
    const text = row[index] ?? '';
    const value = column === 'stated_shipments' ? Number(text) : text;
    found.push([field, text === '' ? null : value]);
  }
  return Object.fromEntries(found) as Partial<T>;
}

async function filesOf(name: string, example: WorkedExample): Promise<Record<string, string>> {
  const written: Record<string, string> = {};
  for (const [table, content] of Object.entries(example.files)) {
    const path = join(folder, `${name}-${table}.csv`);
    await writeFile(path, csvOf(content));
    written[table] = path;
  }
  return written;
}

function csvOf({ columns, rows }: ExampleTable): string {
  return [columns, ...rows].map((row) => `${row.join(',')}\n`).join('');
}
