/** Asks one report of a fixture made for one test, and removes the fixture again. */

import type { ReportResult } from '../../../reports/report-result.ts';
import { type ReportRequest, runReport } from '../../../reports/report-session.ts';
import { type FixtureInvoice, reportsFixture } from './reports-fixture.ts';

export async function askReport(
  name: string,
  invoices: readonly FixtureInvoice[],
  request: Omit<Partial<ReportRequest>, 'name' | 'databasePath'> & { readonly publishedAt?: string } = {},
): Promise<ReportResult> {
  const { publishedAt, ...rest } = request;
  const fixture = await reportsFixture(invoices, publishedAt === undefined ? {} : { publishedAt });
  try {
    return await runReport({ databasePath: fixture.path, name, ...rest });
  } finally {
    await fixture.remove();
  }
}

/** The values of some columns, row by row. */
export function cells(result: ReportResult, ...names: readonly string[]): unknown[][] {
  return result.rows.map((row) => names.map((name) => row[name]));
}
