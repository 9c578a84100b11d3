/** Reports that compare prices of like lines. */

import {
  type AnswerRow,
  type Cells,
  cellOf,
  costOf,
  creditedOf,
  creditsOf,
  grouped,
  hasCell,
  hundredths,
  isCharge,
  month,
  packagesOf,
  per,
  periodOf,
  plainOrigin,
  plainZone,
  type Report,
  ratedAs,
  ratedKey,
  ratedPounds,
  zoneNumber,
  zoneOrder,
} from '../answer.ts';
import {
  absolute,
  compareSizes,
  dateOf,
  dayNumber,
  decile,
  doubleMedian,
  groups,
  largest,
  least,
  median,
  money,
  monthNumber,
  monthOf,
  parse,
  percent,
  quotient,
  sum,
  sumRounded,
} from '../exact.ts';
import type { Line } from '../view.ts';
import { weightBreak } from './spend.ts';

const words = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
const costsOf = (lines: readonly Line[]): bigint[] => lines.map(({ cost }) => cost);

export const services: Report = ({ lines: all }, { ground: word = 'ground' }) => {
  const isGround = (line: Line): boolean => words(line.service ?? '').includes(words(word));
  return grouped(all, (line) => [line.carrier, line.service, line.currency]).map(({ first, lines }) => {
    const ofCarrier = all.filter(
      ({ carrier, currency }) => carrier === first.carrier && currency === first.currency,
    );
    const ground = ofCarrier.filter(isGround);
    const [n, ofGround] = [BigInt(packagesOf(lines)), BigInt(packagesOf(ground))];
    const excess = costOf(lines) * ofGround - costOf(ground) * n;
    const isOther = !isGround(first);
    const groundCells = new Map(
      grouped(ground.filter(hasCell), like).map(({ first, lines }) => [JSON.stringify(like(first)), lines]),
    );
    const pairs = (isOther ? lines : []).filter(hasCell).flatMap((line) => {
      const cell = groundCells.get(JSON.stringify(like(line)));
      return cell === undefined ? [] : [{ line, cell }];
    });
    const premium = sumRounded(
      pairs.map(({ line, cell }) => [line.cost * BigInt(cell.length) - costOf(cell), BigInt(cell.length)]),
    );
    const credits = lines.filter(({ cost }) => cost < 0n).length;
    return {
      cells: {
        ...{ carrier: first.carrier, service_level: first.service, currency_code: first.currency },
        ...{ shipments: lines.length, share_of_shipments: percent(lines.length, ofCarrier.length) },
        ...{
          billing_cost: money(costOf(lines)),
          cost_per_shipment: per(costOf(lines), n),
          is_ground: !isOther,
        },
        ground_cost_per_shipment: per(costOf(ground), ofGround),
        premium_per_shipment: isOther && ofGround > 0n ? money(quotient(excess, n * ofGround)) : null,
        premium_percent:
          isOther && costOf(ground) > 0n ? hundredths(quotient(excess * 10_000n, costOf(ground) * n)) : null,
        ...{ packages: Number(n), like_for_like_shipments: pairs.length === 0 ? null : pairs.length },
        premium_like_for_like: pairs.length === 0 ? null : money(premium),
        ...{ credits: money(creditsOf(lines)), credit_lines: credits, credited_percent: creditedOf(lines) },
        credit_lines_percent: percent(credits, lines.length),
      },
      order: [first.currency, first.carrier, -costOf(lines), first.service],
    };
  });
};

const like = (line: Line): readonly unknown[] => [plainZone(line.zone), ...ratedKey(line)];

export const mix: Report = ({ loaded, lines: all, passesButDates }, { by = 'zone', grain = 'month' }) => {
  const whole = loaded.filter(passesButDates);
  const partOf = (line: Line): string | null =>
    by === 'zone' ? plainZone(line.zone) : by === 'service' ? line.service : weightBreak(line)[1];
  const inPeriod = (list: readonly Line[], start: string, { carrier, currency }: Line): Line[] =>
    list.filter(
      (line) =>
        line.carrier === carrier && line.currency === currency && periodOf(line.date, grain).start === start,
    );
  return grouped(all, (line) => [
    periodOf(line.date, grain).start,
    line.carrier,
    partOf(line),
    line.currency,
  ]).map(({ first, lines }) => {
    const { start, name } = periodOf(first.date, grain);
    const before = grain === 'week' ? dateOf(dayNumber(start) - 7) : `${monthOf(monthNumber(start) - 1)}-01`;
    const [now, then] = [inPeriod(all, start, first), inPeriod(whole, before, first)];
    const [n, m] = [BigInt(now.length), BigInt(then.length)];
    const partThen = BigInt(then.filter((line) => partOf(line) === partOf(first)).length);
    const zonesOf = (list: readonly Line[]): (bigint | null)[] =>
      list.flatMap((line) => (line.zone === null ? [] : [zoneNumber(plainZone(line.zone))]));
    const ofService = zonesOf(
      whole.filter(({ carrier, service }) => carrier === first.carrier && service === first.service),
    );
    const numbers = ofService.filter((zone) => zone !== null);
    const isScale =
      by === 'service' &&
      first.service !== null &&
      numbers.length > 0 &&
      numbers.length === ofService.length &&
      largest(numbers) - least(numbers) <= 200_000n;
    const own = zonesOf(lines).filter((zone) => zone !== null);
    const part = partOf(first);
    return {
      cells: {
        ...{
          [grain]: name,
          carrier: first.carrier,
          part,
          currency_code: first.currency,
          shipments: lines.length,
        },
        share_of_shipments: percent(lines.length, n),
        shift:
          m === 0n ? null : hundredths(quotient((BigInt(lines.length) * m - partThen * n) * 10_000n, n * m)),
        ...{ billing_cost: money(costOf(lines)), cost_per_shipment: per(costOf(lines), packagesOf(lines)) },
        packages: packagesOf(lines),
        average_zone:
          isScale && own.length > 0 ? hundredths(quotient(sum(own), 100n * BigInt(own.length))) : null,
        credits: money(creditsOf(lines)),
      },
      order: [
        first.currency,
        start,
        first.carrier,
        ...(by === 'weight' ? [weightBreak(first)[0]] : zoneOrder(part)),
      ],
    };
  });
};

export const rateCard: Report = ({ lines: all }, { min_shipments: min = '1' }) =>
  grouped(all.filter(hasCell), cellOf)
    .filter(({ lines }) => lines.length >= Number(min))
    .map(({ first, lines }) => {
      const costs = costsOf(lines);
      const rated = ratedAs(first);
      return {
        cells: {
          ...{ carrier: first.carrier, service_level: first.service, zone: plainZone(first.zone) },
          ...{
            lb: rated?.lb ?? null,
            currency_code: first.currency,
            shipments: lines.length,
            lowest: money(least(costs)),
          },
          ...{
            first_decile: money(decile(costs, 1)),
            median: money(median(costs)),
            last_decile: money(decile(costs, 9)),
          },
          ...{ highest: money(largest(costs)), distinct_prices: new Set(costs).size },
          ...{ rated_weight: rated?.weight ?? null, rated_unit: rated?.unit ?? null },
        },
        order: [
          ...[first.currency, first.carrier, first.service],
          ...[...zoneOrder(plainZone(first.zone)), rated?.exact ?? null, rated?.weight ?? null],
        ],
      };
    });

interface Moves {
  readonly minShipments: number;
  readonly minCells: number;
  readonly isByZone?: boolean;
}

interface Move {
  readonly first: Line;
  readonly month: string;
  readonly cells: Cells;
  readonly isGeneral: boolean;
}

/** @param compared all of whose prices are compared @param isExamined a cell needs such a line to have a row */
function priceMoves(
  compared: readonly Line[],
  isExamined: (line: Line) => boolean,
  { minShipments, minCells, isByZone = false }: Moves,
): Move[] {
  const prices = grouped(compared.filter(hasCell), (line) => [...cellOf(line), month(line.date)])
    .filter(({ lines }) => lines.length >= minShipments)
    .map(({ first, lines }) => ({
      first,
      lines,
      cell: JSON.stringify(cellOf(first)),
      month: month(first.date),
      price: doubleMedian(costsOf(lines)),
    }));
  const pairs = prices.flatMap((now) => {
    const before = prices
      .filter((one) => one.cell === now.cell && one.month < now.month)
      .sort((one, other) => (one.month < other.month ? 1 : -1))[0];
    const examined = now.lines.filter(isExamined).length;
    return before === undefined || examined === 0 ? [] : [{ ...now, before: before.price, examined }];
  });
  return groups(pairs, ({ first, month }) => [
    first.carrier,
    first.service,
    first.currency,
    month,
    isByZone ? plainZone(first.zone) : null,
  ]).flatMap((of) => {
    const raised = of.filter(({ price, before }) => price > before).length;
    const lowered = of.filter(({ price, before }) => price < before).length;
    const [one] = of;
    if (one === undefined || raised + lowered === 0) return [];
    // The median of changes in percent, as fractions: of an even number the mean of the middle two.
    const parts = of
      .map(({ price, before }) => [price - before, before] as const)
      .sort(([a, b], [c, d]) => compareSizes(a * d, c * b));
    const middle = [parts[(parts.length - 1) >> 1], parts[parts.length >> 1]].filter(
      (part) => part !== undefined,
    );
    const isMost = (count: number): boolean => of.length >= minCells && count * 5 >= of.length * 4;
    const verdict = isMost(raised)
      ? 'general increase'
      : isMost(lowered)
        ? 'general decrease'
        : 'some prices';
    const cells: Cells = {
      ...{ month: one.month, carrier: one.first.carrier, service_level: one.first.service },
      ...(isByZone ? { zone: plainZone(one.first.zone) } : {}),
      ...{
        currency_code: one.first.currency,
        cells_compared: of.length,
        cells_raised: raised,
        cells_lowered: lowered,
      },
      share_raised: percent(raised, of.length),
      median_change_percent: hundredths(sumRounded(middle.map(([n, d]) => [n * 5_000n, d]))),
      ...{ shipments: of.reduce((total, { examined }) => total + examined, 0), verdict },
    };
    return [{ first: one.first, month: one.month, cells, isGeneral: verdict !== 'some prices' }];
  });
}

export const priceChanges: Report = (
  { loaded, isOfTenant, passes },
  { by = 'service', min_shipments: min = '3', min_cells: cells = '3' },
) =>
  priceMoves(loaded.filter(isOfTenant), passes, {
    minShipments: Number(min),
    minCells: Number(cells),
    isByZone: by === 'zone',
  }).map(({ first, month, cells }) => ({
    cells,
    order: [
      first.currency,
      month,
      first.carrier,
      first.service,
      ...(by === 'zone' ? zoneOrder(plainZone(first.zone)) : []),
    ],
  }));

export const outliers: Report = (
  { loaded, passes },
  { threshold = '3.5', min_shipments: min = '8', min_amount: amount = '1', min_percent: percentage = '10' },
) => {
  const moves = priceMoves(loaded, () => true, { minShipments: 3, minCells: 3 }).filter(
    ({ isGeneral }) => isGeneral,
  );
  const periodOfLine = (line: Line): string | null =>
    moves
      .filter(
        ({ first, month: of }) =>
          first.carrier === line.carrier &&
          first.service === line.service &&
          first.currency === line.currency &&
          of <= month(line.date),
      )
      .map(({ month }) => `${month}-01`)
      .sort()
      .at(-1) ?? null;
  const [limit, minAmount, minPercent] = [threshold, amount, percentage].map((text) => parse(text) ?? 0n) as [
    bigint,
    bigint,
    bigint,
  ];
  return grouped(loaded.filter(hasCell), (line) => [...cellOf(line), periodOfLine(line)]).flatMap(
    ({ lines }): AnswerRow[] => {
      if (lines.length < Number(min)) return [];
      // Doubled, so that medians are whole; a distance is doubled once more by its own median.
      const middle = doubleMedian(costsOf(lines));
      const distances = lines.map(({ cost }) => absolute(2n * cost - middle));
      const spread = doubleMedian(distances);
      return lines.filter(passes).flatMap((line): AnswerRow[] => {
        const distance = 2n * line.cost - middle;
        // (x - median) / (1.4826 * spread), or by 1.253314 times the mean distance; both doubled.
        const [above, below] =
          spread > 0n
            ? [distance * 2n * 10_000n, spread * 14_826n]
            : [distance * BigInt(lines.length) * 1_000_000n, sum(distances) * 1_253_314n];
        if (
          distance === 0n ||
          absolute(distance) < 2n * minAmount ||
          absolute(distance) * 1_000_000n < minPercent * middle
        )
          return [];
        if (absolute(above) * 10_000n < limit * below) return [];
        const rated = ratedAs(line);
        return [
          {
            cells: {
              ...ofLine(line),
              ...{
                carrier: line.carrier,
                service_level: line.service,
                zone: plainZone(line.zone),
                lb: rated?.lb ?? null,
                currency_code: line.currency,
              },
              ...{
                tracking_number: line.tracking,
                billing_cost: money(line.cost),
                median: money(quotient(middle, 2n)),
              },
              ...{
                difference: money(quotient(distance, 2n)),
                robust_z: hundredths(quotient(above * 100n, below)),
              },
              ...{
                like_shipments: lines.length,
                period_from: periodOfLine(line),
                rated_weight: rated?.weight ?? null,
                rated_unit: rated?.unit ?? null,
              },
            },
            order: [line.currency, -absolute(distance), line.tracking],
          },
        ];
      });
    },
  );
};

export const ofLine = (line: Line): Cells => ({
  ...{ tenant: line.label, invoice_number: line.invoice.number, ship_date: line.shipDate },
  ...{ invoice_id: line.invoice.id, row_number: line.row },
});

export const minimumCharges: Report = (
  { loaded, isOfTenant, passes },
  { min_shipments: min = '3', min_cells: minCells = '3' },
) =>
  grouped(
    loaded.filter((line) => isOfTenant(line) && isCharge(line) && line.service !== null),
    (line) => [line.carrier, line.service, line.currency],
  ).flatMap(({ first, lines }) => {
    let before: bigint | null = null;
    const months = grouped(lines, (line) => [month(line.date)]).sort((one, other) =>
      month(one.first.date) < month(other.first.date) ? -1 : 1,
    );
    return months.flatMap(({ first: ofMonth, lines: inMonth }): AnswerRow[] => {
      const prices = grouped(inMonth.filter(hasCell), cellOf)
        .filter(({ lines }) => lines.length >= Number(min))
        .map(({ first, lines }) => ({ lb: ratedPounds(first) ?? 0, twice: doubleMedian(costsOf(lines)) }));
      if (prices.length === 0) return [];
      const lowest = least(prices.map(({ twice }) => twice));
      const alike = prices.filter(({ twice }) => twice === lowest);
      if (alike.length < Number(minCells)) return [];
      const [then, examined] = [before, inMonth.filter(passes)];
      before = lowest;
      const atFloor = examined.filter(({ cost }) => 2n * cost === lowest);
      if (examined.length === 0) return [];
      return [
        {
          cells: {
            ...{
              month: month(ofMonth.date),
              carrier: first.carrier,
              service_level: first.service,
              currency_code: first.currency,
            },
            ...{
              minimum_charge: money(quotient(lowest, 2n)),
              priced_alike: alike.length,
              up_to_lb: Math.max(...alike.map(({ lb }) => lb)),
            },
            ...{
              shipments: examined.length,
              floor_shipments: atFloor.length,
              floor_cost: money(costOf(atFloor)),
            },
            share_of_shipments: percent(atFloor.length, examined.length),
            change: then === null ? null : money(quotient(lowest - then, 2n)),
            change_percent: then === null ? null : percent(lowest - then, then),
          },
          order: [first.currency, month(ofMonth.date), first.carrier, first.service],
        },
      ];
    });
  });

export const dimensionalWeight: Report = (
  { loaded, passes },
  { times = '2', min_lb: minLb = '3', min_shipments: min = '20' },
) => {
  // A weight of zero is not billed by size.
  const weighed = loaded.filter(
    (line) =>
      isCharge(line) &&
      line.service !== null &&
      line.weight !== null &&
      line.weight > 0n &&
      (plainOrigin(line.origin) ?? '') !== '',
  );
  const factor = parse(times) ?? 0n;
  return grouped(weighed, (line) => [
    line.label,
    line.carrier,
    line.service,
    plainOrigin(line.origin),
  ]).flatMap(({ lines }) => {
    if (lines.length < Number(min)) return [];
    const usual = Number(
      decile(
        lines.map((line) => BigInt(ratedPounds(line) ?? 0)),
        9,
      ),
    );
    return lines.filter(passes).flatMap((line): AnswerRow[] => {
      const billed = ratedPounds(line) ?? 0;
      if (BigInt(billed) * 10_000n < factor * BigInt(usual) || billed - usual < Number(minLb)) return [];
      const alike = loaded.filter(
        (other) =>
          isCharge(other) &&
          line.zone !== null &&
          other.carrier === line.carrier &&
          other.service === line.service &&
          other.currency === line.currency &&
          plainZone(other.zone) === plainZone(line.zone) &&
          month(other.date) === month(line.date) &&
          ratedPounds(other) === usual,
      );
      const twice = alike.length === 0 ? null : doubleMedian(costsOf(alike));
      return [
        {
          cells: {
            ...ofLine(line),
            ...{
              carrier: line.carrier,
              service_level: line.service,
              zone: plainZone(line.zone),
              origin: plainOrigin(line.origin),
            },
            ...{
              currency_code: line.currency,
              tracking_number: line.tracking,
              billed_lb: billed,
              usual_lb: usual,
              billing_cost: money(line.cost),
            },
            ...{
              usual_cost: twice === null ? null : money(quotient(twice, 2n)),
              difference: twice === null ? null : money(quotient(2n * line.cost - twice, 2n)),
            },
            like_shipments: lines.length,
          },
          order: [
            line.currency,
            twice === null ? null : twice - 2n * line.cost,
            usual - billed,
            line.tracking,
          ],
        },
      ];
    });
  });
};
