/** What csv-parse is asked to do with a file, as values that can be sent to a thread. */

import { findBrokenRows } from './find-broken-rows.js';
import { RowTotals } from './row-totals.js';
import type { Row } from './statements.js';

/** @property invoiceId null: nobody knows whose rows they are, and any UUID will do */
export interface Reading {
  readonly csvPath: string;
  readonly invoiceId: string | null;
  /** The scan has told of records with too few or too many fields: only the cells of the others are looked at. */
  readonly skipsRagged: boolean;
}

export interface Read {
  readonly broken: Awaited<ReturnType<typeof findBrokenRows>>;
  /** Of the rows that break no rule, as `load-totals.sql` says it of rows that are loaded. */
  readonly totals: readonly Row[];
}

export async function readNow({ csvPath, invoiceId, skipsRagged }: Reading): Promise<Read> {
  const totals = new RowTotals();
  const broken = await findBrokenRows(csvPath, invoiceId, {
    skipsRagged,
    onGoodRow: (row) => totals.add(row),
  });
  return { broken, totals: totals.rows() };
}
