/** All values come from one publication. */

import { statementIn } from '../../lib/sql-file.ts';
import { matchNotes } from '../../reports/match-filters.ts';
import { openPublishedFile, withTimeLimit } from '../../reports/open-published-file.ts';
import type { Period } from '../../reports/period.ts';
import { createSharedViews, prepareSession } from '../../reports/prepare-session.ts';
import { checkFilters, type DateBasis } from '../../reports/report-filters.ts';
import { readStatement } from '../../reports/report-result.ts';
import { type ShipmentLines, StatementError, type StatementTenant } from './statement.ts';

const STATEMENTS = new URL('./billed.sql', import.meta.url);

export interface BilledRequest {
  readonly databasePath: string;
  /** The tenants by id or name; an empty list means all tenants. */
  readonly tenants: readonly string[];
  readonly partners: readonly string[];
  readonly by?: DateBasis | undefined;
  /** Chosen as reports do when it is left out: a partner without tenants has invoices of its own only. */
  readonly level?: 'tenant' | undefined;
  readonly timeLimitMs: number;
}

export type BilledSession = Awaited<ReturnType<typeof openBilledSession>>;

/** @throws ReportError; StatementError with the nearest names */
export async function openBilledSession(request: BilledRequest) {
  const { tenants, partners, by, level, timeLimitMs } = request;
  const filters = checkFilters({ tenants, partners, by, level });
  const file = await openPublishedFile(request.databasePath);
  const deadline = Date.now() + timeLimitMs;
  const within = <T>(work: () => Promise<T>): Promise<T> =>
    withTimeLimit({ file, name: 'of a statement', timeLimitMs, deadline }, work);
  const rowsOf = (
    name: string,
    values?: Readonly<Record<string, string | number | null>>,
  ): Promise<ShipmentLines> => within(() => readStatement(file, { statements: STATEMENTS, name, values }));
  try {
    const prepared = await within(async () => {
      const session = await prepareSession(file, filters);
      const unmatched = session.matches.filter(({ matched }) => matched.length === 0);
      if (unmatched.length > 0) throw new StatementError('no-such-tenant', [matchNotes(unmatched).join(' ')]);
      const lines = statementIn(STATEMENTS, 'lines');
      await createSharedViews(file, lines);
      await file.query(lines);
      return session;
    });
    return {
      publication: prepared.publication,
      /** When the publication was made, in ISO 8601 UTC. */
      publishedAt: prepared.asOf,
      by: filters.by,
      level: prepared.level,
      read: (name: 'billed' | 'invoices' | 'not-counted', days: Period) =>
        rowsOf(name, { ...days }).then(({ rows }) => rows),
      tenants: () => rowsOf('tenants').then(({ rows }) => rows),
      shipments: ({ tenant, tenant_id, partner_id }: StatementTenant, days: Period, limit: number) =>
        rowsOf('shipments', { ...days, tenant, tenant_id, partner_id, limit }),
      close: () => file.close(),
    };
  } catch (error) {
    file.close();
    throw error;
  }
}
