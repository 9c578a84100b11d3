/**
 * Brings the tables a person may add, each a CSV file, into the session of a report.
 *
 * A file is named for one report (`--rates FILE`), or lies as `report-files/rates.csv` beside the published file; then
 * every report that joins it has it, wherever it is asked: at a terminal, on a page, by a schedule.
 */

import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBDateValue, DuckDBDecimalValue } from '@duckdb/node-api';
import { parse } from 'csv-parse';
import { messageOf, systemErrorIn } from '../config/system-error.js';
import { EXTRA_TABLES, type ExtraTable, type ReportDefinition } from './catalogue.js';
import { ReportFilterError } from './errors.js';
import type { PublishedFile } from './published-file.js';
import { checkDate } from './report-filters.js';

/** Paths of CSV files by the table they fill; see `COLUMNS` for their headers. */
export type OptionalTables = Readonly<Partial<Record<ExtraTable, string | undefined>>>;

/** Beside the published file. */
export const REPORT_FILES = 'report-files';

interface TableColumn {
  readonly name: string;
  /** `month` is `2026-03`; a `decimal` has at most four digits after the point, a `rate` eight. */
  readonly kind: 'text' | 'decimal' | 'rate' | 'date' | 'month';
  /** An empty cell is null and fits all. */
  readonly may?: 'be empty' | 'be missing';
}

const COLUMNS: Readonly<Record<ExtraTable, readonly TableColumn[]>> = {
  rates: [
    { name: 'carrier', kind: 'text', may: 'be empty' },
    { name: 'service_level', kind: 'text', may: 'be empty' },
    { name: 'zone', kind: 'text', may: 'be empty' },
    { name: 'from_lb', kind: 'decimal', may: 'be empty' },
    { name: 'to_lb', kind: 'decimal', may: 'be empty' },
    { name: 'currency_code', kind: 'text' },
    { name: 'rate', kind: 'decimal' },
    { name: 'valid_from', kind: 'date', may: 'be missing' },
    { name: 'valid_to', kind: 'date', may: 'be missing' },
  ],
  costs: [
    { name: 'carrier', kind: 'text' },
    { name: 'tracking_number', kind: 'text' },
    { name: 'currency_code', kind: 'text' },
    { name: 'cost', kind: 'decimal' },
  ],
  accepted: [
    { name: 'invoice_number', kind: 'text', may: 'be empty' },
    { name: 'rule', kind: 'text' },
    { name: 'reason', kind: 'text' },
  ],
  payments: [
    { name: 'invoice_number', kind: 'text' },
    { name: 'currency_code', kind: 'text' },
    { name: 'amount', kind: 'decimal' },
    { name: 'paid_on', kind: 'date', may: 'be missing' },
  ],
  statements: [
    { name: 'carrier', kind: 'text' },
    { name: 'carrier_invoice_date', kind: 'date' },
    { name: 'currency_code', kind: 'text' },
    { name: 'amount', kind: 'decimal' },
  ],
  disputes: [
    { name: 'carrier', kind: 'text' },
    { name: 'tracking_number', kind: 'text' },
    { name: 'currency_code', kind: 'text' },
    { name: 'amount', kind: 'decimal' },
  ],
  budget: [
    { name: 'month', kind: 'month' },
    { name: 'tenant', kind: 'text', may: 'be empty' },
    { name: 'carrier', kind: 'text', may: 'be empty' },
    { name: 'currency_code', kind: 'text' },
    { name: 'amount', kind: 'decimal' },
  ],
  fx: [
    { name: 'month', kind: 'month', may: 'be empty' },
    { name: 'from_currency', kind: 'text' },
    { name: 'to_currency', kind: 'text' },
    { name: 'rate', kind: 'rate' },
  ],
};

/**
 * Makes the temporary tables that `report` joins; a table that is not given is empty, so that the report still runs.
 *
 * @throws ReportFilterError naming file, line and column of what cannot be read
 */
export async function provideTables(
  file: PublishedFile,
  report: ReportDefinition,
  tables: OptionalTables,
): Promise<void> {
  const unused = EXTRA_TABLES.find((name) => tables[name] !== undefined && !report.sources.includes(name));
  if (unused !== undefined) {
    const joined = report.sources.length === 0 ? 'no file' : report.sources.join(', ');
    throw new ReportFilterError(
      unused,
      `The report ${report.name} does not read --${unused}; it joins ${joined}.`,
    );
  }
  for (const name of report.sources) {
    await file.apply(name);
    const path = tables[name] ?? (await lyingBeside(file.path, name));
    if (path !== undefined) await appendCsv(file, name, path);
  }
}

async function lyingBeside(published: string, name: ExtraTable): Promise<string | undefined> {
  const path = join(dirname(published), REPORT_FILES, `${name}.csv`);
  return access(path).then(
    () => path,
    () => undefined,
  );
}

async function appendCsv(file: PublishedFile, table: ExtraTable, path: string): Promise<void> {
  const columns = COLUMNS[table];
  const appender = await file.connection.createAppender(table, 'main', 'temp');
  const parser = parse({ bom: true, columns: (header: string[]) => checkHeader(table, header), info: true });
  // pipe() carries bytes but no errors: a file that cannot be opened has to end the parser as well.
  const source = createReadStream(path).on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  try {
    for await (const parsed of parser) {
      const { record, info } = parsed as { record: Record<string, string>; info: { lines: number } };
      for (const column of columns) {
        const text = (record[column.name] ?? '').trim();
        const place = `${path} line ${info.lines}: ${column.name}`;
        if (text === '' && column.may !== undefined) appender.appendNull();
        else if (text === '') throw new ReportFilterError(table, `${place} is empty.`);
        else if (column.kind === 'text') appender.appendVarchar(record[column.name] ?? '');
        else if (column.kind === 'date') appender.appendDate(dateOf(table, place, text));
        else if (column.kind === 'month') appender.appendVarchar(monthOf(table, place, text));
        else appender.appendDecimal(decimalOf(table, place, text, column.kind === 'rate' ? 8 : 4));
      }
      appender.endRow();
    }
  } catch (error) {
    if (error instanceof ReportFilterError) throw error;
    throw new ReportFilterError(
      table,
      `${path} cannot be read as ${table}: ${systemErrorIn(error)?.words ?? messageOf(error)}`,
    );
  }
  appender.closeSync();
}

function checkHeader(table: ExtraTable, header: readonly string[]): string[] {
  const names = header.map((name) => name.trim().toLowerCase());
  const missing = COLUMNS[table]
    .filter((column) => column.may !== 'be missing' && !names.includes(column.name))
    .map((column) => column.name);
  if (missing.length === 0) return names;
  throw new ReportFilterError(table, `The header lacks ${missing.join(', ')}.`);
}

/** Checked here, because the appender wraps a number that does not fit without a word (hazard 8). */
function decimalOf(table: ExtraTable, place: string, text: string, digits: number): DuckDBDecimalValue {
  const match = new RegExp(`^(-?)(\\d{1,${18 - digits}})(?:\\.(\\d{1,${digits}}))?$`).exec(text);
  if (!match)
    throw new ReportFilterError(
      table,
      `${place} is "${text}", which is no number with at most ${digits === 4 ? 'four' : 'eight'} decimals.`,
    );
  const whole = BigInt(`${match[1]}${match[2]}${(match[3] ?? '').padEnd(digits, '0')}`);
  return new DuckDBDecimalValue(whole, 18, digits);
}

function monthOf(table: ExtraTable, place: string, text: string): string {
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return text;
  throw new ReportFilterError(table, `${place} is "${text}", which is no month as YYYY-MM.`);
}

function dateOf(table: ExtraTable, place: string, text: string): DuckDBDateValue {
  try {
    return new DuckDBDateValue(Date.parse(`${checkDate(table, text)}T00:00:00Z`) / 86_400_000);
  } catch {
    throw new ReportFilterError(table, `${place} is "${text}", which is no day as YYYY-MM-DD.`);
  }
}
