/** Reports that compare months or weeks, and estimate what is not billed yet. */

import {
  type AnswerRow,
  cellOf,
  costOf,
  grouped,
  hasCell,
  hundredths,
  per,
  periodOf,
  plainZone,
  type Report,
  ratedPounds,
  zoneOrder,
} from '../answer.ts';
import {
  absolute,
  compareSizes,
  dateOf,
  dayNumber,
  median,
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
  { loaded, passesButDates, isUntil, isFrom, passes },
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
    for (let week = begin; week <= end; week += 7) {
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
          is_full: (week - begin) / 7 + 1 >= Number(weeks),
        },
        order: [first.currency, dateOf(week), first.carrier],
      });
    }
    return found;
  });
};

/** The periods are stated, since their default depends on what is loaded. */
export const bridge: Report = (
  { lines: all },
  { by = 'total', first_from: from1 = '', first_to: to1 = '', second_from: from2 = '', second_to: to2 = '' },
) => {
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
  const serviceOf = ({ service }: Line): string => (same === '1' ? (service ?? '').toLowerCase() : '');
  const sideOf = (line: Line): string | null =>
    by === 'carrier' ? line.carrier : by === 'service' ? line.service : plainZone(line.zone);
  /** What must be equal for a price to count: zone, service and rated weight otherwise. */
  const restOf = (line: Line): readonly unknown[] => [
    by === 'carrier' ? null : line.carrier,
    by === 'service' ? null : serviceOf(line),
    by === 'zone' ? null : plainZone(line.zone),
    ...[ratedPounds(line), line.currency],
  ];
  const cells = new Map(
    grouped(lines, (line) => [sideOf(line), ...restOf(line)]).map(({ first, lines }) => [
      JSON.stringify([sideOf(first), ...restOf(first)]),
      lines,
    ]),
  );
  const sides = grouped(lines, (line) => [
    by === 'carrier' ? null : line.carrier,
    sideOf(line),
    line.currency,
  ]);
  return sides.flatMap(({ first, lines }) =>
    sides
      .filter(
        ({ first: other }) =>
          other.currency === first.currency &&
          sideOf(other) !== sideOf(first) &&
          (by === 'carrier' || other.carrier === first.carrier),
      )
      .map(({ first: other }) => {
        const priced = lines.flatMap((line) => {
          const cell = cells.get(JSON.stringify([sideOf(other), ...restOf(line)])) ?? [];
          return cell.length >= Number(min) && cell.length > 0
            ? [{ line, price: median(cell.map(({ cost }) => cost)) }]
            : [];
        });
        const [cost, repriced] = [
          sum(priced.map(({ line }) => line.cost)),
          sum(priced.map(({ price }) => price)),
        ];
        const name = { carrier: 'other_carrier', service: 'other_service', zone: 'other_zone' }[by] ?? '';
        const own =
          { carrier: {}, service: { service_level: first.service }, zone: { zone: plainZone(first.zone) } }[
            by
          ] ?? {};
        return {
          cells: {
            ...{
              carrier: first.carrier,
              ...own,
              [name]: sideOf(other),
              currency_code: first.currency,
              shipments: lines.length,
            },
            ...{ covered_shipments: priced.length, coverage_percent: percent(priced.length, lines.length) },
            ...{ covered_cost: money(cost), repriced_cost: money(repriced), saving: money(cost - repriced) },
            saving_percent: priced.length === 0 ? null : percent(cost - repriced, cost),
            saving_per_shipment: priced.length === 0 ? null : per(cost - repriced, priced.length),
          },
          order: [
            first.currency,
            first.carrier,
            ...(by === 'zone'
              ? [...zoneOrder(plainZone(first.zone)), ...zoneOrder(plainZone(other.zone))]
              : [sideOf(first), sideOf(other)]),
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
