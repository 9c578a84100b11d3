import { createHash } from 'node:crypto';
import { compareDecimals, dividedHalfAway, fromTenThousandths, toTenThousandths } from '../../lib/decimal.ts';
import { findReport } from '../../reports/catalogue.ts';
import type { ReportCell, ReportColumn, ReportRow } from '../../reports/cells.ts';
import { invalidFilter } from '../../reports/errors.ts';
import { requireMatches } from '../../reports/match-filters.ts';
import { type Period, parsePeriod, weeksBefore } from '../../reports/period.ts';
import { type ReportFilters, toReportFilters } from '../../reports/report-filters.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import { runReport } from '../../reports/report-session.ts';
import type { CostRule } from './rules.ts';

export interface CostFinding {
  readonly rule: string;
  /** The id, of 16 hex digits, stays the same for a rule, period and row while the row's values change. */
  readonly id: string;
  /** The key of the row and the values that meet the rule, in one line. */
  readonly what: string;
  readonly command: string;
  readonly page: string;
}

export interface FindOptions {
  readonly databasePath: string;
  readonly now: Date;
  readonly timeLimitMs: number;
}

/**
 * Findings are in the order of the report's rows. @throws as `runReport`; ReportError an unknown column, or a filter that matched
 * nothing
 */
export async function findCosts(rule: CostRule, options: FindOptions): Promise<readonly CostFinding[]> {
  const days = daysOfRule(rule, options.now);
  const filters = { ...toReportFilters(rule.filters), ...days };
  const run = (of: ReportFilters): Promise<ReportResult> =>
    runReport({
      ...{ databasePath: options.databasePath, timeLimitMs: options.timeLimitMs },
      ...{ name: rule.report, parameters: rule.parameters, filters: of },
    });
  const result = await run(filters);
  requireMatches(result.head.matches);
  const keys = await keysOf(result);
  const weeks = rule.trailing;
  let { rows } = result;
  if (weeks !== undefined) {
    const earlier = await run({ ...filters, ...weeksBefore(days.from ?? '', weeks) });
    rows = pairRows(rows, earlier.rows, { of: rule.of, weeks, keys });
  }
  checkColumns(rule, result);
  return rows
    .filter((row) =>
      Object.entries(rule.when).every(([name, test]) => meetsCondition(row[name] ?? null, test)),
    )
    .map((row) => findingOf(rule, row, { keys, days }));
}

const ADDED = ['average_before', 'difference', 'change_percent'];

function daysOfRule({ period, trailing }: CostRule, now: Date): Partial<Period> {
  if (period === undefined && trailing === undefined) return {};
  return parsePeriod(period ?? 'last-week', now);
}

async function keysOf({ name: report, columns }: ReportResult): Promise<readonly string[]> {
  const [drilldown] = findReport(report).drilldowns;
  const grouped = drilldown?.by.map(({ column }) => column) ?? [];
  const isKey = ({ name, type }: ReportColumn): boolean =>
    grouped.length > 0 ? grouped.includes(name) || name === 'partner_id' : type === 'text' || type === 'date';
  return columns.filter(isKey).map(({ name }) => name);
}

/** @throws ReportError a column does not exist, or is not a number and is compared with one */
function checkColumns({ report, when, trailing, of }: CostRule, { columns }: ReportResult): void {
  const numbers = columns
    .filter(({ type }) => type === 'decimal' || type === 'count')
    .map(({ name }) => name);
  if (trailing !== undefined) {
    if (!numbers.includes(of))
      throw invalidFilter(`${report} has no column "${of}" to average: take ${numbers.join(', ')}.`);
    numbers.push(...ADDED);
  }
  for (const [name, test] of Object.entries(when)) {
    const known = 'is' in test ? columns.map((column) => column.name) : numbers;
    if (!known.includes(name))
      throw invalidFilter(`${report} has no such column "${name}" to compare: take ${known.join(', ')}.`);
  }
}

/** A row that is missing in one of the periods counts as zero there. */
function pairRows(
  now: readonly ReportRow[],
  then: readonly ReportRow[],
  { of, weeks, keys }: { readonly of: string; readonly weeks: number; readonly keys: readonly string[] },
): readonly ReportRow[] {
  const keyOf = (row: ReportRow): string => JSON.stringify(keys.map((name) => row[name] ?? null));
  const earlier = new Map(then.map((row) => [keyOf(row), row]));
  const here = new Set(now.map(keyOf));
  const isRatio = of.startsWith('cost_per_');
  const nothing = { [of]: isRatio ? null : '0' };
  const gone = then
    .filter((row) => !here.has(keyOf(row)))
    .map((row) => ({
      ...Object.fromEntries(['tenant', ...keys].map((name) => [name, row[name] ?? null])),
      ...nothing,
    }));
  return [...now, ...gone].map((row): ReportRow => {
    const had = earlier.get(keyOf(row))?.[of] ?? nothing[of] ?? null;
    const is = row[of] ?? nothing[of] ?? null;
    if (had === null || is === null)
      return { ...row, average_before: null, difference: null, change_percent: null };
    const average = dividedHalfAway(toTenThousandths(String(had)), isRatio ? 1n : BigInt(weeks));
    const difference = toTenThousandths(String(is)) - average;
    return {
      ...row,
      average_before: fromTenThousandths(average),
      difference: fromTenThousandths(difference),
      change_percent:
        average <= 0n ? null : fromTenThousandths(dividedHalfAway(difference * 1_000_000n, average)),
    };
  });
}

function meetsCondition(cell: ReportCell, test: CostRule['when'][string]): boolean {
  if (cell === null) return false;
  const text = String(cell);
  if ('is' in test) return text === test.is;
  return 'above' in test ? compareDecimals(text, test.above) > 0 : compareDecimals(text, test.below) < 0;
}

function findingOf(
  rule: CostRule,
  row: ReportRow,
  { keys, days }: { readonly keys: readonly string[]; readonly days: Partial<Period> },
): CostFinding {
  const labelled = (names: readonly string[]): string =>
    names
      .flatMap((name) => (row[name] === null || row[name] === undefined ? [] : [`${name} ${row[name]}`]))
      .join(', ');
  const values = rule.trailing === undefined ? [] : [rule.of, ...ADDED];
  const all = row.tenant === undefined || keys.includes('tenant') ? keys : ['tenant', ...keys];
  const named = all.filter((name) => !/_id$/.test(name) || (row[name.replace(/_id$/, '')] ?? null) === null);
  const identity = [rule.name, days.from ?? '', days.to ?? '', ...keys.map((name) => row[name] ?? null)];
  return {
    rule: rule.name,
    id: createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16),
    what: labelled([...named, ...new Set([...values, ...Object.keys(rule.when)])]),
    ...whereToLook(rule, days),
  };
}

function whereToLook(
  rule: CostRule,
  days: Partial<Period>,
): { readonly command: string; readonly page: string } {
  const { partner, tenant, carrier, zone, currency, level, by } = rule.filters;
  const lists = { partner, tenant, carrier, zone, currency };
  const fields: [string, string][] = [
    ...Object.entries({ ...days, level, by }).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    ),
    ...Object.entries(lists).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    ),
  ];
  const own = Object.entries(rule.parameters);
  const flags = [...fields, ...own.map(([name, value]) => ['param', `${name}=${value}`] as const)];
  const query = new URLSearchParams(fields);
  for (const [name, value] of own) query.append(`p_${name}`, value);
  return {
    command: [
      'billsync report',
      rule.report,
      ...flags.map(([name, value]) => `--${name} ${shellQuoted(value)}`),
    ].join(' '),
    page: `/reports/${rule.report}${query.size === 0 ? '' : `?${query}`}`,
  };
}

function shellQuoted(text: string): string {
  return /^[\w.:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
