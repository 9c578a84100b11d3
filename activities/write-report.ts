/** Writes a scheduled report into its folder and announces it, or why it could not be written. */

import type { Alerts } from '../lib/alerts/alerts.ts';
import { translated } from './failures.ts';

/** Instead of a report's name: the statements of tenants (statements/). */
export const TENANT_STATEMENTS = 'tenant-statements';

/** A report as it is asked for at a terminal, to be made again and again; everything in it is JSON. */
export interface ScheduledReport {
  /** Names the schedule: the same name replaces what was scheduled before. */
  readonly name: string;
  /** Of the catalogue; or `TENANT_STATEMENTS`, whose parameters are those of `scheduledStatements`. */
  readonly report: string;
  /** As `reports/report-filters.ts` has them, with dates as they were typed. */
  readonly filters: Readonly<Record<string, string | readonly string[]>>;
  /** Days relative to the run, instead of `from` and `to`. */
  readonly period: string | null;
  readonly parameters: Readonly<Record<string, string>>;
  /** Absolute paths of the files it joins, by table. */
  readonly tables: Readonly<Record<string, string>>;
  readonly format: string;
  /** Absolute, on the worker's machine. */
  readonly folder: string;
}

export interface WrittenReport {
  /** Absolute, on the worker's machine. */
  readonly path: string;
  readonly rows: number;
  /** What the report's head says, in a line. */
  readonly about: string;
}

export interface ReportDependencies {
  readonly alerts: Alerts;
  /** Replaces the file of the same day. @throws whatever refuses it; people are told */
  readonly writeReport: (scheduled: ScheduledReport) => Promise<WrittenReport>;
}

/** On the `warehouse` queue: the published file lies on that machine. */
export function createReportActivities({ alerts, writeReport }: ReportDependencies) {
  return {
    writeReport: (scheduled: ScheduledReport): Promise<WrittenReport> =>
      translated(async () => {
        const failed = `report-failed/${scheduled.name}` as const;
        try {
          const written = await writeReport(scheduled);
          alerts.resolve(failed);
          // Each file is news of its own: its path is part of the key, so that no quiet window swallows it.
          alerts.raise({
            key: `report/${written.path}`,
            title: `The scheduled report ${scheduled.name} is written: ${written.path}`,
            detail: written.about,
          });
          return written;
        } catch (error) {
          alerts.raise({
            key: failed,
            title: `The scheduled report ${scheduled.name} could not be written`,
            detail: `${error instanceof Error ? error.message : String(error)} It is tried again for an hour; "billsync report --schedule show" lists what is scheduled.`,
          });
          throw error;
        }
      }),
  };
}

export type ReportActivities = ReturnType<typeof createReportActivities>;
