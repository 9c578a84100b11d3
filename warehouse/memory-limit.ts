/** How much memory DuckDB may use, as a number: it decides whether a file is staged or read in one pass. */

import type { Database } from './database.js';

const UNITS: Readonly<Record<string, number>> = {
  bytes: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

export async function memoryLimitBytes(database: Database): Promise<number> {
  const { memory_limit: text } = await database.use((session) => session.first('memory-limit'));
  const match = /^([0-9.]+)\s*([A-Za-z]+)$/.exec(String(text));
  const unit = UNITS[match?.[2] ?? ''];
  // A limit written in a way that we do not know is treated as tight: one pass always works.
  return match === null || unit === undefined ? 0 : Number(match[1]) * unit;
}
