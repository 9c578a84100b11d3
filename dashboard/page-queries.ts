import { listValue } from '@duckdb/node-api';
import { markOfShortName } from '../lib/text.ts';
import type { ReportRow } from '../reports/cells.ts';
import { type RunStatement, statementsOn } from '../reports/invoices/invoice-questions.ts';
import { openPublishedFile, withTimeLimit } from '../reports/open-published-file.ts';

export type { RunStatement } from '../reports/invoices/invoice-questions.ts';

const STATEMENTS = new URL('./page-queries.sql', import.meta.url);

/** @throws ReportError there is no published file, or `work` takes longer than the limit */
export async function queryPublished<T>(
  { path, timeLimitMs }: { readonly path: string; readonly timeLimitMs: number },
  work: (run: RunStatement) => Promise<T>,
): Promise<T> {
  const file = await openPublishedFile(path);
  const run = statementsOn(file, STATEMENTS);
  try {
    const limit = { file, name: 'of the page', timeLimitMs, deadline: Date.now() + timeLimitMs };
    return await withTimeLimit(limit, () => work(run));
  } finally {
    file.close();
  }
}

/**
 * A filter that is null matches every invoice. The order `loaded` lists invoices with discrepancies only, the last loaded first.
 */
export interface InvoicesRequest {
  readonly sort: string;
  readonly limit: number;
  readonly offset?: number;
  readonly states?: readonly string[];
  readonly tenants?: readonly string[];
  readonly search?: string | null;
  /** The month of the invoice date, as `YYYY-MM`. */
  readonly month?: string | null;
}

/** @param request.sort after `-` reversed */
export function runInvoices(
  run: RunStatement,
  { sort, limit, offset = 0, states = [], tenants = [], search = null, month = null }: InvoicesRequest,
): Promise<readonly ReportRow[]> {
  const list = (values: readonly string[]) => (values.length > 0 ? listValue([...values]) : null);
  return run('invoices', {
    ...{ sort: sort.replace('-', ''), is_reversed: sort.startsWith('-') },
    ...{ limit, offset, search, month },
    states: list(states),
    tenants: list(tenants.map((tenant) => markOfShortName(tenant) ?? tenant)),
  });
}
