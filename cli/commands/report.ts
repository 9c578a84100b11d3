/** `billsync report`: one question answered from the published file, in the form that is needed. */

import { type Command, Help, Option } from 'commander';
import type { Settings } from '../../lib/config/settings.ts';
import {
  EXTRA_TABLES,
  type ExtraTable,
  exampleTables,
  findReportNow,
  listReports,
  PURPOSES,
} from '../../reports/catalogue.ts';
import type { OptionalTables } from '../../reports/optional-tables.ts';
import { REPORT_FORMATS, type ReportFormat } from '../../reports/render/render-report.ts';
import { type FilterOptions, toReportFilters } from '../../reports/report-filters.ts';
import { CliError, EXIT } from '../errors.ts';
import { chosenFormat, collectParameter, printResult, withFilterFlags } from '../report-output.ts';
import type { ScheduleWord } from '../report-schedule.ts';
import type { Output } from '../terminal/output.ts';
import { checkEnvironment, contextOf, positiveInteger, seconds, verb, withJson } from '../verb.ts';

interface ReportFlags extends OptionalTables, FilterOptions {
  readonly param?: Readonly<Record<string, string>>;
  readonly compare?: string;
  readonly pivot?: string;
  readonly format?: ReportFormat;
  readonly json?: boolean;
  readonly ndjson?: boolean;
  readonly output?: string;
  readonly limit?: number;
  readonly timeout: number;
  readonly schedule?: ScheduleWord;
  readonly scheduleName?: string;
  readonly dryRun?: boolean;
}

/** Said here as well, so that a report needs nothing of Temporal. */
const SCHEDULE_WORDS = ['daily', 'monthly', 'off', 'show'] as const satisfies readonly ScheduleWord[];

/** What each file is; a report's own help says which it joins. */
const TABLE_FLAGS: Readonly<Record<ExtraTable, string>> = {
  rates: 'CSV of expected rates, for rate-variance',
  weights: 'CSV of the units and steps in which carriers rate weights, for reports that compare prices',
  costs: 'CSV of your own costs, for margin',
  accepted: 'CSV of differences that are accepted, with the reason, for proof',
  payments: 'CSV of payments, for payables and register',
  statements: "CSV of what carriers' statements say, for carrier-statements",
  disputes: 'CSV of disputed charges, for adjustments',
  budget: 'CSV of what was budgeted, for budget',
  fx: 'CSV of exchange rates, for budget',
};

export function reportCommand(): Command {
  const command = verb(
    'report [name]',
    'Runs a report on the published file. Without a name, lists all reports.',
    'billsync report tenants --period 2026-03\n' +
      'billsync report zones --carrier UPS --format html --output zones.html\n' +
      'billsync report tenants --schedule monthly --period last-month --format xlsx --output /srv/reports',
  );
  withFilterFlags(command)
    .option('--param <name=value>', "one of the report's own parameters (repeatable)", collectParameter)
    .option(
      '--compare <period>',
      'compare with another period: previous, last-year, or one as --period takes it',
    )
    .option(
      '--pivot <column>',
      'a report by two columns or more: one of them across, as month of by=tenant+month',
    )
    .addOption(new Option('--format <format>', 'the form of the answer').choices([...REPORT_FORMATS]))
    .option('--output <file>', 'write there instead of stdout')
    .option('--limit <rows>', 'maximum number of rows, of reports that have a limit', positiveInteger)
    .option('--timeout <seconds>', 'stop after this time', seconds, 60)
    .addOption(
      new Option(
        '--schedule <when>',
        'have it written regularly to the folder --output, or stop or show that',
      ).choices([...SCHEDULE_WORDS]),
    )
    .option('--schedule-name <name>', "to schedule one report several times; the report's own name otherwise")
    .option('--dry-run', 'with --output or --schedule: say what would be written or scheduled');
  command.addHelpText('before', () => helpOfReport(command.args[0]));
  for (const [table, about] of Object.entries(TABLE_FLAGS)) command.option(`--${table} <file>`, about);
  return withJson(command, { ndjson: true }).action(
    async (name: string | undefined, flags: ReportFlags, command: Command) => {
      const { settings, output } = contextOf(command);
      if (flags.schedule !== undefined)
        return await schedule(settings, { ...flags, name, schedule: flags.schedule }, output);
      if (name === undefined) return await printCatalogue(command, output);
      if (flags.dryRun === true && flags.output === undefined) {
        throw new CliError(
          EXIT.usage,
          '--dry-run needs --output or --schedule: nothing is written otherwise',
        );
      }
      await checkEnvironment(settings);
      // DuckDB is read by whoever asks for a report, and not for their list.
      const { publishedPath } = await import('../published.ts');
      await printReport({ databasePath: publishedPath(settings), name, flags, output });
    },
  );
}

async function schedule(
  settings: Settings,
  flags: ReportFlags & { readonly name: string | undefined; readonly schedule: ScheduleWord },
  output: Output,
): Promise<void> {
  if ((flags.compare ?? flags.pivot) !== undefined)
    throw new CliError(EXIT.usage, '--compare and --pivot are answered now and cannot be scheduled');
  const { scheduleReport } = await import('../report-schedule.ts');
  const { schedule: word, name: report = null, scheduleName, output: folder } = flags;
  const isDryRun = flags.dryRun === true;
  const wanted = { word, report, scheduleName, isDryRun, folder, ...asked(flags, 'html') };
  await scheduleReport(settings, wanted, output);
}

/** @throws CliError (exit 2) filters without a report: somebody forgot its name */
async function printCatalogue(command: Command, output: Output): Promise<void> {
  const asked = command.options.find(
    (option) =>
      !CATALOGUE_FLAGS.includes(option.attributeName()) &&
      command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (asked !== undefined) {
    throw new CliError(EXIT.usage, `${asked.long} needs the name of a report`, {
      hint: '`billsync report` lists them, e.g. billsync report tenants --from 2026-03-01',
    });
  }
  const reports = await listReports();
  if (output.form !== 'table') {
    const listed = reports.map(({ name, title, grain, parameters }) => ({
      ...{ name, title, grain },
      parameters: parameters.map((parameter) => ({ ...parameter })),
    }));
    return output.rows(listed, []);
  }
  const width = Math.max(...reports.map(({ name }) => name.length));
  for (const [purpose, about] of Object.entries(PURPOSES)) {
    output.rows(
      reports.filter((report) => report.purpose === purpose),
      [
        { title: purpose.toUpperCase().padEnd(width), value: ({ name }) => name },
        { title: about, value: ({ title }) => title, canShrink: true },
      ],
    );
    output.text('\n');
  }
  output.note('`billsync report NAME --help` explains one of them, with a worked example.');
}

/** What the list of reports has a use for. */
const CATALOGUE_FLAGS = ['config', 'dataDir', 'environment', 'setting', 'quiet', 'verbose', 'json', 'ndjson'];

interface Wanted {
  readonly databasePath: string;
  readonly name: string;
  readonly flags: ReportFlags;
  readonly output: Output;
}

async function printReport({ databasePath, name, flags, output }: Wanted): Promise<void> {
  const usual = output.form === 'table' ? 'table' : output.form;
  const { filters, parameters, tables, format } = asked(flags, usual);
  const request = {
    databasePath,
    name,
    ...{ filters, parameters, tables },
    timeLimitMs: flags.timeout * 1000,
  };
  const { runCompared } = await import('../../reports/compare.ts');
  const result = await runCompared(request, flags);
  await printResult(result, { format, output, flags });
}

/** The question as the flags ask it, for now or for a schedule. @throws CliError (exit 2) */
function asked(flags: ReportFlags, usualFormat: ReportFormat) {
  return {
    filters: toReportFilters(flags),
    parameters: { ...flags.param, ...(flags.limit === undefined ? {} : { limit: String(flags.limit) }) },
    tables: Object.fromEntries(EXTRA_TABLES.map((name) => [name, flags[name]])),
    format: flags.schedule === undefined ? chosenFormat(usualFormat, flags) : (flags.format ?? usualFormat),
  };
}

const WIDTH = 100;

/** Empty when `name` is no report: the command's own help follows anyway. */
export function helpOfReport(name: string | undefined): string {
  const report = name === undefined ? null : findReportNow(name);
  if (report === null) return '';
  const parameters = report.parameters.map((parameter) => {
    const kind = `${parameter.choices?.join('|') ?? parameter.type}${parameter.takesSeveral ? ', joined by +' : ''}`;
    const usual = parameter.default === null ? '' : `, ${parameter.default} by default`;
    return `--param ${parameter.name}=… (${kind}${usual}): ${parameter.about}`;
  });
  const files = report.sources.map(
    (table) => `--${table} FILE, or report-files/${table}.csv in the data folder`,
  );
  const words = [
    `${report.name}: ${report.title}`,
    `One row per ${report.grain}.`,
    `What the numbers mean: ${report.means}`,
    `Rows are in order of: ${report.order}.`,
    `What they cannot say: ${report.cannotSay}`,
    ...parameters,
    ...files,
    ...(report.example === null ? [] : [`A worked example: ${report.example.text}`]),
  ];
  const tables = report.example === null ? [] : exampleTables(report.example).map(textOf);
  return [...words.map((part) => new Help().boxWrap(part, WIDTH)), ...tables, ''].join('\n\n');
}

function textOf(table: {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}): string {
  const lines = [table.columns, ...table.rows];
  const widths = table.columns.map((_, index) =>
    Math.max(...lines.map((line) => (line[index] ?? '').length)),
  );
  const text = lines.map((line) =>
    line
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [`${table.caption}:`, ...text.map((line) => `  ${line}`)].join('\n');
}
