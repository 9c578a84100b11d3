/** `billsync report`: one question answered from the published file, in the form that is needed. */

import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { EXTRA_TABLES, type ExtraTable, listReports, PURPOSES } from '../../reports/catalogue.js';
import type { OptionalTables } from '../../reports/optional-tables.js';
import { daysOf, RELATIVE_PERIODS, type RelativePeriod } from '../../reports/relative-period.js';
import { weighedLabel } from '../../reports/render/labels.js';
import { REPORT_FORMATS, type ReportFormat, renderReport } from '../../reports/render/render-report.js';
import { DATE_BASES, REPORT_LEVELS, type ReportFilters } from '../../reports/report-filters.js';
import type { ReportResult } from '../../reports/report-result.js';
import { runReport } from '../../reports/run-report.js';
import { checkEnvironment } from '../environment-check.js';
import { CliError, EXIT, nothingIs } from '../errors.js';
import { publishedPath } from '../published.js';
import { counted, type Output } from '../terminal/output.js';
import { collect, contextOf, seconds, verb, withJson } from '../verb.js';
import { writeWhole } from '../write-whole.js';
import { helpOfReport } from './reports/report-help.js';
import type { ScheduleWord } from './reports/report-schedule.js';

interface ReportFlags extends OptionalTables {
  readonly from?: string;
  readonly to?: string;
  readonly by?: string;
  readonly partner?: readonly string[];
  readonly tenant?: readonly string[];
  readonly carrier?: readonly string[];
  readonly zone?: readonly string[];
  readonly currency?: readonly string[];
  readonly level?: string;
  readonly asKnownOn?: string;
  readonly param?: Readonly<Record<string, string>>;
  readonly format?: ReportFormat;
  readonly json?: boolean;
  readonly ndjson?: boolean;
  readonly output?: string;
  readonly limit?: number;
  readonly schedule?: ScheduleWord;
  readonly period?: RelativePeriod;
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
  payments: 'CSV of what was paid of each invoice, for payables and register',
  statements: "CSV of what carriers' statements say, for carrier-statements",
  disputes: 'CSV of what was asked back, for adjustments',
  budget: 'CSV of what was budgeted, for budget',
  fx: 'CSV of rates of exchange, for budget',
};

export function reportCommand(): Command {
  const command = verb(
    'report [name]',
    'Answers a question from the published file. Without a name, lists the questions there are.',
    'billsync report tenants --from 2026-03-01 --to 2026-04-01\n' +
      'billsync report zones --carrier UPS --format html --output zones.html\n' +
      'billsync report tenants --schedule monthly --period last-month --format xlsx --output /srv/reports',
  )
    .option('--from <date>', 'first day, YYYY-MM-DD')
    .option('--to <date>', 'the day after the last one, YYYY-MM-DD')
    .addOption(new Option('--by <date>', 'which date --from and --to mean').choices([...DATE_BASES]))
    .option('--partner <partner>', 'only this partner, by id or name (repeatable)', collect)
    .option('--tenant <tenant>', 'only this tenant, by id or name (repeatable)', collect)
    .option('--carrier <name>', 'only this carrier, in capital or small letters (repeatable)', collect)
    .option('--zone <zone>', 'only this zone, as the carrier wrote it (repeatable)', collect)
    .option('--currency <code>', 'only this currency (repeatable)', collect)
    .addOption(
      new Option('--level <level>', 'invoices of tenants or the partner’s own that sum them').choices([
        ...REPORT_LEVELS,
      ]),
    )
    .option('--as-known-on <instant>', 'answer as it would have been answered then; a date is its end in UTC')
    .option('--param <name=value>', "one of the report's own parameters (repeatable)", collectParameter)
    .addOption(new Option('--format <format>', 'the form of the answer').choices([...REPORT_FORMATS]))
    .option('--output <file>', 'write there instead of stdout')
    .option('--limit <seconds>', 'stop after so long', seconds, 60)
    .addOption(
      new Option(
        '--schedule <when>',
        'let Temporal write it to the folder --output, or end or show that',
      ).choices([...SCHEDULE_WORDS]),
    )
    .addOption(
      new Option('--period <days>', 'days relative to each run, instead of --from and --to').choices([
        ...RELATIVE_PERIODS,
      ]),
    )
    .option('--schedule-name <name>', "to schedule one report several times; the report's own name otherwise")
    .option('--dry-run', 'with --output or --schedule: say what would be written or scheduled');
  command.addHelpText('before', () => helpOfReport(command.args[0]));
  for (const [table, about] of Object.entries(TABLE_FLAGS)) command.option(`--${table} <file>`, about);
  return withJson(command, { ndjson: true }).action(
    async (name: string | undefined, flags: ReportFlags, command: Command) => {
      const { settings, output } = contextOf(command);
      if (flags.schedule !== undefined) {
        const { scheduleReport } = await import('./reports/report-schedule.js');
        const wanted = {
          word: flags.schedule,
          report: name ?? null,
          scheduleName: flags.scheduleName,
          isDryRun: flags.dryRun === true,
        };
        return await scheduleReport(
          settings,
          { ...wanted, ...asked(flags, 'html'), folder: flags.output },
          output,
        );
      }
      if (name === undefined) return await printCatalogue(command, output);
      if (flags.dryRun === true && flags.output === undefined) {
        throw new CliError(
          EXIT.usage,
          '--dry-run needs --output or --schedule: nothing is written otherwise',
        );
      }
      await checkEnvironment(settings);
      await printReport({ databasePath: publishedPath(settings), name, flags, output });
    },
  );
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
  const { filters, period, parameters, tables, format } = asked(flags, usual);
  const result = await runReport({
    databasePath,
    name,
    filters: period === undefined ? filters : { ...filters, ...daysOf(period, new Date()) },
    ...{ parameters, tables },
    timeLimitMs: (flags.limit ?? 60) * 1000,
  });
  refuseUnmatched(result);
  const isTerminal = process.stdout.isTTY === true && flags.output === undefined;
  const rendered = await renderReport(result, format, {
    width: isTerminal ? process.stdout.columns : undefined,
    color: isTerminal && !process.env.NO_COLOR,
  });
  if (rendered.isBinary && isTerminal) {
    throw new CliError(EXIT.usage, `${format} is not for a terminal`, {
      hint: `add --output ${name}.${rendered.extension}`,
    });
  }
  if (flags.output !== undefined && flags.dryRun !== true) await writeWhole(flags.output, rendered.body);
  output.note(headOf(result));
  if (flags.output === undefined) await written(rendered.body);
  else if (flags.dryRun === true) {
    const replaced = existsSync(flags.output) ? ', in the place of the file that is there' : '';
    output.note(
      `Would write ${counted(result.rows.length, 'row')} as ${format} (${Buffer.byteLength(rendered.body)} bytes) to ${flags.output}${replaced}.`,
    );
  } else {
    output.note(`Wrote ${flags.output}.`);
  }
}

/** A misspelt name must not look like a month without shipments. @throws CliError (exit 3) */
function refuseUnmatched({ head }: ReportResult): void {
  const [unmatched] = head.matches.filter(({ matched }) => matched.length === 0);
  if (unmatched !== undefined) throw nothingIs(unmatched);
}

/** The question as the flags ask it, for now or for a schedule. @throws CliError (exit 2) */
function asked(flags: ReportFlags, usualFormat: ReportFormat) {
  if (flags.period !== undefined && (flags.from ?? flags.to) !== undefined) {
    throw new CliError(EXIT.usage, '--period says which days are meant, so --from and --to cannot');
  }
  const filters: ReportFilters = {
    from: flags.from,
    to: flags.to,
    by: flags.by,
    partners: flags.partner,
    tenants: flags.tenant,
    carriers: flags.carrier,
    zones: flags.zone,
    currencies: flags.currency,
    level: flags.level,
    asKnownOn: flags.asKnownOn,
  };
  return {
    filters,
    period: flags.period,
    parameters: flags.param ?? {},
    tables: Object.fromEntries(EXTRA_TABLES.map((name) => [name, flags[name]])),
    format: flags.format ?? usualFormat,
  };
}

/** What has to be known to trust the rows; on stderr, so that stdout stays data. */
function headOf({ title, head }: ReportResult): string {
  const { filters } = head;
  const applied = [
    filters.from === null && filters.to === null
      ? null
      : `${filters.by} from ${filters.from ?? 'the beginning'} to ${filters.to ?? 'the end'}`,
    listed('partner', filters.partners),
    listed('tenant', filters.tenants),
    listed('carrier', filters.carriers),
    listed('zone', filters.zones),
    listed('currency', filters.currencies),
    filters.asKnownOn === null ? null : `as known on ${filters.asKnownOn}`,
  ].filter((part) => part !== null);
  const parameters = Object.entries(head.parameters).flatMap(([key, value]) =>
    value === null ? [] : [`${key} ${value}`],
  );
  const proved = head.provedPercent === null ? '' : `, ${head.provedPercent} % of them proved`;
  return [
    title,
    `  ${applied.length === 0 ? 'everything' : applied.join('; ')}; level ${head.level}; ${head.shipments} shipments${proved}; ${head.rows} rows`,
    `  weighed: ${weighedLabel(head)}${parameters.length === 0 ? '' : `; parameters: ${parameters.join(', ')}`}`,
    `  published ${head.asOf} (number ${head.publication}), instants in ${head.timeZone}`,
    ...head.notes.map((note) => `  note: ${note}`),
  ].join('\n');
}

function listed(name: string, values: readonly string[]): string | null {
  return values.length === 0 ? null : `${name} ${values.join(', ')}`;
}

function written(body: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(body, (error) => (error ? reject(error) : resolve()));
  });
}

function collectParameter(
  text: string,
  before: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('It must be NAME=VALUE.');
  return { ...before, [text.slice(0, equals)]: text.slice(equals + 1) };
}
