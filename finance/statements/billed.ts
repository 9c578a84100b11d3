/** All values come from one publication. */

import { statementIn } from '../../lib/sql-file.ts';
import { matchNotes } from '../../reports/match-filters.ts';
import type { Period } from '../../reports/period.ts';
import { createSharedViews, prepareSession } from '../../reports/prepare-session.ts';
import { openPublishedFile, type PublishedFile, withTimeLimit } from '../../reports/published-file.ts';
import { checkFilters, type DateBasis } from '../../reports/report-filters.ts';
import { readColumns, readRows } from '../../reports/report-result.ts';
import { type ShipmentLines, StatementError, type StatementTenant } from './statement.ts';

export interface BilledRequest {
  readonly databasePath: string;
  /** By id or name; empty means all. */
  readonly tenants: readonly string[];
  readonly partners: readonly string[];
  readonly by?: DateBasis | undefined;
  readonly timeLimitMs: number;
}

export type BilledSession = Awaited<ReturnType<typeof openBilledSession>>;

/** @throws ReportError; StatementError with the nearest names */
export async function openBilledSession(request: BilledRequest) {
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
      /** ISO 8601 UTC. */
      publishedAt: prepared.asOf,
      by: filters.by,
      read: (name: 'billed' | 'invoices' | 'not-counted', days: Period) =>
        within(async () => (await rowsOf(file, name, { ...days })).rows),
      tenants: () => within(async () => (await rowsOf(file, 'tenants')).rows),
      shipments: ({ tenant, tenant_id, partner_id }: StatementTenant, days: Period, limit: number) =>
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
): Promise<ShipmentLines> {
  const reader = await file.query(textOf(name), values);
  const columns = readColumns(reader);
  return { columns, rows: readRows(reader, columns) };
}

function textOf(name: string): string {
  return statementIn(new URL('./statements.sql', import.meta.url), name);
}
