/** All values come from one publication. */

import { statementIn } from '../../lib/sql-file.ts';
import type { ReportColumn, ReportRow } from '../../reports/cells.ts';
import { matchNotes } from '../../reports/match-filters.ts';
import type { Period } from '../../reports/period.ts';
import { createSharedViews, prepareSession } from '../../reports/prepare-session.ts';
import { openPublishedFile, type PublishedFile, withTimeLimit } from '../../reports/published-file.ts';
import { checkFilters, type DateBasis } from '../../reports/report-filters.ts';
import { readColumns, readRows } from '../../reports/report-result.ts';
import { StatementError, type StatementTenant } from './statement.ts';

export interface BilledRequest {
  readonly databasePath: string;
  /** By id or name; empty means all. */
  readonly tenants: readonly string[];
  readonly partners: readonly string[];
  readonly by?: DateBasis | undefined;
  readonly timeLimitMs: number;
}

export interface BilledSession {
  readonly publication: number;
  /** ISO 8601 UTC. */
  readonly publishedAt: string;
  readonly by: DateBasis;
  read(name: 'billed' | 'invoices' | 'not-counted', days: Period): Promise<readonly ReportRow[]>;
  tenants(): Promise<readonly ReportRow[]>;
  shipments(
    tenant: StatementTenant,
    days: Period,
    limit: number,
  ): Promise<{ readonly columns: readonly ReportColumn[]; readonly rows: readonly ReportRow[] }>;
  close(): void;
}

/** @throws ReportError; StatementError with the nearest names */
export async function openBilledSession(request: BilledRequest): Promise<BilledSession> {
  const { tenants, partners, by, timeLimitMs } = request;
  // A partner-level invoice sums the invoices of its tenants.
  const filters = checkFilters({ tenants, partners, by, level: 'tenant' });
  const file = await openPublishedFile(request.databasePath);
  const deadline = Date.now() + timeLimitMs;
  const within = <T>(work: () => Promise<T>): Promise<T> =>
    withTimeLimit({ file, name: 'of a statement', timeLimitMs, deadline }, work);
  try {
    const prepared = await within(async () => {
      const session = await prepareSession(file, filters);
      const unmatched = session.matches.filter(({ matched }) => matched.length === 0);
      if (unmatched.length > 0) throw new StatementError('no-such-tenant', [matchNotes(unmatched).join(' ')]);
      const lines = textOf('lines');
      await createSharedViews(file, lines);
      await file.query(lines);
      return session;
    });
    return {
      publication: prepared.publication,
      publishedAt: prepared.asOf,
      by: filters.by,
      read: async (name, days) => within(async () => (await rowsOf(file, name, { ...days })).rows),
      tenants: () => within(async () => (await rowsOf(file, 'tenants')).rows),
      shipments: ({ tenant, tenant_id, partner_id }, days, limit) =>
        within(() => rowsOf(file, 'shipments', { ...days, tenant, tenant_id, partner_id, limit })),
      close: () => file.close(),
    };
  } catch (error) {
    file.close();
    throw error;
  }
}

async function rowsOf(
  file: PublishedFile,
  name: string,
  values?: Readonly<Record<string, string | number | null>>,
): Promise<{ readonly columns: readonly ReportColumn[]; readonly rows: readonly ReportRow[] }> {
  const reader = await file.query(textOf(name), values);
  const columns = readColumns(reader, { units: {}, details: [] });
  return { columns, rows: readRows(reader, columns) };
}

function textOf(name: string): string {
  return statementIn(new URL('./statements.sql', import.meta.url), name);
}
