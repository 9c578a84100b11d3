import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { statementIn } from '../lib/sql-file.ts';
import type { ReportRow } from '../reports/cells.ts';
import { openPublishedFile, withTimeLimit } from '../reports/published-file.ts';
import { readColumns, readRows } from '../reports/report-result.ts';

const STATEMENTS = new URL('./statements.sql', import.meta.url);

/** Decimals are exact text, instants ISO 8601 UTC. */
export type RunStatement = (
  name: string,
  values?: Readonly<Record<string, DuckDBValue>>,
) => Promise<readonly ReportRow[]>;

/** @throws ReportError there is no published file, or `work` takes longer than the limit */
export async function queryPublished<T>(
  { path, timeLimitMs }: { readonly path: string; readonly timeLimitMs: number },
  work: (run: RunStatement) => Promise<T>,
): Promise<T> {
  const file = await openPublishedFile(path);
  const run: RunStatement = async (name, values) => {
    const reader = await file.query(statementIn(STATEMENTS, name), values);
    return readRows(reader, readColumns(reader));
  };
  try {
    const limit = { file, name: 'of the page', timeLimitMs, deadline: Date.now() + timeLimitMs };
    return await withTimeLimit(limit, () => work(run));
  } finally {
    file.close();
  }
}

/**
 * Whole rows of the found invoices, in their order. A missing tenant name is that under which the tenant is
 * billed, or the partner's id.
 */
export async function rowsOfInvoices(
  run: RunStatement,
  found: readonly ReportRow[],
): Promise<readonly ReportRow[]> {
  if (found.length === 0) return [];
  const rows = await run('invoices', { ids: listValue(found.map((row) => String(row.invoice_id))) });
  const unnamed = rows.flatMap(({ tenant, tenant_id: id }) =>
    tenant === null && typeof id === 'string' ? id : [],
  );
  const tenants =
    unnamed.length === 0 ? [] : await run('tenant-names', { tenants: listValue([...new Set(unnamed)]) });
  const names = new Map(tenants.map((row) => [keyOf(row), row.tenant]));
  return rows.map((row) => ({
    ...row,
    tenant: row.tenant ?? names.get(keyOf(row)) ?? row.partner_tenant_id ?? null,
  }));
}

function keyOf({ partner_id: partner, tenant_id: tenant }: ReportRow): string {
  return JSON.stringify([partner, tenant]);
}
