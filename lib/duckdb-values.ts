/**
 * How values of DuckDB become JSON. Everything that reads instants out of DuckDB takes them from here, since the binding
 * writes them with the offset of the process's time zone; the session's `TimeZone` changes nothing about that.
 */

import {
  type DuckDBConnection,
  type DuckDBTimestampTZValue,
  type DuckDBTimestampValue,
  DuckDBTypeId,
  type DuckDBValueConverter,
  type Json,
  JsonDuckDBValueConverter,
} from '@duckdb/node-api';

/** Like the binding's own JSON, with instants as `instantText`. */
export const jsonValue: DuckDBValueConverter<Json> = (value, type, converter) =>
  type.typeId === DuckDBTypeId.TIMESTAMP_TZ && value !== null
    ? instantText(value as DuckDBTimestampTZValue)
    : JsonDuckDBValueConverter(value, type, converter);

/** ISO 8601 UTC with three digits of a second, six where the instant has microseconds; `infinity` stays a word. */
export function instantText(instant: DuckDBTimestampTZValue | DuckDBTimestampValue): string {
  const { micros } = instant;
  if (!instant.isFinite) return micros > 0n ? 'infinity' : '-infinity';
  const beyondMillis = ((micros % 1_000n) + 1_000n) % 1_000n;
  const text = new Date(Number((micros - beyondMillis) / 1_000n)).toISOString();
  return beyondMillis === 0n ? text : text.replace('Z', `${String(beyondMillis).padStart(3, '0')}Z`);
}

/**
 * DuckDB's destructor would roll back what is open in an attached database, and an error there (PostgreSQL was restarted)
 * ends the process. The error of a statement can be caught.
 */
export async function rollBackAndClose(connection: DuckDBConnection): Promise<void> {
  // Outside a transaction it is refused, which is as good.
  await connection.run('rollback').catch(() => undefined);
  connection.closeSync();
}
