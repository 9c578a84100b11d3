/** What a schedule makes: tenants' statements, or any report. */

import { type ScheduledReport, TENANT_STATEMENTS, type WrittenReport } from '../activities/write-report.js';
import type { StatementSources } from '../statements/make-statements.js';
import { writeReport } from './write-report.js';
import { writeStatements } from './write-statements.js';

/** @throws what either of them throws; nothing is announced then */
export function writeScheduled(
  scheduled: ScheduledReport,
  sources: Omit<StatementSources, 'timeLimitMs'>,
): Promise<WrittenReport> {
  const write = scheduled.report === TENANT_STATEMENTS ? writeStatements : writeReport;
  return write(scheduled, sources);
}
