import { fromTenThousandths, toTenThousandths } from '../../lib/decimal.ts';
import { shortName } from '../../lib/text.ts';
import type { ReportRow } from '../cells.ts';
import { percentOf } from '../compare.ts';
import { incompleteLabel } from '../completeness.ts';
import { daysName } from '../period.ts';
import type { ReportResult } from '../report-result.ts';
import { amountText, grouped, roundedTo } from './labels.ts';
import { ANSWERS } from './table-order.ts';
import { escapeHtml } from './templates.ts';

const MAX_NAMED = 3;

/** Without its file, such a report compares nothing, which is no agreement. */
const COMPARING: readonly string[] = ['rate-variance', 'carrier-statements', 'margin', 'budget'];

interface Answer {
  readonly sentence: string;
  /** Marks a period as `still open`, `incomplete` or both; null when the period is not expected to change. */
  readonly mark: string | null;
}

export function answerOf(result: ReportResult): Answer {
  const mark =
    /\(((?:still open|incomplete|, )+)\)$/.exec(result.title)?.[1] ??
    incompleteLabel([result.head.completeness]);
  const groups = [
    ...Map.groupBy(result.rows, (row) => JSON.stringify([row.partner_id, row.currency_code])).values(),
  ];
  const has = (name: string): boolean => result.columns.some((column) => column.name === name);
  const days = daysOf(result);
  const [absent] = result.missing ?? [];
  if (absent !== undefined && COMPARING.includes(result.name)) return { sentence: escapeHtml(absent), mark };
  if (result.rows.length === 0) return { sentence: `${days}nothing matches.`.replace(/^n/, 'N'), mark };
  const of = (sentence: (rows: readonly ReportRow[]) => string): Answer => ({
    sentence: groups.map((rows) => partnerOf(rows, groups.length) + sentence(rows)).join('<br>'),
    mark,
  });
  if (has('billing_cost_before')) return of((rows) => days + comparedText(result, rows));
  if (result.name === 'bridge') return of(bridgeText);
  const [column, meaning] = ANSWERS[result.name] ?? [];
  if (column !== undefined && has(column)) {
    return of((rows) => {
      const all = sumsOfAllRows(result, rows);
      const count = all === undefined ? rows.length : Number(all.rows);
      const cut =
        count > rows.length ? `, of which the first ${grouped(String(rows.length))} are listed` : '';
      const sum = sumOf(all === undefined ? rows : [all], column);
      return `${days}${money(sum, rows)} ${meaning}, in ${countText(count, 'row')}${cut}.`;
    });
  }
  if (has('change_on_previous_percent')) return of((rows) => `${days}${latestText(result, rows)}`);
  if (result.summed?.includes('billing_cost') && has('shipments'))
    return of((rows) => `${days}${spentText(result, rows)}`);
  return { sentence: `${days}${countText(result.head.found, 'row')}.`, mark };
}

/** The sums of all rows of the partner and currency, if the limit leaves some out. */
function sumsOfAllRows({ whole = [] }: ReportResult, [row]: readonly ReportRow[]): ReportRow | undefined {
  return whole.find(
    (sums) =>
      sums.currency_code === row?.currency_code && (sums.partner_id ?? null) === (row?.partner_id ?? null),
  );
}

function daysOf({ head: { filters } }: ReportResult): string {
  const { from, to } = filters;
  if (from === null && to === null) return '';
  if (from === null || to === null)
    return `${escapeHtml(from === null ? `Before ${to}` : `Since ${from}`)}: `;
  return `${escapeHtml(daysName({ from, to }))}: `;
}

function partnerOf([row]: readonly ReportRow[], groups: number): string {
  return groups > 1 && typeof row?.partner_id === 'string' ? `${escapeHtml(row.partner_id)}: ` : '';
}

function comparedText(result: ReportResult, rows: readonly ReportRow[]): string {
  const [now, before] = [sumOf(rows, 'billing_cost'), sumOf(rows, 'billing_cost_before')];
  const compared = /^(\S+) to (\S+)$/.exec(result.head.parameters.compare ?? '');
  const name =
    compared === null ? 'the period before' : daysName({ from: compared[1] ?? '', to: compared[2] ?? '' });
  const moved = rows
    .slice(0, MAX_NAMED)
    .map((row) => `${escapeHtml(nameOf(result, row))} ${changeText(row)}`)
    .join(', ');
  const stated = result.head.completeness.stated[String(rows[0]?.currency_code)];
  const withStated =
    stated === undefined
      ? ''
      : ` (with invoices that are not counted, as stated: ${differenceText(now + toTenThousandths(stated), before)} it)`;
  return `${money(now, rows)}, ${differenceText(now, before)} ${escapeHtml(name)}${withStated}. ${moved}.`;
}

function differenceText(now: bigint, before: bigint): string {
  const percent = percentOf(now - before, before);
  if (now === before) return 'as much as';
  const size = percent === null ? '' : `${grouped(roundedTo(percent.replace('-', ''), 1))} % `;
  return `${size}${now < before ? 'less' : 'more'} than`;
}

function changeText({ change_percent: percent, difference }: ReportRow): string {
  const text =
    percent === null || percent === undefined
      ? grouped(roundedTo(String(difference), 2))
      : `${grouped(roundedTo(String(percent), 1))} %`;
  return text.startsWith('-') ? text : `+${text}`;
}

function bridgeText(rows: readonly ReportRow[]): string {
  const step = (name: string) => rows.filter((row) => row.step === name);
  const [first, second] = [sumOf(step('first period'), 'amount'), sumOf(step('second period'), 'amount')];
  const period = ([row]: readonly ReportRow[]): string =>
    typeof row?.period_from === 'string' && typeof row.period_to === 'string'
      ? ` (${escapeHtml(daysName({ from: row.period_from, to: row.period_to }))})`
      : '';
  const size = money(second > first ? second - first : first - second, rows);
  const is = `${money(second, rows)}${period(step('second period'))}, ${size} ${second < first ? 'less' : 'more'} than ${money(first, rows)}${period(step('first period'))}`;
  const steps = rows.filter((row) => row.step !== 'first period' && row.step !== 'second period');
  const parts = [...Map.groupBy(steps, (row) => String(row.step ?? ''))].map(
    ([name, of]) => `${escapeHtml(name)} ${signedAmount(fromTenThousandths(sumOf(of, 'amount')), rows)}`,
  );
  return parts.length === 0 ? `${is}.` : `${is}: ${parts.join(', ')}.`;
}

function latestText(result: ReportResult, rows: readonly ReportRow[]): string {
  const open = rows.filter(({ is_open: isOpen }) => isOpen === true);
  const latest = rows.filter((row) => !open.includes(row)).at(-1);
  if (latest === undefined || rows.length < 2) return spentText(result, rows);
  const name = escapeHtml(nameOf(result, latest));
  const change = changeText({
    change_percent: latest.change_on_previous_percent ?? null,
    difference: latest.change_on_previous ?? '0',
  });
  const total = `${money(sumOf(rows, 'billing_cost'), rows)} in ${countText(rows.length, 'row')}`;
  const unfinished = open.map(
    (row) =>
      `; ${escapeHtml(nameOf(result, row))}, still open, ${money(amountOf(row, 'billing_cost'), rows)}`,
  );
  return `${name} ${money(amountOf(latest, 'billing_cost'), rows)}, ${change} compared with the one before${unfinished.join('')}; ${total}.`;
}

function spentText(result: ReportResult, rows: readonly ReportRow[]): string {
  const [cost, shipments] = [sumOf(rows, 'billing_cost'), sumOf(rows, 'shipments') / 10_000n];
  const total = `${money(cost, rows)} for ${grouped(String(shipments))} ${shipments === 1n ? 'shipment' : 'shipments'}.`;
  const largest = [...rows]
    .sort((one, other) => (amountOf(other, 'billing_cost') > amountOf(one, 'billing_cost') ? 1 : -1))
    .slice(0, MAX_NAMED);
  if (rows.length < 2) return total;
  const named = largest.map((row) => {
    const share = percentOf(amountOf(row, 'billing_cost'), cost);
    return `${escapeHtml(nameOf(result, row))}${share === null ? '' : ` (${roundedTo(share, 0)} %)`}`;
  });
  return `${total} Most: ${named.join(', ')}.`;
}

/** The columns that name the row, which are those before its first number. */
function nameOf({ columns }: ReportResult, row: ReportRow): string {
  const end = columns.findIndex(({ type }) => type === 'count' || type === 'decimal');
  const names = columns
    .slice(0, end < 1 ? 1 : end)
    .filter(({ name, isDetail }) => !isDetail && name !== 'currency_code' && name !== 'partner_id');
  return names.map(({ name }) => shortName(String(row[name] ?? '(none)'))).join(' · ');
}

function countText(count: number, noun: string): string {
  return `<b>${grouped(String(count))}</b> ${noun}${count === 1 ? '' : 's'}`;
}

function amountOf(row: ReportRow, column: string): bigint {
  return toTenThousandths(String(row[column] ?? '0'));
}

function sumOf(rows: readonly ReportRow[], column: string): bigint {
  return rows.reduce((sum, row) => sum + amountOf(row, column), 0n);
}

function money(amount: bigint, rows: readonly ReportRow[]): string {
  const currency = String(rows[0]?.currency_code ?? '');
  const exact = fromTenThousandths(amount);
  const text = amountText(exact, currency);
  return `<b title="${exact}">${escapeHtml(`${text} ${currency}`.trim())}</b>`;
}

function signedAmount(amount: string, rows: readonly ReportRow[]): string {
  const text = amountText(amount, String(rows[0]?.currency_code ?? ''));
  return text.startsWith('-') ? text : `+${text}`;
}
