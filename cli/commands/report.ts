import { type Command, Help, Option } from 'commander';
import type { Settings } from '../../lib/config/settings.ts';
import {
  EXTRA_TABLES,
  type ExtraTable,
  exampleTables,
  listReports,
  PURPOSES,
} from '../../reports/catalogue.ts';
import type { OptionalTables } from '../../reports/optional-tables.ts';
import { REPORT_FORMATS, type ReportFormat } from '../../reports/render/render-report.ts';
import { type FilterOptions, toReportFilters } from '../../reports/report-filters.ts';
import { CliError, EXIT } from '../errors.ts';
import { chosenFormat, collectParameter, printResult, withFilterFlags } from '../report-output.ts';
import type { ScheduleAction } from '../report-schedule.ts';
import type { Output } from '../terminal/output.ts';
import { renderTable } from '../terminal/table.ts';
import { positiveInteger, type Run, seconds, verb } from '../verb.ts';

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
  readonly schedule?: ScheduleAction;
  readonly scheduleName?: string;
  readonly dryRun?: boolean;
}

/** The list is repeated here, so that a report does not load Temporal. */
const SCHEDULE_ACTIONS = ['daily', 'monthly', 'off', 'show'] as const satisfies readonly ScheduleAction[];

const TABLE_FLAGS: Readonly<Record<ExtraTable, string>> = {
  rates: 'CSV of expected rates, for rate-variance',
  weights: 'CSV of the units and steps in which carriers rate weights, for reports that compare prices',
  costs: 'CSV of your own costs, for margin',
  accepted: 'CSV of accepted differences with the reason, for proof',
  payments: 'CSV of payments, for payables and register',
  statements: "CSV of carriers' statements, for carrier-statements",
  disputes: 'CSV of disputed charges, for adjustments',
  budget: 'CSV of budgeted amounts, for budget',
  fx: 'CSV of exchange rates, for budget, and for cost with its parameter in',
};

export function command(): Command {
  const command = verb(
    'report [name]',
    'Prints a report on the published data. Without a name, lists all reports.',
    'billsync report tenants --period 2026-03\n' +
      'billsync report zones --carrier UPS --format html --output zones.html\n' +
      'billsync report tenants --schedule monthly --period last-month --format xlsx --output /srv/reports',
  );
  withFilterFlags(command)
    .option('--param <name=value>', "one of the report's own parameters (repeatable)", collectParameter)
    .option('--compare <period>', 'compare with another period: previous, last-year, or a value of --period')
    .option(
      '--pivot <column>',
      'turn the values of a column into columns, for example month of by=tenant+month',
    )
    .addOption(new Option('--format <format>', 'format of the report').choices([...REPORT_FORMATS]))
    .option('--output <file>', 'write to this file instead of stdout')
    .option('--limit <rows>', 'maximum number of rows, for reports with a limit', positiveInteger)
    .option('--timeout <seconds>', 'stop after this time', seconds, 60)
    .addOption(
      new Option(
        '--schedule <when>',
        'write the report regularly to the folder --output; off ends a schedule, show lists them',
      ).choices([...SCHEDULE_ACTIONS]),
    )
    .option(
      '--schedule-name <name>',
      'name of the schedule, to schedule a report several times; by default the name of the report',
    )
    .option('--dry-run', 'with --output or --schedule: show what would be written or scheduled');
  command.addHelpText('before', () => helpOfReport(command.args[0]));
  for (const [table, about] of Object.entries(TABLE_FLAGS)) command.option(`--${table} <file>`, about);
  return command.ndjson().run(async ({ settings, output, flags }: Run<ReportFlags>, name?: string) => {
    if (flags.schedule !== undefined)
      return await schedule(settings, { ...flags, name, schedule: flags.schedule }, output);
    if (name === undefined) return await printCatalogue(command, output);
    if (flags.dryRun === true && flags.output === undefined) {
      throw new CliError(EXIT.usage, '--dry-run needs --output or --schedule: nothing is written otherwise');
    }
    const { publishedPath } = await import('../published.ts');
    const { runCompared } = await import('../../reports/compare.ts');
    const { format, ...request } = requestOf(flags, output.form);
    const timeLimitMs = flags.timeout * 1000;
    const databasePath = publishedPath(settings);
    const result = await runCompared({ databasePath, name, ...request, timeLimitMs }, flags);
    await printResult(result, { format, output, flags });
  });
}

async function schedule(
  settings: Settings,
  flags: ReportFlags & { readonly name: string | undefined; readonly schedule: ScheduleAction },
  output: Output,
): Promise<void> {
  if ((flags.compare ?? flags.pivot) !== undefined)
    throw new CliError(EXIT.usage, '--compare and --pivot cannot be scheduled');
  const { scheduleReport } = await import('../report-schedule.ts');
  const { schedule: action, name: report = null, scheduleName, output: folder } = flags;
  const isDryRun = flags.dryRun === true;
  const request = { action, report, scheduleName, isDryRun, folder, ...requestOf(flags, 'html') };
  await scheduleReport(settings, request, output);
}

async function printCatalogue(command: Command, output: Output): Promise<void> {
  const filter = command.options.find(
    (option) =>
      !CATALOGUE_FLAGS.includes(option.attributeName()) &&
      command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (filter !== undefined) {
    throw new CliError(EXIT.usage, `${filter.long} needs the name of a report`, {
      hint: '`billsync report` lists them, e.g. billsync report tenants --from 2026-03-01',
    });
  }
  const reports = listReports();
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
  output.note('`billsync report NAME --help` explains a report, with an example.');
}

const CATALOGUE_FLAGS = ['config', 'dataDir', 'environment', 'setting', 'quiet', 'verbose', 'json', 'ndjson'];

function requestOf(flags: ReportFlags, usualFormat: ReportFormat) {
  return {
    filters: toReportFilters(flags),
    parameters: { ...flags.param, ...(flags.limit === undefined ? {} : { limit: String(flags.limit) }) },
    tables: Object.fromEntries(EXTRA_TABLES.map((name) => [name, flags[name]])),
    format: flags.schedule === undefined ? chosenFormat(usualFormat, flags) : (flags.format ?? usualFormat),
  };
}

const WIDTH = 100;

export function helpOfReport(name: string | undefined): string {
  const report = listReports().find((each) => each.name === name);
  if (report === undefined) return '';
  const parameters = report.parameters.map((parameter) => {
    const kind = `${parameter.choices?.join('|') ?? parameter.type}${parameter.takesSeveral ? ', joined by +' : ''}`;
    const usual = parameter.default === null ? '' : `, ${parameter.default} by default`;
    return `--param ${parameter.name}=… (${kind}${usual}): ${parameter.about}`;
  });
  const files = report.sources.map(
    (table) => `--${table} FILE, or user/report-files/${table}.csv in the data folder`,
  );
  const paragraphs = [
    `${report.name}: ${report.title}`,
    `One row per ${report.grain}.`,
    `Meaning: ${report.means}`,
    `Order of rows: ${report.order}.`,
    `Limits: ${report.limits}`,
    ...parameters,
    ...files,
    ...(report.example === null ? [] : [`Example: ${report.example.text}`]),
  ];
  const tables = report.example === null ? [] : exampleTables(report.example).map(textOf);
  return [...paragraphs.map((part) => new Help().boxWrap(part, WIDTH)), ...tables, ''].join('\n\n');
}

function textOf({ caption, columns, rows }: ReturnType<typeof exampleTables>[number]): string {
  const table = renderTable(
    rows,
    columns.map((title, at) => ({ title, value: (row) => row[at] ?? '' })),
  );
  return `${caption}:\n${table.replace(/^/gm, '  ')}`;
}
