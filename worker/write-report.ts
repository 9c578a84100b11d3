/** Makes a scheduled report from the published file and puts it into its folder, whole or not at all. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ScheduledReport, WrittenReport } from '../activities/write-report.ts';
import { writeWhole } from '../lib/files/files.ts';
import { ReportFilterError } from '../reports/errors.ts';
import { parsePeriod } from '../reports/period.ts';
import { headLines } from '../reports/render/labels.ts';
import { REPORT_FORMATS, renderReport } from '../reports/render/render-report.ts';
import { runReport } from '../reports/report-session.ts';

/** Nobody waits at a terminal, so a scheduled report may take longer than one that is asked for there. */
const TIME_LIMIT_MS = 600_000;

/**
 * @param options.databasePath of the published file
 * @returns the file `NAME-YYYY-MM-DD.EXTENSION`, named for the day (UTC) on which it was made
 * @throws NotPublishedError, ReportNotFoundError, ReportFilterError, ReportInterruptedError
 */
export async function writeReport(
  scheduled: ScheduledReport,
  { databasePath, now }: { readonly databasePath: string; readonly now: Date },
): Promise<WrittenReport> {
  const format = REPORT_FORMATS.find((known) => known === scheduled.format);
  if (!format) throw new ReportFilterError('format', `There is no format "${scheduled.format}".`);
  const result = await runReport({
    databasePath,
    name: scheduled.report,
    filters: {
      ...scheduled.filters,
      ...(scheduled.period === null ? {} : parsePeriod(scheduled.period, now)),
    },
    parameters: scheduled.parameters,
    tables: scheduled.tables,
    timeLimitMs: TIME_LIMIT_MS,
  });
  const { body, extension } = await renderReport(result, format);
  const path = join(scheduled.folder, `${scheduled.name}-${now.toISOString().slice(0, 10)}.${extension}`);
  await mkdir(scheduled.folder, { recursive: true });
  await writeWhole(path, body);
  const about = [
    result.title,
    ...headLines(result.head).map(([label, value]) => `${label}: ${value}`),
    ...result.head.notes,
  ];
  return { path, rows: result.rows.length, about: about.join(' · ') };
}
