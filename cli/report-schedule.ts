import { access, constants, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Settings } from '../lib/config/settings.ts';
import { systemErrorIn } from '../lib/system-errors.ts';
import { withoutUndefined } from '../lib/wire/lenient-values.ts';
import { findReport } from '../reports/catalogue.ts';
import type { OptionalTables } from '../reports/optional-tables.ts';
import { bindParameters } from '../reports/parameters.ts';
import type { ReportFormat } from '../reports/render/render-report.ts';
import { checkFilters, type ReportFilters } from '../reports/report-filters.ts';
import type { ScheduledReport } from '../workflows/activities.ts';
import {
  applyReportSchedule,
  listReportSchedules,
  type ReportCadence,
  removeReportSchedule,
} from '../workflows/client/schedules.ts';
import { CliError, EXIT } from './errors.ts';
import type { Output } from './terminal/output.ts';
import { withTemporal } from './with-temporal.ts';

export type ScheduleAction = ReportCadence | 'off' | 'show';

export interface ScheduleRequest {
  readonly action: ScheduleAction;
  readonly report: string | null;
  readonly scheduleName: string | undefined;
  readonly filters: ReportFilters;
  readonly parameters: Readonly<Record<string, string>>;
  readonly tables: OptionalTables;
  readonly format: ReportFormat;
  readonly isDryRun: boolean;
  readonly folder: string | undefined;
}

export async function scheduleReport(
  settings: Settings,
  request: ScheduleRequest,
  output: Output,
): Promise<void> {
  const { action, report, isDryRun } = request;
  if (action === 'show') return showSchedules(settings, output);
  if (report === null) throw new CliError(EXIT.usage, `--schedule ${action} needs the name of a report`);
  const name = request.scheduleName ?? report;
  await changeSchedule(
    settings,
    { action, name, isDryRun, make: () => checkRequest(request, { name, report }) },
    output,
  );
}

export async function changeSchedule(
  settings: Settings,
  request: {
    readonly action: ScheduleAction;
    readonly name: string;
    readonly isDryRun: boolean;
    readonly make: () => Promise<ScheduledReport>;
  },
  output: Output,
): Promise<void> {
  const { action, name, isDryRun } = request;
  if (action === 'show') return showSchedules(settings, output);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) {
    throw new CliError(EXIT.usage, `"${name}" cannot name a schedule`, {
      hint: 'use letters, digits, dots and dashes: it becomes part of a file name',
    });
  }
  if (action === 'off') {
    const isRemoved = await withTemporal(settings, async (client) => {
      if (!isDryRun) return removeReportSchedule(client, settings, name);
      return (await listReportSchedules(client, settings)).some((schedule) => schedule.name === name);
    });
    if (!isRemoved) throw new CliError(EXIT.nothingMatched, `no report is scheduled as ${name}`);
    if (isDryRun) return output.note(`Would end ${name}; written files would stay.`);
    return output.note(`${name} is no longer written; written files stay.`);
  }
  const scheduled = await request.make();
  if (isDryRun) {
    return output.note(
      `Would write ${name} as ${scheduled.format} ${action} at 05:00 UTC into ${scheduled.folder}, on the worker's machine.`,
    );
  }
  await withTemporal(settings, (client) =>
    applyReportSchedule(client, settings, { cadence: action, scheduled }),
  );
  output.note(
    `${name} is written ${action} at 05:00 UTC into ${scheduled.folder}; each file is announced like an alert.`,
  );
}

async function checkRequest(
  request: ScheduleRequest,
  { name, report }: { readonly name: string; readonly report: string },
): Promise<ScheduledReport> {
  const { period, ...filters } = request.filters;
  const folder = neededFolder(request.folder);
  bindParameters(findReport(report), request.parameters);
  checkFilters(request.filters);
  return {
    ...{ name, report, parameters: request.parameters, format: request.format, period: period ?? null },
    filters: withoutUndefined(filters),
    tables: await readableTables(request.tables),
    folder,
  };
}

export function neededFolder(folder: string | undefined): string {
  if (folder !== undefined) return resolve(folder);
  throw new CliError(EXIT.usage, 'a scheduled report needs a folder to be written to', {
    hint: "add --output FOLDER, on the worker's machine",
  });
}

async function showSchedules(settings: Settings, output: Output): Promise<void> {
  const schedules = await withTemporal(settings, (client) => listReportSchedules(client, settings));
  output.rows(
    schedules.map(({ name, cadence, nextRun, isPaused }) => ({
      ...{ name, cadence },
      next_run: nextRun,
      paused: isPaused,
    })),
    [
      { title: 'report', value: ({ name }) => name },
      { title: 'written', value: ({ cadence }) => cadence },
      { title: 'next', value: ({ next_run: next, paused }) => (paused ? 'paused' : (next ?? '')) },
    ],
  );
}

export async function readableTables(tables: OptionalTables): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [table, path] of Object.entries(tables)) {
    if (path !== undefined) found[table] = await requireReadable(path);
  }
  return found;
}

async function requireReadable(path: string): Promise<string> {
  await access(path, constants.R_OK).catch((error: unknown) => {
    throw cannotBeRead(path, error);
  });
  if ((await stat(path)).isDirectory())
    throw cannotBeRead(path, Object.assign(new Error(), { code: 'EISDIR' }));
  return resolve(path);
}

function cannotBeRead(path: string, error: unknown): CliError {
  const { problem = String(error), advice } = systemErrorIn(error) ?? {};
  return new CliError(EXIT.usage, `${path} cannot be read: ${problem}`, { hint: advice });
}
