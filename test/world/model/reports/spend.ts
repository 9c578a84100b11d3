import {
  type AnswerRow,
  type Cells,
  costColumns,
  costOf,
  creditedOf,
  creditsOf,
  exactPounds,
  type Files,
  grouped,
  month,
  POUND,
  periodOf,
  plainOrigin,
  plainZone,
  type Report,
  zoneOrder,
} from '../answer.ts';
import {
  dateOf,
  dayNumber,
  lastDayOf,
  money,
  monthNumber,
  monthOf,
  percent,
  quotient,
  sum,
} from '../exact.ts';
import type { Line } from '../view.ts';
import { rateOf } from './files.ts';

const ofCurrency = (lines: readonly Line[], { currency }: Line): Line[] =>
  lines.filter((line) => line.currency === currency);

export const tenants: Report = ({ lines }) =>
  grouped(lines, ({ label, invoice, currency }) => [label, invoice.tenantId, currency]).map(
    ({ first, lines }) => ({
      cells: {
        ...{ tenant: first.label, currency_code: first.currency, ...costColumns(lines) },
        ...{ credits: money(creditsOf(lines)), tenant_id: first.invoice.tenantId },
      },
      order: [first.currency, -costOf(lines), first.label],
    }),
  );

export const carriers: Report = ({ lines: all }) =>
  grouped(all, ({ carrier, currency }) => [carrier, currency]).map(({ first, lines }) => {
    const whole = ofCurrency(all, first);
    const costs = grouped(whole, ({ carrier }) => [carrier]).map(({ lines }) => costOf(lines));
    const total = sum(costs);
    const hasShares = total > 0n && costs.every((cost) => cost >= 0n);
    return {
      cells: {
        ...{ carrier: first.carrier, currency_code: first.currency, ...costColumns(lines) },
        ...{ credits: money(creditsOf(lines)), share_of_cost: percent(costOf(lines), total) },
        concentration: hasShares
          ? Number(quotient(sum(costs.map((cost) => cost * cost)) * 10_000n, total * total))
          : null,
        credited_percent: creditedOf(lines),
      },
      order: [first.currency, -costOf(lines), first.carrier],
    };
  });

export const zones: Report = ({ lines: all }) =>
  grouped(all, ({ zone, currency }) => [zone, currency]).map(({ first, lines }) => ({
    cells: {
      ...{
        carrier_zone: first.zone,
        currency_code: first.currency,
        ...costColumns(lines),
        zone: plainZone(first.zone),
      },
      share_of_shipments: percent(lines.length, ofCurrency(all, first).length),
      credits: money(creditsOf(lines)),
    },
    order: [first.currency, ...zoneOrder(plainZone(first.zone)), first.zone],
  }));

const BOUNDS = [0, 1, 2, 3, 5, 10, 20, 30, 50, 70, 150] as const;

/** @returns its place and name */
export function weightBreak(line: Line): readonly [number, string] {
  const exact = exactPounds(line);
  if (exact === null) return [1_000, 'no weight'];
  const at = BOUNDS.findIndex((bound) => exact <= BigInt(bound) * POUND);
  if (at < 0) return [999, 'over 150 lb'];
  return [at, at === 0 ? '0 lb' : `${BOUNDS[at - 1]} to ${BOUNDS[at]} lb`];
}

/** Columns of `cost`: the name in `by`, the columns, and the value. */
const COST_COLUMNS: readonly (readonly [string, string, (line: Line) => string | null])[] = [
  ['month', 'month', (line) => month(line.date)],
  ['week', 'week', (line) => periodOf(line.date, 'week').name],
  ['tenant', 'tenant', (line) => line.label],
  ['carrier', 'carrier', (line) => line.carrier],
  ['service', 'service_level', (line) => line.service],
  ['zone', 'zone', (line) => plainZone(line.zone)],
  ['origin', 'origin', (line) => line.origin],
  ['weight', 'weight_break', (line) => weightBreak(line)[1]],
];

/** Converted by month and rounded once; no amount where a month has no rate. */
function inCurrency(lines: readonly Line[], code: string, files: Files): Cells {
  const months = grouped(lines, (line) => [month(line.date)]).map(({ first, lines: of }) => ({
    ...{ lines: of, rate: rateOf(files, first.currency, code, month(first.date)) },
  }));
  const unrated = months.filter(({ rate }) => rate === null).flatMap(({ lines }) => lines);
  const cost = quotient(sum(months.map(({ lines: of, rate }) => costOf(of) * (rate ?? 0n))), 100_000_000n);
  return { converted_cost: unrated.length > 0 ? null : money(cost), unconverted: unrated.length };
}

export const cost: Report = ({ lines: all }, { by = 'tenant+carrier', in: code }, files) => {
  const columns = by.split('+').flatMap((wanted) => COST_COLUMNS.filter(([name]) => name === wanted));
  const keyOf = (line: Line): (string | null)[] => columns.map(([, , of]) => of(line));
  const origins = new Set(all.map(({ origin }) => origin));
  return grouped(all, (line) => [...keyOf(line), line.currency]).map(({ first, lines }): AnswerRow => {
    const whole = ofCurrency(all, first).filter(
      (line) => columns.length === 1 || keyOf(line)[0] === keyOf(first)[0],
    );
    const usual = plainOrigin(first.origin);
    const restored =
      usual !== null && /^\d{3,4}$/.test(usual) && origins.has(usual.padStart(5, '0'))
        ? usual.padStart(5, '0')
        : usual;
    const order = columns.flatMap(([name, , of]) => {
      if (name === 'zone') return zoneOrder(of(first));
      return name === 'weight'
        ? [weightBreak(first)[0]]
        : name === 'week'
          ? [periodOf(first.date, 'week').start]
          : [of(first)];
    });
    return {
      cells: {
        ...Object.fromEntries(columns.map(([, column, of]) => [column, of(first)])),
        ...(by.split('+').includes('origin') ? { usual_origin: restored === '' ? null : restored } : {}),
        ...{ currency_code: first.currency, ...costColumns(lines), credits: money(creditsOf(lines)) },
        share_of_cost: percent(costOf(lines), costOf(whole)),
        share_of_shipments: percent(lines.length, whole.length),
        credited_percent: creditedOf(lines),
        ...(code === undefined ? {} : inCurrency(lines, code.toUpperCase(), files)),
      },
      order: [first.currency, ...order],
    };
  });
};

export const summary: Report = ({ lines: all, knownOn }, { grain = 'month' }) =>
  grouped(all, ({ date, currency }) => [periodOf(date, grain).name, currency]).map(({ first, lines }) => {
    const { start, name } = periodOf(first.date, grain);
    const lastDay = grain === 'week' ? dayNumber(start) + 6 : dayNumber(lastDayOf(start));
    const earlier = (weeks: number, months: number): Line[] => {
      const wanted =
        grain === 'week'
          ? dateOf(dayNumber(start) - 7 * weeks)
          : `${monthOf(monthNumber(start) - months)}-01`;
      return ofCurrency(all, first).filter(({ date }) => periodOf(date, grain).start === wanted);
    };
    const change = (before: readonly Line[], suffix: string): Cells => ({
      [`change_on_${suffix}`]: before.length === 0 ? null : money(costOf(lines) - costOf(before)),
      [`change_on_${suffix}_percent`]:
        before.length === 0 ? null : percent(costOf(lines) - costOf(before), costOf(before)),
    });
    return {
      cells: {
        ...{ [grain]: name, currency_code: first.currency, ...costColumns(lines) },
        charges: money(costOf(lines) - creditsOf(lines)),
        ...{
          credits: money(creditsOf(lines)),
          ...change(earlier(1, 1), 'previous'),
          ...change(earlier(52, 12), 'year'),
        },
        credited_percent: creditedOf(lines),
        is_open: lastDay >= dayNumber(knownOn.slice(0, 10)),
      },
      order: [first.currency, start],
    };
  });
