/** `billsync report --schedule`: a report that Temporal makes again and again, written to a folder and announced. */

import { access, constants, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Settings } from '../lib/config/settings.ts';
import { systemErrorIn } from '../lib/system-errors.ts';
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

export type ScheduleWord = ReportCadence | 'off' | 'show';

export interface WantedSchedule {
  readonly word: ScheduleWord;
  /** null with `show` only. */
  readonly report: string | null;
  readonly scheduleName: string | undefined;
  readonly filters: ReportFilters;
  readonly parameters: Readonly<Record<string, string>>;
  readonly tables: OptionalTables;
  readonly format: ReportFormat;
  /** Everything is checked, and nothing of the schedule is changed. */
  readonly isDryRun: boolean;
  /** A folder on the worker's machine. */
  readonly folder: string | undefined;
}

/** @throws CliError, ReportNotFoundError, ReportFilterError, TemporalUnreachableError (exit 5) */
export async function scheduleReport(
  settings: Settings,
  wanted: WantedSchedule,
  output: Output,
): Promise<void> {
  const { word, report, isDryRun } = wanted;
  if (word === 'show') return showSchedules(settings, output);
  if (report === null) throw new CliError(EXIT.usage, `--schedule ${word} needs the name of a report`);
  const name = wanted.scheduleName ?? report;
  await changeSchedule(
    settings,
    { word, name, isDryRun, make: () => checked(wanted, { name, report }) },
    output,
  );
}

/** Whatever is written by the clock: reports, and statements of tenants. @param wanted.make what a run is given, checked */
export async function changeSchedule(
  settings: Settings,
  wanted: {
    readonly word: ScheduleWord;
    readonly name: string;
    readonly isDryRun: boolean;
    readonly make: () => Promise<ScheduledReport>;
  },
  output: Output,
): Promise<void> {
  const { word, name, isDryRun } = wanted;
  if (word === 'show') return showSchedules(settings, output);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) {
    throw new CliError(EXIT.usage, `"${name}" cannot name a schedule`, {
      hint: 'it becomes part of a file name: letters, digits, dots and dashes',
    });
  }
  if (word === 'off') {
    const isRemoved = await withTemporal(settings, async (client) => {
      if (!isDryRun) return removeReportSchedule(client, settings, name);
      return (await listReportSchedules(client, settings)).some((schedule) => schedule.name === name);
    });
    if (!isRemoved) throw new CliError(EXIT.nothingMatched, `no report is scheduled as ${name}`);
    if (isDryRun) return output.note(`Would end ${name}; what was written would stay.`);
    return output.note(`${name} is not written any more; what was written stays.`);
  }
  const scheduled = await wanted.make();
  if (isDryRun) {
    return output.note(
      `Would write ${name} as ${scheduled.format} ${word} at 05:00 UTC into ${scheduled.folder}, on the worker's machine.`,
    );
  }
  await withTemporal(settings, (client) =>
    applyReportSchedule(client, settings, { cadence: word, scheduled }),
  );
  output.note(
    `${name} is written ${word} at 05:00 UTC into ${scheduled.folder}, and announced as alerts are.`,
  );
}

/** Everything a run would refuse is refused now, while somebody is there to mend it. */
async function checked(
  wanted: WantedSchedule,
  { name, report }: { readonly name: string; readonly report: string },
): Promise<ScheduledReport> {
  const { period, ...filters } = wanted.filters;
  const folder = neededFolder(wanted.folder);
  bindParameters(await findReport(report), wanted.parameters);
  checkFilters(wanted.filters);
  return {
    ...{ name, report, parameters: wanted.parameters, format: wanted.format, period: period ?? null },
    filters: given(filters),
    tables: await readableTables(wanted.tables),
    folder,
  };
}

/** Absolute. @throws CliError (exit 2) nobody named one */
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
    if (path !== undefined) found[table] = await readable(path);
  }
  return found;
}

/** An absolute path, since the worker runs elsewhere. @throws CliError (exit 2) */
async function readable(path: string): Promise<string> {
  await access(path, constants.R_OK).catch((error: unknown) => {
    throw cannotBeRead(path, error);
  });
  if ((await stat(path)).isDirectory())
    throw cannotBeRead(path, Object.assign(new Error(), { code: 'EISDIR' }));
  return resolve(path);
}

function cannotBeRead(path: string, error: unknown): CliError {
  const { problem = String(error), advice } = systemErrorIn(error) ?? {};
  return new CliError(
    EXIT.usage,
    `${path} cannot be read: ${problem}`,
    advice === undefined ? {} : { hint: advice },
  );
}

/** Without what was not given, because JSON has no word for it. */
function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
