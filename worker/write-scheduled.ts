/** What a schedule makes: tenants' statements, or any report. */

import { type ScheduledReport, TENANT_STATEMENTS, type WrittenReport } from '../activities/write-report.ts';
import type { StatementSources } from '../finance/statements/make-statements.ts';
import { writeReport } from './write-report.ts';
import { writeStatements } from './write-statements.ts';

/** @throws what either of them throws; nothing is announced then */
export function writeScheduled(
  scheduled: ScheduledReport,
  sources: Omit<StatementSources, 'timeLimitMs'>,
): Promise<WrittenReport> {
  const write = scheduled.report === TENANT_STATEMENTS ? writeStatements : writeReport;
  return write(scheduled, sources);
}
