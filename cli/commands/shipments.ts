import { type Command, InvalidArgumentError, Option } from 'commander';
import { grouped } from '../../reports/render/labels.ts';
import { REPORT_FORMATS, type ReportFormat } from '../../reports/render/render-report.ts';
import { type FilterOptions, toReportFilters } from '../../reports/report-filters.ts';
import { DEFAULT_COLUMNS } from '../../reports/shipments/columns.ts';
import { TYPED_CONDITIONS } from '../../reports/shipments/conditions.ts';
import type { ShipmentsPage } from '../../reports/shipments/list-shipments.ts';
import { chosenFormat, printResult, printStreamed, withFilterFlags } from '../report-output.ts';
import { collect, positiveInteger, type Run, seconds, verb } from '../verb.ts';

interface ShipmentFlags extends FilterOptions {
  readonly is?: Readonly<Record<string, readonly string[]>>;
  readonly columns?: readonly string[];
  readonly sort?: string;
  readonly limit?: number;
  readonly after?: string;
  readonly format?: ReportFormat;
  readonly output?: string;
  readonly dryRun?: boolean;
  readonly timeout?: number;
  readonly [condition: string]: unknown;
}

const ROWS = 100;
const PAGE_SECONDS = 60;
const FILE_SECONDS = 600;

export function command(): Command {
  const command = verb(
    'shipments',
    'Lists the billed lines that reports count, with exact totals of all matching lines.',
    'billsync shipments --carrier UPS --cost-from 50 --sort=-billing_cost\n' +
      'billsync shipments --tracking 1Z999AA10123456784 --json\n' +
      'billsync shipments --period 2026-03 --format xlsx --output march.xlsx',
  );
  withFilterFlags(command);
  for (const { name } of TYPED_CONDITIONS) {
    const [value = 'text', about = ''] = CONDITION_OPTIONS[name] ?? [];
    command.option(`--${name.replaceAll('_', '-')} <${value}>`, about, collect);
  }
  command
    .option(
      '--is <column=value>',
      'only lines with exactly this value; an empty value selects lines without one (repeatable)',
      collectExact,
    )
    .option('--columns <names>', 'these columns, comma-separated (repeatable)', collect)
    .option('--sort <column>', 'sort by this column; a - before it sorts in descending order', '-ship_date')
    .option('--limit <rows>', 'maximum number of rows; by default 100, in a file all', positiveInteger)
    .option('--after <key>', 'the page after the one with this key in `next`')
    .addOption(new Option('--format <format>', 'format of the rows').choices([...REPORT_FORMATS]))
    .option('--output <file>', 'write to this file instead of stdout')
    .option('--timeout <seconds>', 'stop after this time; by default 60, with a file 600', seconds)
    .option('--dry-run', 'with --output: show what would be written');
  return command.ndjson().run(async ({ settings, output, flags }: Run<ShipmentFlags>) => {
    const { publishedPath } = await import('../published.ts');
    const format = chosenFormat(output.form, flags);
    const isPage = flags.output === undefined && (flags.format === undefined || flags.format === 'table');
    const { openReportSession } = await import('../../reports/report-session.ts');
    const session = await openReportSession({
      ...{ databasePath: publishedPath(settings), filters: toReportFilters(flags) },
      timeLimitMs: (flags.timeout ?? (isPage ? PAGE_SECONDS : FILE_SECONDS)) * 1000,
    });
    const { sort, after } = flags;
    const isForPerson = isPage && output.form === 'table';
    const columns = flags.columns ?? (isForPerson ? DEFAULT_COLUMNS : []);
    const request = { conditions: conditionsOf(flags), columns, sort, after };
    try {
      if (!isPage) {
        const fileRequest = { ...request, limit: flags.limit ?? null };
        return await session.shipmentsFile(fileRequest, async ({ result, totals }) => {
          await printStreamed(result, { format, output, flags });
          for (const total of totals.rows) output.note(totalOf(total));
        });
      }
      const { result, totals, next } = await session.shipments({ ...request, limit: flags.limit ?? ROWS });
      if (output.form === 'json')
        return output.thing(
          { rows: result.rows, found: result.head.found, totals: totals.rows, next },
          () => '',
        );
      await printResult(result, { format, output, flags });
      for (const total of totals.rows) output.note(totalOf(total));
      if (next !== null)
        output.note(
          `  ${grouped(String(result.rows.length))} of ${grouped(String(result.head.found))} rows; the others: --limit, or --after ${next}`,
        );
    } finally {
      session.close();
    }
  });
}

function conditionsOf(flags: ShipmentFlags): Readonly<Record<string, readonly string[]>> {
  const typed = TYPED_CONDITIONS.flatMap(({ name }) => {
    const values = flags[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
    return Array.isArray(values) ? [[name, values.map(String)] as const] : [];
  });
  return { ...Object.fromEntries(typed), ...flags.is };
}

function totalOf(total: ShipmentsPage['totals']['rows'][number]): string {
  const of = total.partner_id === null ? '' : `, partner ${total.partner_id}`;
  return `  total ${total.billing_cost} ${total.currency_code}: ${total.shipments} shipments, ${total.packages} packages, ${total.invoices} invoices${of}`;
}

const CONDITION_OPTIONS: Readonly<Record<string, readonly [value: string, about: string]>> = {
  tracking: ['number', 'only lines with this tracking number (repeatable)'],
  service: ['text', 'only lines with this service level (repeatable)'],
  origin: ['text', 'only lines from this origin (repeatable)'],
  invoice: ['number-or-id', 'only lines of this invoice (repeatable)'],
  cost_from: ['amount', 'only lines that cost at least this'],
  cost_to: ['amount', 'only lines that cost at most this'],
  weight_from: ['lb', 'only lines that weigh at least this, in pounds'],
  weight_to: ['lb', 'only lines that weigh at most this, in pounds'],
  lines: ['charges|credits|free', 'only charges, credits or lines of zero'],
  days_from: ['date', 'only lines with this reported date or a later one'],
  days_to: ['date', 'only lines with this reported date or an earlier one'],
  invoiced_to: ['date', 'only lines with this invoice date or an earlier one'],
};

function collectExact(
  text: string,
  before: Readonly<Record<string, readonly string[]>> = {},
): Readonly<Record<string, readonly string[]>> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('It must be COLUMN=VALUE.');
  const name = `is_${text.slice(0, equals)}`;
  return { ...before, [name]: [...(before[name] ?? []), text.slice(equals + 1)] };
}
