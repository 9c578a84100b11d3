/** The head is the metadata `billsync_about`. */

import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DECIMAL,
  type DuckDBAppender,
  DuckDBDateValue,
  DuckDBTimestampTZValue,
  type DuckDBType,
  TIMESTAMPTZ,
  VARCHAR,
} from '@duckdb/node-api';
import { openInstance } from '../../lib/duckdb-instance.ts';
import { dayNumber, decimalValue } from '../../lib/duckdb-values.ts';
import type { ReportCell, ReportColumn } from '../cells.ts';
import type { StreamedResult } from '../report-result.ts';
import { renderAbout } from './json.ts';

/**
 * DuckDB writes only to paths, so the file is made in a temporary folder; rows wait in a file there, not in
 * memory.
 */
export async function* renderParquet({ batches, ...result }: StreamedResult): AsyncGenerator<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-report-'));
  try {
    const path = join(folder, 'report.parquet');
    await writeParquet({ folder, path }, result, batches);
    yield* createReadStream(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeParquet(
  { folder, path }: { readonly folder: string; readonly path: string },
  result: Omit<StreamedResult, 'batches'>,
  batches: StreamedResult['batches'],
): Promise<void> {
  const instance = await openInstance(join(folder, 'rows.duckdb'), { memory_limit: '500MB' });
  const connection = await instance.connect();
  try {
    const columns = result.columns.map(
      (column) => `"${column.name.replaceAll('"', '""')}" ${duckType(column)}`,
    );
    await connection.run(`create table report (${columns.join(', ')})`);
    const appender = await connection.createAppender('report');
    for await (const rows of batches) {
      for (const row of rows) {
        for (const column of result.columns) appendCell(appender, row[column.name] ?? null, column);
        appender.endRow();
      }
    }
    appender.closeSync();
    const copy = await connection.prepare(
      'copy report to $path (format parquet, compression zstd, kv_metadata {billsync_about: $about})',
    );
    copy.bind({ path, about: renderAbout(result) });
    await copy.run();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
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
  else if (column.type === 'decimal') appender.appendDecimal(decimalValue(String(cell), 38, column.scale));
  else if (column.type === 'date') appender.appendDate(new DuckDBDateValue(dayNumber(String(cell))));
  else if (column.type === 'instant')
    appender.appendTimestampTZ(new DuckDBTimestampTZValue(microsOf(String(cell))));
  else appender.appendVarchar(String(cell));
}

function microsOf(instant: string): bigint {
  const fraction = /\.(\d+)Z$/.exec(instant)?.[1] ?? '';
  const seconds = Date.parse(instant.replace(/\.\d+Z$/, 'Z')) / 1000;
  return BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6) || '0');
}
