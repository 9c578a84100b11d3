/** What a report's schedule starts: the report is made and announced; when it cannot be, it is tried for an hour. */

import { proxyActivities } from '@temporalio/workflow';
import type { ReportActivities, ScheduledReport, WrittenReport } from '../activities/write-report.ts';

const { writeReport } = proxyActivities<ReportActivities>({
  startToCloseTimeout: '15 min',
  scheduleToCloseTimeout: '1 h',
  retry: { initialInterval: '10 s', maximumInterval: '10 min' },
});

/** Answers where the report was written. */
export async function scheduledReport(scheduled: ScheduledReport): Promise<WrittenReport> {
  return writeReport(scheduled);
}
