/** Asks the published file the small questions that pages have and no report answers. */

import type { DuckDBValue } from '@duckdb/node-api';
import type { ReportRow } from '../reports/cells.ts';
import { openPublishedFile, withTimeLimit } from '../reports/published-file.ts';
import { readColumns, readRows } from '../reports/report-result.ts';
import { statementText } from '../reports/statement-text.ts';

export type Question =
  | 'attention'
  | 'choices'
  | 'contradicted'
  | 'events'
  | 'found'
  | 'invoice'
  | 'invoice-by-number'
  | 'invoice-discrepancies'
  | 'invoice-life'
  | 'invoice-lines'
  | 'invoices'
  | 'invoices-found'
  | 'invoices-found-by-file'
  | 'publication'
  | 'states'
  | 'tenant-names'
  | 'tracked'
  | 'tracked-part';

/** Asks one question; values are bound by name. Decimals are exact text, instants ISO 8601 UTC. */
export type Ask = (
  question: Question,
  values?: Readonly<Record<string, DuckDBValue>>,
) => Promise<readonly ReportRow[]>;

/**
 * Opens the file, lets `work` ask, and closes it again.
 *
 * @throws ReportError there is no published file, or all of it takes longer than the limit
 */
export async function queryPublished<T>(
  published: { readonly path: string; readonly timeLimitMs: number },
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  const { path, timeLimitMs } = published;
  const file = await openPublishedFile(path);
  const ask: Ask = async (question, values) => {
    const sql = await statementText(new URL(`./sql/${question}.sql`, import.meta.url));
    const reader = await file.query(sql, values);
    return readRows(reader, readColumns(reader, { units: {}, details: [] }));
  };
  try {
    const limit = { file, name: 'of the page', timeLimitMs, deadline: Date.now() + timeLimitMs };
    return await withTimeLimit(limit, () => work(ask));
  } finally {
    file.close();
  }
}
