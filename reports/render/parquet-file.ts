/** Writes a result as Parquet with real types, decimals and dates as such, and its head as the metadata `billsync_about`. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DECIMAL,
  type DuckDBAppender,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBInstance,
  DuckDBTimestampTZValue,
  type DuckDBType,
  TIMESTAMPTZ,
  VARCHAR,
} from '@duckdb/node-api';
import type { ReportCell, ReportColumn, ReportResult } from '../report-result.ts';
import { renderAbout } from './about-text.ts';

/** The bytes of the Parquet file; it is made in a temporary folder, since DuckDB writes to paths only. */
export async function renderParquet(result: ReportResult): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-report-'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(tableSql(result.columns));
    const appender = await connection.createAppender('report');
    for (const row of result.rows) {
      for (const column of result.columns) appendCell(appender, row[column.name] ?? null, column);
      appender.endRow();
    }
    appender.closeSync();
    const path = join(folder, 'report.parquet');
    const copy = await connection.prepare(
      'copy report to $path (format parquet, compression zstd, kv_metadata {billsync_about: $about})',
    );
    copy.bind({ path, about: renderAbout(result) });
    await copy.run();
    return await readFile(path);
  } finally {
    connection.closeSync();
    instance.closeSync();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Column names come from our own SQL files; they are quoted all the same. */
function tableSql(columns: readonly ReportColumn[]): string {
  const list = columns.map((column) => `"${column.name.replaceAll('"', '""')}" ${duckType(column)}`);
  return `create table report (${list.join(', ')})`;
}

function duckType(column: ReportColumn): DuckDBType {
  switch (column.type) {
    case 'count':
      return BIGINT;
    case 'decimal':
      return DECIMAL(38, column.scale);
    case 'date':
      return DATE;
    case 'instant':
      return TIMESTAMPTZ;
    case 'flag':
      return BOOLEAN;
    case 'text':
      return VARCHAR;
  }
}

function appendCell(appender: DuckDBAppender, cell: ReportCell, column: ReportColumn): void {
  if (cell === null) appender.appendNull();
  else if (typeof cell === 'boolean') appender.appendBoolean(cell);
  else if (column.type === 'count') appender.appendBigInt(BigInt(cell));
  else if (column.type === 'decimal') appender.appendDecimal(decimalOf(String(cell), column.scale));
  else if (column.type === 'date') appender.appendDate(new DuckDBDateValue(daysOf(String(cell))));
  else if (column.type === 'instant')
    appender.appendTimestampTZ(new DuckDBTimestampTZValue(microsOf(String(cell))));
  else appender.appendVarchar(String(cell));
}

function decimalOf(text: string, scale: number): DuckDBDecimalValue {
  const [whole = '0', fraction = ''] = text.split('.');
  return new DuckDBDecimalValue(BigInt(`${whole}${fraction.padEnd(scale, '0')}`), 38, scale);
}

function daysOf(date: string): number {
  return Math.round(Date.parse(`${date}T00:00:00Z`) / 86_400_000);
}

function microsOf(instant: string): bigint {
  const fraction = /\.(\d+)Z$/.exec(instant)?.[1] ?? '';
  const seconds = Date.parse(instant.replace(/\.\d+Z$/, 'Z')) / 1000;
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6) || '0');
}
