/** The binding writes instants with the offset of the process's time zone, whatever the session's `TimeZone` is. */

import {
  type DuckDBConnection,
  DuckDBDecimalValue,
  type DuckDBTimestampTZValue,
  type DuckDBTimestampValue,
  DuckDBTypeId,
  type DuckDBValueConverter,
  type Json,
  JsonDuckDBValueConverter,
} from '@duckdb/node-api';

export const jsonValue: DuckDBValueConverter<Json> = (value, type, converter) =>
  type.typeId === DuckDBTypeId.TIMESTAMP_TZ && value !== null
    ? instantText(value as DuckDBTimestampTZValue)
    : JsonDuckDBValueConverter(value, type, converter);

/** Returns ISO 8601 UTC with three digits of a second, or six where the instant has microseconds; or `infinity`. */
export function instantText(instant: DuckDBTimestampTZValue | DuckDBTimestampValue): string {
  const { micros } = instant;
  if (!instant.isFinite) return micros > 0n ? 'infinity' : '-infinity';
  const beyondMillis = ((micros % 1_000n) + 1_000n) % 1_000n;
  const text = new Date(Number((micros - beyondMillis) / 1_000n)).toISOString();
  return beyondMillis === 0n ? text : text.replace('Z', `${String(beyondMillis).padStart(3, '0')}Z`);
}

export function decimalValue(text: string, width: number, scale: number): DuckDBDecimalValue {
  const [whole = '0', fraction = ''] = text.split('.');
  return new DuckDBDecimalValue(BigInt(`${whole}${fraction.padEnd(scale, '0')}`), width, scale);
}

export function dayNumber(day: string): number {
  // The last week of 9999 ends in a year of five digits.
  const [year = '', ...rest] = day.split('-');
  return Date.parse(`+${[year.padStart(6, '0'), ...rest].join('-')}T00:00:00Z`) / 86_400_000;
}

/** DuckDB's destructor would roll back, and an error there (PostgreSQL was restarted) ends the process. */
export async function rollBackAndClose(connection: DuckDBConnection): Promise<void> {
  await connection.run('rollback').catch(() => undefined);
  connection.closeSync();
}
