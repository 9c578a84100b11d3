import { test } from 'vitest';
import type { ReportFilters } from '../../../reports/report-filters.ts';
import { decimalText as D, roundedQuotient } from '../../support/reports-fixture.ts';
import { denseInvoices } from './dense-invoices.ts';
import { absolute, cellOf, hasCell, type Line, oracleOver, T } from './description-oracle.ts';
import { costOf, doubleMedian, grouped, hundredthsText, ratedPounds } from './plain-arithmetic.ts';

const invoices = denseInvoices(7, 28);
const { agrees } = oracleOver(invoices);

const day = (text: string, days: number): string =>
  new Date(Date.parse(text) + days * 86_400_000).toISOString().slice(0, 10);
const NAMED = {
  ...{ first_from: '2026-01-01', first_to: '2026-02-28' },
  ...{ second_from: '2026-03-01', second_to: '2026-04-30' },
};

/** Of the dates of the filter with as many days before it, or of the latest month that is published with the month before. */
function usualPeriods(lines: readonly Line[], { from, to }: ReportFilters): typeof NAMED {
  if (from !== undefined && to !== undefined) {
    const days = (Date.parse(to) - Date.parse(from)) / 86_400_000;
    return { first_from: day(from, -days - 1), first_to: day(from, -1), second_from: from, second_to: to };
  }
  const dates = lines.map(({ shipDate }) => shipDate).filter((date) => date <= '2026-04-01');
  const first = `${dates.sort().at(-1)?.slice(0, 7)}-01`;
  const before = `${day(first, -1).slice(0, 7)}-01`;
  const after = `${day(first, 31).slice(0, 7)}-01`;
  return { first_from: before, first_to: day(first, -1), second_from: first, second_to: day(after, -1) };
}

test.each([
  ['named', NAMED],
  ['usual', {}],
])('bridge of %s periods', (_which, parameters) =>
  agrees(
    'bridge',
    (_lines, loaded, { butDates, filters }) => {
      const lines = loaded.filter(butDates);
      const periods = { ...usualPeriods(lines, filters), ...parameters };
      const within = (from: string, to: string) => (line: Line) =>
        line.shipDate >= from && line.shipDate <= to;
      return grouped(lines, (line) => [line.currency]).flatMap(([[currency], group]) => {
        const first = group.filter(within(periods.first_from, periods.first_to));
        const second = group.filter(within(periods.second_from, periods.second_to));
        const [n1, n2] = [BigInt(first.length), BigInt(second.length)];
        const [c1, c2] = [costOf(first), costOf(second)];
        const full = (line: Line): boolean => ![line.service, line.zone, line.weight].includes(null);
        const before = new Map(
          grouped(first.filter(full), cellOf).map(([key, of]) => [JSON.stringify(key), of]),
        );
        const price = grouped(second.filter(full), cellOf).reduce((sum, [key, of]) => {
          const cell = before.get(JSON.stringify(key));
          if (!cell) return sum;
          const mean = (BigInt(of.length) * costOf(cell) * 10n ** 20n) / BigInt(cell.length);
          return sum + costOf(of) * 10n ** 20n - mean;
        }, 0n);
        const steps = {
          'first period': c1,
          volume: roundedQuotient((n2 - n1) * c1, n1),
          price: roundedQuotient(price, 10n ** 20n),
          'second period': c2,
        };
        const mix = c2 - c1 - steps.volume - steps.price;
        return Object.entries({ ...steps, mix }).map(([step, amount]) => ({
          ...{ step, currency_code: currency, amount: D(amount) },
        }));
      });
    },
    { parameters },
  ),
);

/** Twice the median and the number of lines, of each cell in each month. */
const monthlyPrices = (lines: readonly Line[]) =>
  grouped(lines.filter(hasCell), (line) => [...cellOf(line), line.shipDate.slice(0, 7)]).map(([key, of]) => ({
    cell: JSON.stringify(key.slice(0, 5)),
    service: [key[0], key[1], key[4]],
    zone: key[2],
    month: String(key[5]),
    n: of.length,
    median: doubleMedian(of.map((line) => T(line.cost))),
  }));

interface PriceRules {
  readonly minShipments: number;
  readonly minCells: number;
  readonly isByZone?: boolean;
}

/** @param lines that are examined @param compared all of whose prices are compared */
function priceChanges(
  lines: readonly Line[],
  compared: readonly Line[],
  { minShipments, minCells, isByZone = false }: PriceRules,
) {
  const keyOf = ({ cell, month }: { readonly cell: string; readonly month: string }) => `${cell} ${month}`;
  const examined = new Map(monthlyPrices(lines).map((price) => [keyOf(price), price.n]));
  const seen = monthlyPrices(compared).filter(({ n }) => n >= minShipments);
  const pairs = seen.flatMap((price) => {
    const before = seen
      .filter(({ cell, month }) => cell === price.cell && month < price.month)
      .sort((one, other) => (one.month < other.month ? 1 : -1))[0];
    const n = examined.get(keyOf(price));
    return before && n !== undefined ? [{ ...price, n, before: before.median }] : [];
  });
  return grouped(
    pairs.map(({ median, before, ...rest }) => ({
      ...rest,
      median: String(median),
      before: String(before),
    })),
    ({ service, month, zone }) => [...service, month, ...(isByZone ? [zone] : [])],
  ).flatMap(([[carrier, service, currency, month, zone], of]) => {
    const changes = of.map(({ median, before }) => ({ now: BigInt(median), before: BigInt(before) }));
    const raised = changes.filter(({ now, before }) => now > before).length;
    const lowered = changes.filter(({ now, before }) => now < before).length;
    if (raised + lowered === 0) return [];
    const parts = changes.map(({ now, before }) => roundedQuotient((now - before) * 10n ** 12n, before));
    const isGeneral = (count: number): boolean => of.length >= minCells && count * 5 >= of.length * 4;
    return [
      {
        ...{ month, carrier, service_level: service, currency_code: currency },
        ...(isByZone ? { zone } : {}),
        ...{ cells_compared: of.length, cells_raised: raised, cells_lowered: lowered },
        shipments: of.reduce((sum, { n }) => sum + n, 0),
        median_change_percent: hundredthsText(roundedQuotient(doubleMedian(parts), 2n * 10n ** 8n)),
        verdict: isGeneral(raised)
          ? 'general increase'
          : isGeneral(lowered)
            ? 'general decrease'
            : 'some prices',
      },
    ];
  });
}

test.each(['service', 'zone'])('price-changes by %s', (by) =>
  agrees(
    'price-changes',
    (lines, loaded, passes) =>
      priceChanges(lines, loaded.filter(passes.tenant), {
        ...{ minShipments: 2, minCells: 2, isByZone: by === 'zone' },
      }),
    { parameters: { by, min_shipments: '2', min_cells: '2' } },
  ),
);

test('outliers', () =>
  agrees(
    'outliers',
    (examined, loaded) => {
      const changes = priceChanges(loaded, loaded, { minShipments: 3, minCells: 3 }).filter(
        ({ verdict }) => verdict !== 'some prices',
      );
      const periodOf = (line: Line): string | null =>
        changes
          .filter(
            (change) =>
              change.carrier === line.carrier &&
              change.service_level === line.service &&
              change.currency_code === line.currency &&
              String(change.month) <= line.shipDate.slice(0, 7),
          )
          .map(({ month }) => `${String(month)}-01`)
          .sort()
          .at(-1) ?? null;
      return grouped(loaded.filter(hasCell), (line) => [...cellOf(line), periodOf(line)]).flatMap(
        ([, of]) => {
          if (of.length < 5) return [];
          // All doubled, so that medians are whole; a distance is doubled once more by its own median.
          const middle = doubleMedian(of.map((line) => T(line.cost)));
          const distances = of.map((line) => absolute(2n * T(line.cost) - middle));
          const spread = doubleMedian(distances);
          const total = distances.reduce((sum, distance) => sum + distance, 0n);
          return of
            .filter((line) => examined.includes(line))
            .flatMap((line) => {
              const distance = 2n * T(line.cost) - middle;
              const [above, below] =
                spread > 0n
                  ? [distance * 2n * 10_000n, spread * 14_826n]
                  : [distance * BigInt(of.length) * 1_000_000n, total * 1_253_314n];
              if (absolute(distance) < 2n * 10_000n || absolute(distance) * 10n < middle) return [];
              if (absolute(above) * 10n < 35n * below) return [];
              return [
                {
                  ...{ invoice_id: line.invoiceId, row_number: line.row, lb: ratedPounds(line) },
                  ...{ like_shipments: of.length, period_from: periodOf(line) },
                  ...{ median: D(roundedQuotient(middle, 2n)), difference: D(roundedQuotient(distance, 2n)) },
                  robust_z: hundredthsText(roundedQuotient(above * 100n, below)),
                },
              ];
            });
        },
      );
    },
    { parameters: { min_shipments: '5' } },
  ));
