import { afterAll, describe, expect, test } from 'vitest';
import type { ReportRow } from '../../reports/cells.ts';
import { decimalText, reportsFixture, roundedQuotient, tenThousandths } from '../support/reports-fixture.ts';
import { countedShipments, seededInvoices } from '../support/seeded-invoices.ts';
import {
  costOf as cost,
  grouped,
  hundredthsText,
  packagesOf,
  percent,
  plainZone,
  ratedPounds,
} from './against-descriptions/plain-arithmetic.ts';

const invoices = seededInvoices(11, 60);
const rows = countedShipments(invoices);
type Row = (typeof rows)[number];

const fixture = await reportsFixture(invoices);
afterAll(() => fixture.remove());

async function answer(name: string, parameters: Record<string, string> = {}): Promise<readonly ReportRow[]> {
  const { rows } = await fixture.run(name, {}, parameters);
  return rows.map(({ partner_id, ...row }) => {
    expect(partner_id).toBe('partner-1');
    return row;
  });
}

/** Kilograms to pounds at 2.2046226218, in ten-thousandths of a pound. */
function pounds(sizes: readonly Row[]): bigint | null {
  const weighed = sizes.filter((row) => row.weight !== null);
  if (weighed.length === 0) return null;
  const of = (unit: string): bigint =>
    weighed
      .filter((row) => row.unit === unit)
      .reduce((sum, row) => sum + tenThousandths(row.weight ?? '0'), 0n);
  return of('LB') + roundedQuotient(of('KG') * 22_046_226_218n, 10_000_000_000n);
}

/** A pound in the unit of `exactPounds`. */
const EXACT = 100_000_000_000_000n;

/** Without any rounding; null when nothing was weighed. */
function exactPounds(...sizes: readonly Row[]): bigint | null {
  const weighed = sizes.filter((row) => row.weight !== null);
  if (weighed.length === 0) return null;
  return weighed.reduce(
    (sum, row) =>
      sum + tenThousandths(row.weight ?? '0') * (row.unit === 'KG' ? 22_046_226_218n : 10_000_000_000n),
    0n,
  );
}

/** amount / units in ten-thousandths, both being ten-thousandths. */
function ratio(amount: bigint, units: bigint | null): string | null {
  return units === null || units === 0n ? null : decimalText(roundedQuotient(amount * 10_000n, units));
}

function costColumns(group: readonly Row[]): Record<string, unknown> {
  const lb = pounds(group);
  const exact = exactPounds(...group);
  return {
    invoices: new Set(group.map((row) => row.invoiceId)).size,
    shipments: group.length,
    packages: packagesOf(group),
    billing_cost: decimalText(cost(group)),
    cost_per_shipment: ratio(cost(group), BigInt(packagesOf(group)) * 10_000n),
    billable_weight_lb: lb === null ? null : decimalText(lb),
    cost_per_lb:
      exact === null || exact === 0n ? null : decimalText(roundedQuotient(cost(group) * EXACT, exact)),
    credits: decimalText(cost(group.filter((row) => row.cost.startsWith('-')))),
  };
}

function sorted(list: readonly Record<string, unknown>[]): string[] {
  return list.map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).sort()))).sort();
}

function creditedOf(group: readonly Row[]): string | null {
  const credited = -cost(group.filter((row) => row.cost.startsWith('-')));
  return percent(credited, cost(group) + credited);
}

/** The squares of the carriers' shares, which are rounded once, together; no cost is below zero here. */
function concentrationOf(currency: unknown): number {
  const inCurrency = rows.filter((row) => row.currency === currency);
  const costs = grouped(inCurrency, (row) => [row.carrier]).map(([, group]) => cost(group));
  const whole = cost(inCurrency);
  expect(costs.every((each) => each >= 0n)).toBe(true);
  const squares = costs.reduce((sum, each) => sum + each * each, 0n);
  return Number(roundedQuotient(squares * 10_000n, whole * whole));
}

const whole = (row: Row): bigint => cost(rows.filter((each) => each.currency === row.currency));

describe('the three first reports', () => {
  test.each([
    ['tenants', 'tenant', (row: Row) => row.tenant],
    ['carriers', 'carrier', (row: Row) => row.carrier],
  ] as const)('%s sums, divides and rounds like whole numbers', async (name, key, of) => {
    const expected = grouped(rows, (row) => [of(row), row.currency]).map(([[value, currency], group]) => ({
      [key]: value,
      currency_code: currency,
      ...costColumns(group),
      ...(name === 'tenants'
        ? { tenant_id: `tenant-${String(value)}` }
        : {
            share_of_cost: percent(cost(group), whole(group[0] as Row)),
            concentration: concentrationOf(currency),
            credited_percent: creditedOf(group),
          }),
    }));
    expect(sorted(await answer(name))).toEqual(sorted(expected));
  });

  test('zones keep every spelling and bring each to one form', async () => {
    const expected = grouped(rows, (row) => [row.zone, row.currency]).map(([[zone, currency], group]) => ({
      carrier_zone: zone,
      currency_code: currency,
      ...costColumns(group),
      zone: plainZone(zone as string | null),
      share_of_shipments: percent(
        BigInt(group.length),
        BigInt(rows.filter((row) => row.currency === currency).length),
      ),
    }));
    expect(sorted(await answer('zones'))).toEqual(sorted(expected));
  });
});

const bounds = [0, 1, 2, 3, 5, 10, 20, 30, 50, 70, 150];
const breakOf = (row: Row): string => {
  const lb = exactPounds(row);
  if (lb === null) return 'no weight';
  const at = bounds.findIndex((bound) => lb <= BigInt(bound) * EXACT);
  if (at < 0) return 'over 150 lb';
  return at === 0 ? '0 lb' : `${bounds[at - 1]} to ${bounds[at]} lb`;
};
const weekOf = (day: string): string => {
  const date = new Date(`${day}T00:00:00Z`);
  // The Thursday of a week decides its year; the first week has the year's first Thursday.
  date.setUTCDate(date.getUTCDate() + 4 - (date.getUTCDay() || 7));
  const days = (date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000;
  return `${date.getUTCFullYear()}-W${String(Math.floor(days / 7) + 1).padStart(2, '0')}`;
};

describe('cost', () => {
  const keys: Readonly<Record<string, (row: Row) => string | null>> = {
    month: (row) => row.shipDate.slice(0, 7),
    week: (row) => weekOf(row.shipDate),
    tenant: (row) => row.tenant,
    carrier: (row) => row.carrier,
    service_level: (row) => row.service,
    zone: (row) => plainZone(row.zone),
    origin: (row) => row.origin,
    weight_break: breakOf,
  };

  test.each([
    ['tenant+carrier', ['tenant', 'carrier']],
    ['month', ['month']],
    ['week,service', ['week', 'service_level']],
    ['carrier zone', ['carrier', 'zone']],
    ['weight', ['weight_break']],
    ['origin', ['origin']],
    ['service+tenant+carrier', ['service_level', 'tenant', 'carrier']],
    ['origin+zone', ['origin', 'zone']],
  ])('by %s has a row for each %j in the lines', async (by, columns) => {
    const of = (row: Row) => columns.map((column) => keys[column]?.(row) ?? null);
    const expected = grouped(rows, (row) => [...of(row), row.currency]).map(([key, group]) => {
      const currency = key.at(-1);
      const whole = rows.filter(
        (row) => row.currency === currency && (columns.length === 1 || of(row)[0] === key[0]),
      );
      return {
        ...Object.fromEntries(columns.map((column, at) => [column, key[at]])),
        currency_code: currency,
        ...costColumns(group),
        share_of_cost: percent(cost(group), cost(whole)),
        share_of_shipments: percent(BigInt(group.length), BigInt(whole.length)),
        credited_percent: creditedOf(group),
      };
    });
    const found = await answer('cost', { by });
    expect(sorted(found.map(({ usual_origin: _, ...row }) => row))).toEqual(sorted(expected));
  });
});

describe('summary', () => {
  test('compares each month with the one before', async () => {
    const months = new Map(
      grouped(rows, (row) => [row.shipDate.slice(0, 7), row.currency]).map(([key, group]) => [
        key.join(),
        group,
      ]),
    );
    const expected = [...months].map(([key, group]) => {
      const [month = '', currency = ''] = key.split(',');
      const number = Number(month.slice(5)) - 1;
      const before = months.get(`2026-0${number},${currency}`);
      const change = before ? cost(group) - cost(before) : null;
      return {
        month,
        currency_code: currency,
        ...costColumns(group),
        charges: decimalText(cost(group.filter((row) => !row.cost.startsWith('-')))),
        change_on_previous: change === null ? null : decimalText(change),
        change_on_previous_percent: change === null || !before ? null : percent(change, cost(before)),
        change_on_year: null,
        change_on_year_percent: null,
        credited_percent: creditedOf(group),
        is_open: month >= '2026-04',
      };
    });
    expect(sorted(await answer('summary'))).toEqual(sorted(expected));
  });
});

describe('mix', () => {
  test('computes shares and their shift before rounding', async () => {
    const of = (month: string, carrier: unknown, currency: unknown): Row[] =>
      rows.filter(
        (row) => row.shipDate.startsWith(month) && row.carrier === carrier && row.currency === currency,
      );
    const share = (month: string, carrier: unknown, zone: unknown, currency: unknown): [bigint, bigint] => {
      const all = of(month, carrier, currency);
      return [BigInt(all.filter((row) => plainZone(row.zone) === zone).length), BigInt(all.length)];
    };
    const expected = grouped(rows, (row) => [
      row.shipDate.slice(0, 7),
      row.carrier,
      plainZone(row.zone),
      row.currency,
    ]).map(([[month, carrier, zone, currency], group]) => {
      const before = `2026-0${Number(String(month).slice(5)) - 1}`;
      const [part, whole] = share(String(month), carrier, zone, currency);
      const [partBefore, wholeBefore] = share(before, carrier, zone, currency);
      return {
        month,
        carrier,
        part: zone,
        currency_code: currency,
        shipments: group.length,
        packages: packagesOf(group),
        share_of_shipments: percent(part, whole),
        shift:
          wholeBefore === 0n
            ? null
            : hundredthsText(
                roundedQuotient((part * wholeBefore - partBefore * whole) * 10_000n, whole * wholeBefore),
              ),
        billing_cost: decimalText(cost(group)),
        cost_per_shipment: ratio(cost(group), BigInt(packagesOf(group)) * 10_000n),
        credits: costColumns(group).credits,
        average_zone: null,
      };
    });
    expect(sorted(await answer('mix'))).toEqual(sorted(expected));
  });
});

describe('rate-card', () => {
  test('computes prices from billed lines only', async () => {
    const expected = grouped(
      rows.filter(
        (row) => tenThousandths(row.cost) > 0n && ![row.service, row.zone, row.weight].includes(null),
      ),
      (row) => [row.carrier, row.service, plainZone(row.zone), ratedPounds(row), row.currency],
    ).map(([[carrier, service, zone, lb, currency], group]) => {
      const prices = group
        .map((row) => tenThousandths(row.cost))
        .sort((one, other) => (one < other ? -1 : 1));
      // The smallest price with at least that share of the prices up to and with it.
      const quantile = (tenths: number): string =>
        decimalText(prices[Math.max(0, Math.ceil((prices.length * tenths) / 10) - 1)] ?? 0n);
      return {
        carrier,
        service_level: service,
        zone,
        lb,
        currency_code: currency,
        shipments: group.length,
        lowest: decimalText(prices[0] ?? 0n),
        first_decile: quantile(1),
        median: decimalText(
          roundedQuotient((prices[(prices.length - 1) >> 1] ?? 0n) + (prices[prices.length >> 1] ?? 0n), 2n),
        ),
        last_decile: quantile(9),
        highest: decimalText(prices.at(-1) ?? 0n),
        distinct_prices: new Set(prices).size,
        rated_weight: `${lb}.0000`,
        rated_unit: 'lb',
      };
    });
    expect(sorted(await answer('rate-card'))).toEqual(sorted(expected));
  });
});

describe('billing-lag', () => {
  test('counts whole days and skips what has no carrier invoice date', async () => {
    const day = (text: string): number => Date.parse(`${text}T00:00:00Z`) / 86_400_000;
    const median = (list: number[]): string | null => {
      const sorted = list.sort((one, other) => one - other);
      const low = sorted[(list.length - 1) >> 1];
      const high = sorted[list.length >> 1];
      return low === undefined || high === undefined ? null : ((low + high) / 2).toFixed(1);
    };
    const expected = grouped(rows, (row) => [row.carrier, row.currency]).map(
      ([[carrier, currency], group]) => {
        const dated = group.filter((row) => row.carrierInvoiceDate !== null);
        return [
          carrier,
          currency,
          group.length,
          dated.length,
          median(dated.map((row) => day(row.carrierInvoiceDate ?? '') - day(row.shipDate))),
          median(dated.map((row) => day(row.invoiceDate) - day(row.carrierInvoiceDate ?? ''))),
          median(group.map((row) => day(row.invoiceDate) - day(row.shipDate))),
        ];
      },
    );
    const found = (await answer('billing-lag')).map((row) => [
      row.carrier,
      row.currency_code,
      row.shipments,
      row.with_carrier_invoice_date,
      row.ship_to_carrier_median,
      row.carrier_to_invoice_median,
      row.ship_to_invoice_median,
    ]);
    expect(found.map((row) => JSON.stringify(row)).sort()).toEqual(
      expected.map((row) => JSON.stringify(row)).sort(),
    );
  });
});
