/** The number of the last migration that this program knows, for those who compare it with what a warehouse has. */

import { migrations } from './duckdb/sql.ts';

/** A warehouse that this program opens has it afterwards; one with a higher number is refused. */
export function schemaNumber(): number {
  return migrations().at(-1)?.number ?? 0;
}
