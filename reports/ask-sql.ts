/** One statement of a person's own, asked of the published file in the session that reports have: read-only, with their macros. */

import { type DuckDBResultReader, DuckDBTypeId } from '@duckdb/node-api';
import { jsonValue } from '../lib/duckdb-values.ts';
import { asDamage } from '../lib/files/published-file.ts';
import { SqlRefusedError } from './errors.ts';
import { interruptible } from './interruptible.ts';
import { openPublishedFile } from './published-file.ts';
import { runReading } from './read-statement.ts';

export interface SqlRequest {
  /** `reports.duckdb`. */
  readonly databasePath: string;
  readonly sql: string;
  readonly timeLimitMs: number;
}

export interface SqlAnswer {
  readonly columns: readonly { readonly name: string; readonly isNumber: boolean }[];
  /** Decimals are exact text, whole numbers numbers (text beyond 2^53), instants ISO 8601 UTC; the rest as JSON has it. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/**
 * @throws NotPublishedError: there is no published file yet
 * @throws SqlRefusedError: it does not only read, or DuckDB does not take it, in its words
 * @throws ReportInterruptedError: the time limit ran out
 */
export async function askSql({ databasePath, sql, timeLimitMs }: SqlRequest): Promise<SqlAnswer> {
  const file = await openPublishedFile(databasePath);
  try {
    const limit = { file, name: 'of this statement', timeLimitMs, deadline: Date.now() + timeLimitMs };
    // A person asks the views; whoever wants what lies behind them names its schema.
    await file.connection.run("set search_path = 'main'");
    return await interruptible(limit, async () => {
      try {
        return answerOf(await runReading(file.connection, sql));
      } catch (error) {
        if (error instanceof SqlRefusedError) throw error;
        if (/^(INTERRUPT|IO) Error/.test(error instanceof Error ? error.message : ''))
          throw asDamage(error, databasePath);
        throw new SqlRefusedError(error);
      }
    });
  } finally {
    file.close();
  }
}

const WHOLE_NUMBERS: readonly DuckDBTypeId[] = [
  ...[DuckDBTypeId.TINYINT, DuckDBTypeId.SMALLINT, DuckDBTypeId.INTEGER, DuckDBTypeId.BIGINT],
  ...[DuckDBTypeId.UTINYINT, DuckDBTypeId.USMALLINT, DuckDBTypeId.UINTEGER, DuckDBTypeId.UBIGINT],
  DuckDBTypeId.HUGEINT,
];
const FRACTIONS: readonly DuckDBTypeId[] = [DuckDBTypeId.DECIMAL, DuckDBTypeId.DOUBLE, DuckDBTypeId.FLOAT];

function answerOf(reader: DuckDBResultReader): SqlAnswer {
  const types = reader.columnTypes().map(({ typeId }) => typeId);
  const names = reader.deduplicatedColumnNames();
  return {
    columns: names.map((name, index) => ({ name, isNumber: isNumber(types[index]) })),
    rows: reader
      .convertRows(jsonValue)
      .map((cells) =>
        Object.fromEntries(names.map((name, index) => [name, jsonOf(cells[index], types[index])])),
      ),
  };
}

function isNumber(type: DuckDBTypeId | undefined): boolean {
  return type !== undefined && (WHOLE_NUMBERS.includes(type) || FRACTIONS.includes(type));
}

function jsonOf(value: unknown, type: DuckDBTypeId | undefined): unknown {
  if (typeof value !== 'string' || type === undefined) return value ?? null;
  if (WHOLE_NUMBERS.includes(type)) return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  return value;
}
