/** Reports that compare months or weeks, and estimate what is not billed yet. */

import {
  type AnswerRow,
  cellOf,
  costOf,
  grouped,
  hasCell,
  hundredths,
  isCharge,
  periodOf,
  plainZone,
  type Report,
  ratedKey,
  zoneOrder,
} from '../answer.ts';
import {
  absolute,
  compareSizes,
  dateOf,
  dayNumber,
  doubleMedian,
  lastDayOf,
  millionths,
  mondayOf,
  money,
  monthNumber,
  monthOf,
  percent,
  quotient,
  sum,
  sumRounded,
} from '../exact.ts';
import type { Line } from '../view.ts';

export const rollingSpend: Report = (
  { loaded, passesButDates, isUntil, isFrom, passes, filters },
  { weeks = '52' },
) => {
  const span = 7 * Number(weeks);
  return grouped(
    loaded.filter((line) => passesButDates(line) && isUntil(line.date)),
    ({ carrier, currency }) => [carrier, currency],
  ).flatMap(({ first, lines }) => {
    const weekOf = (line: Line): number => mondayOf(line.date);
    const all = lines.map(weekOf).sort((one, other) => one - other);
    const [begin = 0, end = 0] = [all[0], all.at(-1)];
    const rolling = (week: number): bigint =>
      costOf(lines.filter((line) => weekOf(line) <= week && weekOf(line) > week - span));
    const found: AnswerRow[] = [];
    // A week has a row as long as its sum includes lines.
    const included = new Set(
      all.flatMap((week) => Array.from({ length: Number(weeks) }, (_, at) => week + 7 * at)),
    );
    for (const week of included) {
      if (week > end) continue;
      // A week that the first day is in has a row.
      if (!isFrom(dateOf(week + 6))) continue;
      const inWeek = lines.filter((line) => weekOf(line) === week && passes(line));
      found.push({
        cells: {
          ...{
            week: periodOf(dateOf(week), 'week').name,
            carrier: first.carrier,
            currency_code: first.currency,
            starts_on: dateOf(week),
          },
          ...{
            shipments: inWeek.length,
            billing_cost: money(costOf(inWeek)),
            rolling_cost: money(rolling(week)),
          },
          change_on_week: week === begin ? null : money(rolling(week) - rolling(week - 7)),
          adds_from: dateOf(Math.max(week - span + 7, dayNumber('0001-01-01'))),
          adds_to: filters.to !== undefined && filters.to < dateOf(week + 6) ? filters.to : dateOf(week + 6),
          is_full: (week - begin) / 7 + 1 >= Number(weeks),
        },
        order: [first.currency, dateOf(week), first.carrier],
      });
    }
    return found;
  });
};

/** A month earlier, on the last day of a shorter month. */
function monthsBefore(day: string, months: number): string {
  const month = monthNumber(day) - months;
  const last = dayNumber(`${monthOf(month + 1)}-01`) - 1;
  return dateOf(Math.min(dayNumber(`${monthOf(month)}-01`) + Number(day.slice(8)) - 1, last));
}

const dayAfter = (day: string, days = 1): string => dateOf(dayNumber(day) + days);

/** The first and the second period, each with its first and last day; null: nothing is loaded. */
function periodsOf(
  { loaded, passesButDates, filters, knownOn }: Parameters<Report>[0],
  stated: Parameters<Report>[1],
): readonly (readonly [string, string])[] | null {
  const dates = loaded.filter(passesButDates).map(({ date }) => date);
  const latest = dates
    .filter((date) => date <= knownOn.slice(0, 10))
    .sort()
    .at(-1);
  const lastDay = latest === undefined ? undefined : lastDayOf(latest);
  const to2 = stated.second_to ?? filters.to ?? lastDay;
  if (to2 === undefined) return null;
  const from2 = stated.second_from ?? filters.from ?? monthsBefore(dayAfter(to2), 1);
  const to1 = stated.first_to ?? dayAfter(from2, -1);
  const isOfMonths = from2.endsWith('-01') && dayAfter(to2).endsWith('-01');
  const from1 = isOfMonths
    ? monthsBefore(dayAfter(to1), monthNumber(dayAfter(to2)) - monthNumber(from2))
    : dayAfter(to1, dayNumber(from2) - dayNumber(to2));
  return [
    [stated.first_from ?? from1, to1],
    [from2, to2],
  ];
}

export const bridge: Report = (view, parameters) => {
  const [[from1, to1] = ['', ''], [from2, to2] = ['', '']] = periodsOf(view, parameters) ?? [];
  const { by = 'total' } = parameters;
  // The filter by date is the second period.
  const all = view.loaded.filter(view.passesButDates);
  const nameOf = (line: Line): string | null =>
    by === 'carrier'
      ? line.carrier
      : by === 'tenant'
        ? line.label
        : by === 'zone'
          ? plainZone(line.zone)
          : null;
  const isIn =
    (from: string, to: string) =>
    ({ date }: Line): boolean =>
      date >= from && date <= to;
  const both = all.filter((line) => isIn(from1, to1)(line) || isIn(from2, to2)(line));
  return grouped(both, (line) => [line.currency, nameOf(line)]).flatMap(({ first, lines }) => {
    const [one, two] = [lines.filter(isIn(from1, to1)), lines.filter(isIn(from2, to2))];
    const [n1, n2, c1, c2] = [BigInt(one.length), BigInt(two.length), costOf(one), costOf(two)];
    const isFull = (line: Line): boolean =>
      line.service !== null && line.zone !== null && line.weight !== null;
    const cells = new Map(
      grouped(one.filter(isFull), cellOf).map(({ first, lines }) => [JSON.stringify(cellOf(first)), lines]),
    );
    const price = sumRounded(
      grouped(two.filter(isFull), cellOf).flatMap(({ first, lines }) => {
        const cell = cells.get(JSON.stringify(cellOf(first)));
        return cell === undefined
          ? []
          : [
              [
                costOf(lines) * BigInt(cell.length) - BigInt(lines.length) * costOf(cell),
                BigInt(cell.length),
              ] as const,
            ];
      }),
    );
    const isComparable = n1 > 0n && n2 > 0n;
    const volume = isComparable ? quotient((n2 - n1) * c1, n1) : 0n;
    const steps: (readonly [string, bigint, number | null, string | null, string | null])[] = [
      ['first period', c1, Number(n1), from1, to1],
      ...(isComparable
        ? ([
            ['volume', volume, Number(n2 - n1), null, null],
            ['price', price, null, null, null],
            ['mix', c2 - c1 - volume - price, null, null, null],
          ] as const)
        : ([['not comparable', c2 - c1, Number(n2 - n1), null, null]] as const)),
      ['second period', c2, Number(n2), from2, to2],
    ];
    return steps.map(([step, amount, shipments, period_from, period_to], place) => ({
      cells: {
        ...(by === 'total' ? {} : { [by]: nameOf(first) }),
        ...{ step, currency_code: first.currency, amount: money(amount), shipments, period_from, period_to },
      },
      order: [first.currency, -absolute(c2 - c1), nameOf(first), place],
    }));
  });
};

export const whatIf: Report = (
  { lines: all },
  { by = 'carrier', min_shipments: min = '3', same_service: same = '1' },
) => {
  const lines = all.filter(hasCell);
  // Services of one name in upper or lower case are one.
  const serviceOf = ({ service }: Line): string => (same === '1' ? (service ?? '').toLowerCase() : '');
  const sideOf = (line: Line): string | null =>
    by === 'carrier' ? line.carrier : by === 'service' ? line.service : plainZone(line.zone);
  /** What must be equal for a price to count: zone, service and rated weight otherwise. */
  const restOf = (line: Line, carrier = line.carrier): readonly unknown[] => [
    by === 'carrier' ? null : line.carrier,
    by === 'service' ? null : serviceOf(line),
    by === 'zone' ? null : plainZone(line.zone),
    ...[...ratedKey(line, carrier), line.currency],
  ];
  const keyOf = (side: string | null, line: Line, carrier = line.carrier): string =>
    JSON.stringify([side, ...restOf(line, carrier)]);
  const cells = new Map(
    grouped(lines, (line) => [sideOf(line), ...restOf(line)]).map(({ first, lines }) => [
      keyOf(sideOf(first), first),
      lines,
    ]),
  );
  const charges = all.filter((line) => isCharge(line) && sideOf(line) !== null);
  const sides = grouped(charges, (line) => [
    by === 'carrier' ? null : line.carrier,
    sideOf(line),
    line.currency,
  ]);
  const isOther = (one: Line, other: Line): boolean =>
    other.currency === one.currency &&
    sideOf(other) !== sideOf(one) &&
    (by === 'carrier' || other.carrier === one.carrier);
  return sides.flatMap(({ first, lines: ofSide }) =>
    sides
      .filter(({ first: other }) => isOther(first, other))
      .map(({ first: other }) => {
        const priced = ofSide.filter(hasCell).flatMap((line) => {
          const cell = cells.get(keyOf(sideOf(other), line, other.carrier)) ?? [];
          const isEnough = cell.length >= Number(min) && cell.length > 0;
          return isEnough ? [{ line, twice: doubleMedian(cell.map(({ cost }) => cost)) }] : [];
        });
        const cost = costOf(priced.map(({ line }) => line));
        const twice = sum(priced.map(({ twice }) => twice));
        const saved = 2n * cost - twice;
        const name = { carrier: 'other_carrier', service: 'other_service', zone: 'other_zone' }[by] ?? '';
        const own =
          { carrier: {}, service: { service_level: first.service }, zone: { zone: plainZone(first.zone) } }[
            by
          ] ?? {};
        const [one, two] = [sideOf(first), sideOf(other)];
        return {
          cells: {
            ...{ carrier: first.carrier, ...own, [name]: two, currency_code: first.currency },
            ...{ shipments: ofSide.length, covered_shipments: priced.length },
            coverage_percent: percent(priced.length, ofSide.length),
            ...{
              covered_cost: money(cost),
              repriced_cost: money(quotient(twice, 2n)),
              saving: money(quotient(saved, 2n)),
            },
            saving_percent: percent(saved, 2n * cost),
            saving_per_shipment:
              priced.length === 0 ? null : money(quotient(saved, 2n * BigInt(priced.length))),
          },
          order: [
            ...[first.currency, first.carrier],
            ...(by === 'zone' ? [...zoneOrder(one), ...zoneOrder(two)] : [one, two]),
          ],
        };
      }),
  );
};

type Fraction = readonly [bigint, bigint];
const ONE: Fraction = [1n, 1n];
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d];

interface Estimate {
  readonly first: Line;
  readonly month: number;
  readonly closed: string;
  readonly age: number;
  readonly billedBy: readonly bigint[];
  readonly billed: bigint;
  readonly basis: string;
  readonly months: number | null;
  readonly factor: Fraction | null;
  readonly total: bigint | null;
  readonly low: bigint | null;
  readonly high: bigint | null;
}

function estimatesOf(
  { loaded, passesButDates, passes, knownOn }: Parameters<Report>[0],
  { complete_after: after = '3', min_months: min = '3', closing }: Parameters<Report>[1],
): Estimate[] {
  const completeAge = Math.min(Math.max(Number(after), 0), 6);
  const monthAfter = (day: string): number => monthNumber(dateOf(dayNumber(day) + 1));
  const ended = monthAfter(knownOn.slice(0, 10));
  const open = closing === undefined ? ended : monthAfter(closing);
  const shipped = ({ shipDate }: Line): number => monthNumber(shipDate);
  const ageOf = (line: Line): number => Math.max(monthNumber(line.invoiceDate) - shipped(line), 0);
  const whole = loaded.filter(
    (line) => passesButDates(line) && shipped(line) < open && monthNumber(line.invoiceDate) < open,
  );
  return grouped(whole, ({ label, carrier, currency }) => [label, carrier, currency]).flatMap(({ lines }) => {
    const billedBy = (list: readonly Line[], month: number, age: number): bigint =>
      costOf(list.filter((line) => shipped(line) === month && ageOf(line) <= age));
    const months = [...new Set(lines.map(shipped))];
    const growth = (age: number) => {
      const pairs = months
        .filter((month) => open - month - 1 > age)
        .map((month): Fraction => [billedBy(lines, month, age + 1), billedBy(lines, month, age)])
        .filter(([then, now]) => now > 0n && then > 0n);
      if (pairs.length < Number(min) || pairs.length === 0) return null;
      const bySize = pairs.toSorted(([a, b], [c, d]) => compareSizes(a * d, c * b));
      const factor: Fraction = [sum(pairs.map(([then]) => then)), sum(pairs.map(([, now]) => now))];
      return { months: pairs.length, factor, least: bySize[0] ?? ONE, greatest: bySize.at(-1) ?? ONE };
    };
    const examined = lines.filter(passes);
    return months.flatMap((month): Estimate[] => {
      const inMonth = examined.filter((line) => shipped(line) === month);
      const [first] = inMonth;
      if (first === undefined) return [];
      const age = open - month - 1;
      const billed = costOf(inMonth);
      const common = {
        first,
        month,
        age,
        billed,
        closed: dateOf(dayNumber(`${monthOf(open)}-01`) - 1),
        billedBy: [0, 1, 2, 3, 4, 5, 6].map((at) => billedBy(examined, month, at)),
      };
      const without = (basis: string): Estimate[] => [
        { ...common, basis, months: null, factor: null, total: null, low: null, high: null },
      ];
      if (open > ended) return without('month has not ended');
      if (age >= completeAge)
        return [
          {
            ...common,
            basis: 'complete',
            months: null,
            factor: null,
            total: billed,
            low: billed,
            high: billed,
          },
        ];
      let chain: ReturnType<typeof growth> = {
        months: Number.POSITIVE_INFINITY,
        factor: ONE,
        least: ONE,
        greatest: ONE,
      };
      for (let step = completeAge - 1; step >= age && chain !== null; step -= 1) {
        const next = growth(step);
        chain = next && {
          months: Math.min(chain.months, next.months),
          factor: times(chain.factor, next.factor),
          least: times(chain.least, next.least),
          greatest: times(chain.greatest, next.greatest),
        };
      }
      if (chain === null) return without('not enough history');
      if (billed <= 0n) return without('nothing billed yet');
      const grown = ([n, d]: Fraction): bigint => {
        const total = quotient(billed * n, d);
        return total > billed ? total : billed;
      };
      return [
        {
          ...common,
          basis: 'chain ladder',
          months: chain.months,
          factor: chain.factor,
          total: grown(chain.factor),
          low: grown(chain.least),
          high: grown(chain.greatest),
        },
      ];
    });
  });
}

export const accrual: Report = (view, parameters) =>
  estimatesOf(view, parameters).map(
    ({ first, month, closed, age, billedBy, billed, basis, months, factor, total, low, high }) => {
      const less = (amount: bigint | null): string | null =>
        amount === null ? null : money(amount - billed);
      return {
        cells: {
          ...{
            ship_month: monthOf(month),
            tenant: first.label,
            carrier: first.carrier,
            currency_code: first.currency,
            age,
          },
          ...Object.fromEntries(
            billedBy.map((amount, at) => [`billed_by_${at}`, at <= age ? money(amount) : null]),
          ),
          ...{ billing_cost: money(billed), basis, history_months: months },
          development_factor:
            factor === null ? null : millionths(quotient(factor[0] * 1_000_000n, factor[1])),
          completion_percent:
            basis === 'complete'
              ? '100.00'
              : factor === null
                ? null
                : hundredths(quotient(factor[1] * 10_000n, factor[0])),
          ...{ estimated_total: total === null ? null : money(total), estimated_unbilled: less(total) },
          ...{ unbilled_low: less(low), unbilled_high: less(high), closed_on: closed },
        },
        order: [first.currency, monthOf(month), first.label, first.carrier],
      };
    },
  );

export const accrualJournal: Report = (view, parameters) => {
  const { expense_account: expense = 'Freight expense', liability_account: liability = 'Accrued freight' } =
    parameters;
  return estimatesOf(view, parameters).flatMap(({ first, month, closed, billed, total }): AnswerRow[] => {
    const amount = total === null ? 0n : quotient(total - billed, 100n);
    if (amount <= 0n) return [];
    const entry = (
      place: number,
      name: string,
      day: string,
      account: string,
      isDebit: boolean,
    ): AnswerRow => ({
      cells: {
        ...{
          journal_date: day,
          entry: name,
          account,
          debit: isDebit ? hundredths(amount) : null,
          credit: isDebit ? null : hundredths(amount),
        },
        ...{
          currency_code: first.currency,
          tenant: first.label,
          carrier: first.carrier,
          ship_month: monthOf(month),
        },
        description: `${name} of freight shipped in ${monthOf(month)} and not billed: ${first.label}, ${first.carrier}`,
      },
      order: [first.currency, monthOf(month), first.label, first.carrier, place],
    });
    const next = dateOf(dayNumber(closed) + 1);
    return [
      entry(1, 'accrual', closed, expense, true),
      entry(2, 'accrual', closed, liability, false),
      entry(3, 'reversal', next, liability, true),
      entry(4, 'reversal', next, expense, false),
    ];
  });
};
