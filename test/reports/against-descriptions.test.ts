/** Computes reports from what their descriptions say and nothing else: in whole numbers, without SQL, with filters and without. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReportFilters } from '../../reports/report-filters.js';
import type { ReportRow } from '../../reports/report-result.js';
import { runReport } from '../../reports/run-report.js';
import { type DenseLine, denseInvoices, linesOf } from '../support/reports/dense-invoices.js';
import {
  costOf,
  dayOf,
  doubleMedian,
  each,
  grouped,
  hundredthsText,
  medianOf,
  packagesOf,
  percent,
  plainZone,
  ratedPounds,
} from '../support/reports/plain-arithmetic.js';
import {
  decimalText,
  type ReportsFixture,
  reportsFixture,
  roundedQuotient,
  tenThousandths,
} from '../support/reports/reports-fixture.js';

const invoices = denseInvoices(7, 28);
const all = linesOf(invoices).filter((line) => !line.isVoided);
let fixture: ReportsFixture;
let folder: string;

beforeAll(async () => {
  fixture = await reportsFixture(invoices);
  folder = await mkdtemp(join(tmpdir(), 'billsync-oracle-'));
});
afterAll(() => Promise.all([fixture.remove(), rm(folder, { recursive: true, force: true })]));

type Line = DenseLine;
type Plain = Record<string, unknown>;

/** Filters, and the lines that pass them at tenant level. */
const FILTERED: readonly { readonly filters: ReportFilters; readonly passes: (line: Line) => boolean }[] = [
  { filters: {}, passes: () => true },
  {
    filters: { from: '2026-02-01', to: '2026-04-15', carriers: ['UPS'], tenants: ['Acme'] },
    passes: ({ shipDate, carrier, tenant }) =>
      shipDate >= '2026-02-01' && shipDate < '2026-04-15' && carrier === 'ups' && tenant === 'Acme',
  },
];

/** Asks with each of the filters and compares the columns that are computed, row by row, in any order. */
async function agrees(
  name: string,
  oracle: (lines: readonly Line[]) => readonly Plain[],
  asked: {
    readonly parameters?: Readonly<Record<string, string>>;
    readonly files?: Readonly<Record<string, readonly string[]>>;
    readonly isOfAllLevels?: boolean;
  } = {},
): Promise<void> {
  const tables: Record<string, string> = {};
  for (const [table, lines] of Object.entries(asked.files ?? {})) {
    tables[table] = join(folder, `${name}-${table}.csv`);
    await writeFile(tables[table], `${lines.join('\n')}\n`);
  }
  for (const { filters, passes } of FILTERED) {
    const lines = all.filter((line) => passes(line) && (asked.isOfAllLevels || line.level !== 'partner'));
    const expected = oracle(lines);
    const result = await runReport({
      ...{ databasePath: fixture.path, name, filters, tables },
      parameters: asked.parameters ?? {},
    });
    const columns = Object.keys(expected[0] ?? {});
    const kept = (row: ReportRow | Plain) => JSON.stringify(columns.map((column) => row[column] ?? null));
    expect(result.rows.map(kept).sort(), `${name} ${JSON.stringify(filters)}`).toEqual(
      expected.map(kept).sort(),
    );
    expect(expected.length).toBeGreaterThan(0);
  }
}

const D = decimalText;
const T = tenThousandths;
const isCharge = (line: Line): boolean => T(line.cost) > 0n;
/** A line above zero with a service, zone and weight. */
const hasCell = (line: Line): boolean =>
  isCharge(line) && line.service !== null && line.zone !== null && line.weight !== null;
const cellOf = (line: Line) => [
  line.carrier,
  line.service,
  plainZone(line.zone),
  ratedPounds(line),
  line.currency,
];
const largest = (values: readonly bigint[]): bigint => values.reduce((a, b) => (b > a ? b : a));
const absolute = (value: bigint): bigint => (value < 0n ? -value : value);

describe('spend', () => {
  test('rolling-spend', () =>
    agrees(
      'rolling-spend',
      (lines) =>
        grouped(lines, (line) => [line.carrier, line.currency]).flatMap(([[carrier, currency], group]) => {
          const monday = (day: number): number => day - ((day + 3) % 7);
          const weeks = group.map((line) => monday(dayOf(line.shipDate)));
          const first = Math.min(...weeks);
          const sum = (from: number, to: number): bigint =>
            costOf(group.filter((_, at) => (weeks[at] ?? 0) >= from && (weeks[at] ?? 0) <= to));
          const found: Plain[] = [];
          for (let week = first; week <= Math.max(...weeks); week += 7) {
            const rolling = sum(week - 21, week);
            found.push({
              ...{ carrier, currency_code: currency },
              starts_on: new Date(week * 86_400_000).toISOString().slice(0, 10),
              billing_cost: D(sum(week, week)),
              rolling_cost: D(rolling),
              change_on_week: week === first ? null : D(rolling - sum(week - 28, week - 7)),
              is_full: (week - first) / 7 + 1 >= 4,
            });
          }
          return found;
        }),
      { parameters: { weeks: '4' } },
    ));

  test('services', () =>
    agrees('services', (lines) =>
      grouped(lines, (line) => [line.carrier, line.service, line.currency]).map(
        ([[carrier, service, currency], group]) => {
          const isGround = (of: string | null): boolean => (of ?? '').split(' ').includes('Ground');
          const ofCarrier = lines.filter((line) => line.carrier === carrier && line.currency === currency);
          const ground = ofCarrier.filter((line) => isGround(line.service));
          const [n, groundPackages] = [BigInt(packagesOf(group)), BigInt(packagesOf(ground))];
          const excess = costOf(group) * groundPackages - costOf(ground) * n;
          const isOther = !isGround(service as string | null);
          const like = (line: Line) => JSON.stringify([plainZone(line.zone), ratedPounds(line)]);
          const groundCells = new Map(
            grouped(ground.filter(hasCell), (line) => [like(line)]).map(([[key], cell]) => [key, cell]),
          );
          const compared = isOther
            ? group.filter((line) => hasCell(line) && groundCells.has(like(line)))
            : [];
          // In 10^-12 of a unit; each line less its ground cell's mean.
          const premium = compared.reduce((sum, line) => {
            const cell = groundCells.get(like(line)) ?? [];
            return sum + T(line.cost) * 10n ** 20n - (costOf(cell) * 10n ** 20n) / BigInt(cell.length);
          }, 0n);
          return {
            ...{ carrier, service_level: service, currency_code: currency, is_ground: !isOther },
            ...{ shipments: group.length, packages: packagesOf(group), billing_cost: D(costOf(group)) },
            share_of_shipments: percent(BigInt(group.length), BigInt(ofCarrier.length)),
            cost_per_shipment: each(costOf(group), packagesOf(group)),
            ground_cost_per_shipment: ground.length === 0 ? null : each(costOf(ground), packagesOf(ground)),
            premium_per_shipment:
              isOther && groundPackages > 0n ? D(roundedQuotient(excess, n * groundPackages)) : null,
            premium_percent:
              isOther && costOf(ground) > 0n
                ? hundredthsText(roundedQuotient(excess * 10_000n, costOf(ground) * n))
                : null,
            like_for_like_shipments: compared.length === 0 ? null : compared.length,
            premium_like_for_like: compared.length === 0 ? null : D(roundedQuotient(premium, 10n ** 20n)),
          };
        },
      ),
    ));

  test('margin', () =>
    agrees(
      'margin',
      (lines) => {
        const bearers = (carrier: unknown, tracking: string, currency: unknown) =>
          grouped(
            lines.filter(
              (line) => line.carrier === carrier && line.tracking === tracking && line.currency === currency,
            ),
            (line) => [line.tenant],
          ).sort(([[one]], [[other]]) => (String(one) < String(other) ? -1 : 1));
        /** What a tenant bears of 7.0001, which each of the first forty numbers cost with UPS in USD. */
        const costTo = (
          tenant: unknown,
          carrier: unknown,
          tracking: string,
          currency: unknown,
        ): bigint | null => {
          if (carrier !== 'ups' || currency !== 'USD' || Number(tracking.slice(1)) >= 40) return null;
          const shares = bearers(carrier, tracking, currency).map(([[name], group]) => {
            const billed = costOf(group);
            return { name, billed: billed > 0n ? billed : 0n };
          });
          const whole = shares.reduce((sum, { billed }) => sum + billed, 0n);
          if (whole === 0n) return shares[0]?.name === tenant ? 70_001n : 0n;
          let before = 0n;
          for (const { name, billed } of shares) {
            const to = roundedQuotient(70_001n * (before + billed), whole);
            if (name === tenant) return to - roundedQuotient(70_001n * before, whole);
            before += billed;
          }
          return 0n;
        };
        return grouped(lines, (line) => [line.tenant, line.carrier, line.currency]).map(
          ([[tenant, carrier, currency], group]) => {
            const numbers = grouped(group, (line) => [line.tracking]).map(([[tracking], of]) => ({
              billed: costOf(of),
              own: costTo(tenant, carrier, String(tracking), currency),
            }));
            const covered = numbers.filter(({ own }) => own !== null);
            const billed = covered.reduce((sum, number) => sum + number.billed, 0n);
            const own = covered.reduce((sum, number) => sum + (number.own ?? 0n), 0n);
            return {
              ...{ tenant, carrier, currency_code: currency, tracking_numbers: numbers.length },
              ...{ covered_numbers: covered.length, billing_cost: D(costOf(group)), covered_cost: D(billed) },
              ...{ own_cost: D(own), margin: D(billed - own), margin_percent: percent(billed - own, billed) },
            };
          },
        );
      },
      {
        files: {
          costs: [
            'carrier,tracking_number,currency_code,cost',
            ...Array.from({ length: 40 }, (_, at) => [`UPS,T${at},USD,7`, `ups,T${at},USD,0.0001`]).flat(),
          ],
        },
      },
    ));

  test('budget', () =>
    agrees(
      'budget',
      (lines) =>
        [
          { month: '2026-02', tenant: null, carrier: null, budget: 5_000_000n, rate: 112_345_678n },
          { month: '2026-03', tenant: 'acme', carrier: 'UPS', budget: 1_000_000n, rate: 120_000_000n },
        ].map(({ month, tenant, carrier, budget, rate }) => {
          const of = lines.filter(
            (line) =>
              line.shipDate.startsWith(month) &&
              (tenant === null || line.tenant.toLowerCase() === tenant) &&
              (carrier === null || line.carrier === carrier.toLowerCase()),
          );
          const euros = costOf(of.filter((line) => line.currency === 'EUR'));
          const cost =
            costOf(of.filter((line) => line.currency === 'USD')) +
            roundedQuotient(euros * rate, 100_000_000n);
          return {
            ...{ month, tenant, carrier, currency_code: 'USD', shipments: of.length, unconverted: 0 },
            ...{ budget: D(budget), billing_cost: D(cost), variance: D(cost - budget) },
            used_percent: percent(cost, budget),
          };
        }),
      {
        files: {
          budget: [
            'month,tenant,carrier,currency_code,amount',
            '2026-02,,,USD,500',
            '2026-03,acme,UPS,USD,60',
            '2026-03,Acme,ups,usd,40',
          ].map((line) => line.replace('Acme,ups', 'acme,UPS')),
          fx: ['month,from_currency,to_currency,rate', ',EUR,USD,1.12345678', '2026-03,EUR,USD,1.2'],
        },
      },
    ));
});

describe('change', () => {
  test('bridge', () =>
    agrees(
      'bridge',
      (lines) =>
        grouped(lines, (line) => [line.currency]).flatMap(([[currency], group]) => {
          const first = group.filter(({ shipDate }) => shipDate < '2026-03-01');
          const second = group.filter(({ shipDate }) => shipDate >= '2026-03-01');
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
        }),
      {
        parameters: {
          first_from: '2026-01-01',
          first_to: '2026-03-01',
          second_from: '2026-03-01',
          second_to: '2026-05-01',
        },
      },
    ));

  /** Twice the median and the number of lines, of each cell in each month. */
  const monthlyPrices = (lines: readonly Line[]) =>
    grouped(lines.filter(hasCell), (line) => [...cellOf(line), line.shipDate.slice(0, 7)]).map(
      ([key, of]) => ({
        cell: JSON.stringify(key.slice(0, 5)),
        service: [key[0], key[1], key[4]],
        month: String(key[5]),
        n: of.length,
        median: medianOf(of.map((line) => T(line.cost))),
      }),
    );

  function priceChanges(lines: readonly Line[], minShipments: number, minCells: number) {
    const seen = monthlyPrices(lines).filter(({ n }) => n >= minShipments);
    const pairs = seen.flatMap((price) => {
      const before = seen
        .filter(({ cell, month }) => cell === price.cell && month < price.month)
        .sort((one, other) => (one.month < other.month ? 1 : -1))[0];
      return before ? [{ ...price, before: before.median }] : [];
    });
    return grouped(
      pairs.map(({ median, before, ...rest }) => ({
        ...rest,
        median: String(median),
        before: String(before),
      })),
      ({ service, month }) => [...service, month],
    ).flatMap(([[carrier, service, currency, month], of]) => {
      const changes = of.map(({ median, before }) => ({ now: BigInt(median), before: BigInt(before) }));
      const raised = changes.filter(({ now, before }) => now > before).length;
      const lowered = changes.filter(({ now, before }) => now < before).length;
      if (raised + lowered === 0) return [];
      const parts = changes.map(({ now, before }) => roundedQuotient((now - before) * 10n ** 12n, before));
      const isGeneral = (count: number): boolean => of.length >= minCells && count * 5 >= of.length * 4;
      return [
        {
          ...{ month, carrier, service_level: service, currency_code: currency },
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

  test('price-changes', () =>
    agrees('price-changes', (lines) => priceChanges(lines, 2, 2), {
      parameters: { min_shipments: '2', min_cells: '2' },
    }));

  test('outliers', () =>
    agrees(
      'outliers',
      (lines) => {
        const changes = priceChanges(lines, 3, 3).filter(({ verdict }) => verdict !== 'some prices');
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
        return grouped(lines.filter(hasCell), (line) => [...cellOf(line), periodOf(line)]).flatMap(
          ([, of]) => {
            if (of.length < 5) return [];
            // All doubled, so that medians are whole; a distance is doubled once more by its own median.
            const middle = doubleMedian(of.map((line) => T(line.cost)));
            const distances = of.map((line) => absolute(2n * T(line.cost) - middle));
            const spread = doubleMedian(distances);
            const total = distances.reduce((sum, distance) => sum + distance, 0n);
            return of.flatMap((line) => {
              const distance = 2n * T(line.cost) - middle;
              const [above, below] =
                spread > 0n
                  ? [distance * 2n * 6_745n, spread * 10_000n]
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
});

describe('audit', () => {
  test('rate-variance', () =>
    agrees(
      'rate-variance',
      (lines) => {
        const rateOf = (line: Line): bigint | null => {
          if (line.currency !== 'USD') return null;
          const isLight = line.weight !== null && (ratedPounds(line) ?? 9) <= 1;
          if (line.carrier === 'ups' && line.service === 'Ground' && plainZone(line.zone) === '5')
            // Both lines name three things; the one with a day counts, and without one the lower rate.
            return line.shipDate >= '2026-03-01' ? 113_000n : isLight ? 81_000n : 103_000n;
          if (line.carrier === 'ups' && line.service === 'Ground' && isLight) return 81_000n;
          return line.carrier === 'ups' && line.service === 'Ground' ? 90_000n : 150_000n;
        };
        return grouped(lines.filter(isCharge), (line) => [line.carrier, line.service, line.currency]).map(
          ([[carrier, service, currency], group]) => {
            const covered = group.filter((line) => rateOf(line) !== null);
            const over = covered.map((line) => T(line.cost) - (rateOf(line) ?? 0n));
            const sum = (list: readonly bigint[]): bigint => list.reduce((total, one) => total + one, 0n);
            return {
              ...{ carrier, service_level: service, currency_code: currency, shipments: group.length },
              ...{ covered_shipments: covered.length, billing_cost: D(costOf(group)) },
              ...{ covered_cost: D(costOf(covered)), expected_cost: D(costOf(covered) - sum(over)) },
              ...{ variance: D(sum(over)), overcharged_shipments: over.filter((each) => each > 0n).length },
              overcharged_cost: D(sum(over.filter((each) => each > 0n))),
            };
          },
        );
      },
      {
        files: {
          rates: [
            'carrier,service_level,zone,from_lb,to_lb,currency_code,rate,valid_from,valid_to',
            'UPS,ground,Zone 5,,,USD,10.3,,',
            'ups,GROUND,5,,,usd,11.3,2026-03-01,',
            'ups,Ground,,0,1,USD,8.1,,',
            'ups,Ground,,,,USD,9,,',
            ',,,,,USD,15,,',
            ',,,,,USD,15.5,,',
          ],
        },
      },
    ));

  test('duplicates', () =>
    agrees('duplicates', (lines) =>
      grouped(
        lines.filter((line) => T(line.cost) !== 0n),
        (line) => [line.carrier, line.tracking, line.currency],
      ).flatMap(([[carrier, tracking, currency], group]) => {
        const charges = group.map((line) => T(line.cost)).filter((cost) => cost > 0n);
        const credits: bigint[] = [];
        for (const credit of group.map((line) => T(line.cost)).filter((cost) => cost < 0n)) {
          const at = charges.indexOf(-credit);
          if (at < 0) credits.push(credit);
          else charges.splice(at, 1);
        }
        const sum = (list: readonly bigint[]): bigint => list.reduce((total, one) => total + one, 0n);
        if (charges.length < 2) return [];
        const risk = sum(charges) - largest(charges) + sum(credits);
        if (risk <= 0n) return [];
        const count = (of: (line: Line) => string): number => new Set(group.map(of)).size;
        const scope =
          count(({ tenant }) => tenant) > 1
            ? 'across tenants'
            : count(({ invoiceId }) => invoiceId) > 1
              ? 'across invoices'
              : 'within an invoice';
        return [
          {
            ...{ carrier, tracking_number: tracking, currency_code: currency, scope, lines: group.length },
            same_amount: new Set(charges).size < charges.length,
            charged: D(costOf(group.filter(isCharge))),
            credited: D(costOf(group.filter((line) => !isCharge(line)))),
            money_at_risk: D(risk),
          },
        ];
      }),
    ));

  test('adjustments', () =>
    agrees('adjustments', (lines) =>
      grouped(lines, (line) => [line.carrier, line.tracking, line.tenant, line.currency]).flatMap(
        ([[carrier, tracking, tenant, currency], group]) => {
          const inOrder = [...group].sort(
            (one, other) =>
              one.invoiceDate.localeCompare(other.invoiceDate) ||
              (one.invoiceId < other.invoiceId
                ? -1
                : one.invoiceId > other.invoiceId
                  ? 1
                  : one.row - other.row),
          );
          const [first, ...later] = inOrder.filter(isCharge);
          const credited = costOf(group.filter((line) => T(line.cost) < 0n));
          if (group.length < 2 && credited === 0n) return [];
          const changed = [
            later.some((line) => line.weight !== first?.weight || line.unit !== first?.unit) ? 'weight' : '',
            later.some((line) => plainZone(line.zone) !== plainZone(first?.zone ?? null)) ? 'zone' : '',
            later.some((line) => line.service !== first?.service) ? 'service' : '',
          ].filter((word) => word !== '');
          return [
            {
              ...{ carrier, tracking_number: tracking, tenant, currency_code: currency, lines: group.length },
              first_charge: first ? D(T(first.cost)) : null,
              adjusted: D(costOf(later)),
              credited: D(credited),
              changed: changed.length === 0 ? null : changed.join(', '),
            },
          ];
        },
      ),
    ));

  test('late-billed', () =>
    agrees(
      'late-billed',
      (lines) =>
        lines
          .filter((line) => dayOf(line.invoiceDate) - dayOf(line.shipDate) > 40)
          .map((line) => {
            const days = dayOf(line.invoiceDate) - dayOf(line.shipDate);
            const ofNumber = lines.filter(
              (other) => other.carrier === line.carrier && other.tracking === line.tracking,
            );
            return {
              ...{ invoice_id: line.invoiceId, row_number: line.row, billing_cost: D(T(line.cost)) },
              ...{ days_to_invoice: days, days_late: days - 40 },
              carrier_days:
                line.carrierInvoiceDate === null
                  ? null
                  : dayOf(line.carrierInvoiceDate) - dayOf(line.shipDate),
              first_billed_on: ofNumber.map((other) => other.invoiceDate).sort()[0],
            };
          }),
      { parameters: { days: '40' } },
    ));

  test('what-if', async () => {
    const prices = (lines: readonly Line[]) => lines.filter(hasCell);
    const key = (line: Line) => JSON.stringify([line.service, plainZone(line.zone), ratedPounds(line)]);
    const [{ filters } = { filters: {} }] = FILTERED;
    const { rows } = await runReport({ databasePath: fixture.path, name: 'what-if', filters });
    const lines = prices(all.filter(({ level }) => level !== 'partner'));
    const expected = ['USD', 'EUR'].flatMap((currency) =>
      [
        ['ups', 'FedEx'],
        ['FedEx', 'ups'],
      ].map(([carrier, other]) => {
        const of = (name: string | undefined) =>
          lines.filter((line) => line.carrier === name && line.currency === currency);
        const cells = new Map(
          grouped(of(other), (line) => [key(line)]).map(([[cell], group]) => [cell, group]),
        );
        const covered = of(carrier).filter((line) => (cells.get(key(line))?.length ?? 0) >= 3);
        const repriced = covered.reduce(
          (sum, line) => sum + medianOf((cells.get(key(line)) ?? []).map((each) => T(each.cost))),
          0n,
        );
        const saving = costOf(covered) - repriced;
        return [
          ...[carrier, other, currency, of(carrier).length, covered.length, D(costOf(covered)), D(repriced)],
          ...[D(saving), percent(saving, costOf(covered))],
        ];
      }),
    );
    const columns = ['carrier', 'other_carrier', 'currency_code', 'shipments', 'covered_shipments'];
    columns.push('covered_cost', 'repriced_cost', 'saving', 'saving_percent');
    const found = rows.map((row) => JSON.stringify(columns.map((column) => row[column])));
    expect(found.sort()).toEqual(expected.map((row) => JSON.stringify(row)).sort());
  });
});

describe('month end and health', () => {
  test('carrier-statements', () =>
    agrees(
      'carrier-statements',
      (lines) => [
        ...grouped(lines, (line) => [line.carrier, line.carrierInvoiceDate, line.currency]).map(
          ([[carrier, date, currency], group]) => {
            const stated =
              carrier === 'ups' && date === '2026-03-14' && currency === 'USD' ? 1_000_000n : null;
            return {
              ...{ carrier, carrier_invoice_date: date, currency_code: currency, shipments: group.length },
              ...{ packages: packagesOf(group), billing_cost: D(costOf(group)) },
              credits: D(costOf(group.filter((line) => T(line.cost) < 0n))),
              stated_amount: stated === null ? null : D(stated),
              difference: stated === null ? null : D(costOf(group) - stated),
              state: stated === null ? 'not stated' : 'differs',
            };
          },
        ),
        {
          ...{ carrier: 'ups', carrier_invoice_date: '2026-03-15', currency_code: 'USD', shipments: 0 },
          ...{ packages: 0, billing_cost: '0.0000', credits: '0.0000', stated_amount: '5.0000' },
          ...{ difference: '-5.0000', state: 'not billed' },
        },
      ],
      {
        files: {
          statements: [
            'carrier,carrier_invoice_date,currency_code,amount',
            'UPS,2026-03-14,USD,60',
            'Ups,2026-03-14,usd,40',
            'ups,2026-03-15,USD,5',
          ],
        },
      },
    ));

  test('levels', () =>
    agrees(
      'levels',
      (lines) => {
        const numbers = grouped(lines, (line) => [line.carrier, line.tracking, line.currency]).map(
          ([[carrier, , currency], group]) => ({
            ...{ carrier, currency, month: group.map(({ shipDate }) => shipDate.slice(0, 7)).sort()[0] },
            tenant: group.filter(({ level }) => level !== 'partner'),
            partner: group.filter(({ level }) => level === 'partner'),
          }),
        );
        return grouped(numbers, ({ month, carrier, currency }) => [month, carrier, currency]).map(
          ([[month, carrier, currency], group]) => {
            const sum = (of: (number: (typeof numbers)[number]) => readonly Line[]): bigint =>
              group.reduce((total, number) => total + costOf(of(number)), 0n);
            const [tenant, partner] = [sum((number) => number.tenant), sum((number) => number.partner)];
            return {
              ...{ month, carrier, currency_code: currency },
              ...{
                tenant_level_cost: D(tenant),
                partner_level_cost: D(partner),
                difference: D(partner - tenant),
              },
              only_at_tenant_level: group.filter((number) => number.partner.length === 0).length,
              only_at_partner_level: group.filter((number) => number.tenant.length === 0).length,
              cost_differs: group.filter(
                (number) =>
                  number.tenant.length > 0 &&
                  number.partner.length > 0 &&
                  costOf(number.tenant) !== costOf(number.partner),
              ).length,
            };
          },
        );
      },
      { isOfAllLevels: true },
    ));

  test('data-quality', () =>
    agrees('data-quality', (lines) => {
      const origins = new Set(lines.map(({ origin }) => origin));
      const isLater = (date: string | null, than: string): boolean => date !== null && date > than;
      const checks: Readonly<Record<string, (line: Line) => boolean>> = {
        'origin is missing': ({ origin }) => origin === null,
        'billable weight is missing': ({ weight }) => weight === null,
        'carrier zone is missing': ({ zone }) => zone === null,
        'carrier zone has an unusual spelling': ({ zone }) => zone !== plainZone(zone),
        'carrier invoice date is missing': ({ carrierInvoiceDate }) => carrierInvoiceDate === null,
        'service level is missing': ({ service }) => service === null,
        'cost is zero': ({ cost }) => T(cost) === 0n,
        'cost is a credit': ({ cost }) => T(cost) < 0n,
        'carrier billed before it was shipped': ({ carrierInvoiceDate, shipDate }) =>
          carrierInvoiceDate !== null && isLater(shipDate, carrierInvoiceDate),
        'ship date is outside the billing period': ({ shipDate }) => Number(shipDate.slice(8)) > 20,
        "currency differs from the invoice's header": ({ currency, invoiceId }) =>
          invoices.find(({ id }) => id === invoiceId)?.currency !== currency,
        'origin has lost its leading zero': ({ origin }) => origin === '2139' && origins.has('02139'),
        'origin has an unusual spelling': ({ origin }) => origin === ' 94107' || origin === 'k1a  0b1',
      };
      return grouped(lines, ({ currency }) => [currency]).flatMap(([[currency], group]) =>
        Object.entries(checks).flatMap(([problem, isFound]) => {
          const found = group
            .filter(isFound)
            .sort((one, other) =>
              one.invoiceId < other.invoiceId
                ? -1
                : one.invoiceId > other.invoiceId
                  ? 1
                  : one.row - other.row,
            );
          if (found.length === 0) return [];
          return [
            {
              ...{ problem, currency_code: currency, shipments: found.length, example: found[0]?.tracking },
              share_of_shipments: percent(BigInt(found.length), BigInt(group.length)),
              invoices: new Set(found.map(({ invoiceId }) => invoiceId)).size,
              billing_cost: D(costOf(found)),
            },
          ];
        }),
      );
    }));
});
