/** Brings the two tables an analyst may add, expected rates and own costs, from CSV into the session of a report. */

import { createReadStream } from 'node:fs';
import { DuckDBDecimalValue } from '@duckdb/node-api';
import { parse } from 'csv-parse';
import { messageOf, systemErrorIn } from '../config/system-error.js';
import type { ReportDefinition } from './catalogue.js';
import { ReportFilterError } from './errors.js';
import type { PublishedFile } from './published-file.js';

export interface OptionalTables {
  /** CSV with the header `carrier,service_level,zone,from_lb,to_lb,currency_code,rate`. */
  readonly rates?: string | undefined;
  /** CSV with the header `carrier,tracking_number,currency_code,cost`. */
  readonly costs?: string | undefined;
}

type TableName = 'rates' | 'costs';

interface TableColumn {
  readonly name: string;
  readonly kind: 'text' | 'decimal';
  /** Whether an empty cell is null ("matches all") or an error. */
  readonly optional: boolean;
}

const COLUMNS: Readonly<Record<TableName, readonly TableColumn[]>> = {
  rates: [
    { name: 'carrier', kind: 'text', optional: true },
    { name: 'service_level', kind: 'text', optional: true },
    { name: 'zone', kind: 'text', optional: true },
    { name: 'from_lb', kind: 'decimal', optional: false },
    { name: 'to_lb', kind: 'decimal', optional: false },
    { name: 'currency_code', kind: 'text', optional: false },
    { name: 'rate', kind: 'decimal', optional: false },
  ],
  costs: [
    { name: 'carrier', kind: 'text', optional: false },
    { name: 'tracking_number', kind: 'text', optional: false },
    { name: 'currency_code', kind: 'text', optional: false },
    { name: 'cost', kind: 'decimal', optional: false },
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
  for (const name of report.sources) {
    await file.apply(name);
    const path = tables[name];
    if (path !== undefined) await appendCsv(file, name, path);
  }
}

async function appendCsv(file: PublishedFile, table: TableName, path: string): Promise<void> {
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
        const text = record[column.name] ?? '';
        if (text === '' && column.optional) appender.appendNull();
        else if (text === '')
          throw new ReportFilterError(table, `${path} line ${info.lines}: ${column.name} is empty.`);
        else if (column.kind === 'text') appender.appendVarchar(text);
        else appender.appendDecimal(decimalOf(table, `${path} line ${info.lines}: ${column.name}`, text));
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

function checkHeader(table: TableName, header: readonly string[]): string[] {
  const names = header.map((name) => name.trim().toLowerCase());
  const missing = COLUMNS[table]
    .filter((column) => !names.includes(column.name))
    .map((column) => column.name);
  if (missing.length === 0) return names;
  throw new ReportFilterError(table, `The header lacks ${missing.join(', ')}.`);
}

/** Checked here, because the appender wraps a number that does not fit without a word (hazard 8). */
function decimalOf(table: TableName, place: string, text: string): DuckDBDecimalValue {
  const match = /^(-?)(\d{1,14})(?:\.(\d{1,4}))?$/.exec(text.trim());
  if (!match)
    throw new ReportFilterError(
      table,
      `${place} is "${text}", which is no number with at most four decimals.`,
    );
  return new DuckDBDecimalValue(BigInt(`${match[1]}${match[2]}${(match[3] ?? '').padEnd(4, '0')}`), 18, 4);
}
