/** Relations that hold whatever the rows are: parts add up to the whole, order and voids leave no trace. */

import { afterAll, describe, expect, test } from 'vitest';
import { listReports } from '../../reports/catalogue.ts';
import type { ReportFilters } from '../../reports/report-filters.ts';
import type { ReportRow } from '../../reports/report-result.ts';
import { withAllThreads } from '../support/processes/one-duckdb-thread.ts';
import {
  anInvoice,
  decimalText,
  reportsFixture,
  tenThousandths,
} from '../support/reports/reports-fixture.ts';
import { countedShipments, seededInvoices } from '../support/reports/seeded-invoices.ts';

const invoices = seededInvoices(23, 40);

const fixture = await reportsFixture(invoices);
afterAll(() => fixture.remove());

/** @param asked a report, and what it groups by: `cost by=weight` */
async function ask(asked: string, filters: ReportFilters = {}, of = fixture): Promise<readonly ReportRow[]> {
  const [name, parameters] = splitName(asked);
  return (await of.ask(name, filters, parameters)).rows;
}

function splitName(asked: string): readonly [string, Readonly<Record<string, string>>] {
  const [name = '', by] = asked.split(' by=');
  return [name, by === undefined ? {} : { by }];
}

const answers = new Map<string, Promise<readonly ReportRow[]>>();

/** Without filters, asked once for all who compare with it. */
function answered(name: string): Promise<readonly ReportRow[]> {
  const rows = answers.get(name) ?? ask(name);
  answers.set(name, rows);
  return rows;
}

function totals(rows: readonly ReportRow[], column = 'billing_cost'): Record<string, string> {
  const sums = new Map<string, bigint>();
  for (const row of rows) {
    const currency = String(row.currency_code);
    sums.set(currency, (sums.get(currency) ?? 0n) + tenThousandths(String(row[column] ?? '0')));
  }
  return Object.fromEntries([...sums].sort().map(([currency, sum]) => [currency, decimalText(sum)]));
}

const billed = totals(
  countedShipments(invoices).map((row) => ({ currency_code: row.currency, billing_cost: row.cost })),
);

/** Every report whose rows share out all the shipments between them. */
const PARTITIONS = [
  'tenants',
  'carriers',
  'zones',
  'cost by=tenant+carrier+service',
  'summary',
  'mix',
  'cost by=carrier+zone',
  'cost by=weight',
  'services',
  'cost by=origin',
  'accrual',
  'margin',
  'carrier-statements',
  'rolling-spend',
];

describe('sum over groups', () => {
  test.each(PARTITIONS)('%s adds up to what was billed', async (name) => {
    expect(totals(await answered(name))).toEqual(billed);
  });

  test('holds for the steps of a bridge and for a proof sheet', async () => {
    const bridge = await answered('bridge');
    for (const currency of ['USD', 'EUR']) {
      const amounts = bridge
        .filter((row) => row.currency_code === currency)
        .map((row) => tenThousandths(String(row.amount)));
      expect(amounts).toHaveLength(5);
      expect(amounts.slice(0, 4).reduce((sum, amount) => sum + amount)).toBe(amounts[4]);
    }
    const proof = (await answered('proof')).filter((row) => row.state === 'loaded');
    expect(totals(proof)).toEqual(billed);
  });
});

describe('splitting', () => {
  test.each(['tenants', 'carriers', 'cost by=origin'])(
    '%s of two periods add up to the whole',
    async (name) => {
      const parts = [
        ...(await ask(name, { to: '2026-03-14' })),
        ...(await ask(name, { from: '2026-03-15' })),
      ];
      expect(totals(parts)).toEqual(totals(await answered(name)));
    },
  );

  test('by each value of a filter gives the whole', async () => {
    const zones = (await answered('zones')).map((row) => String(row.carrier_zone ?? ''));
    const parts = await Promise.all([...new Set(zones)].map((zone) => ask('carriers', { zones: [zone] })));
    expect(totals(parts.flat())).toEqual(billed);
  });
});

describe('a filter by date', () => {
  // The first day of a month, or of a week, so that it cuts none.
  test.each([
    ['mix', '2026-03-01'],
    ['accrual', '2026-03-01'],
    ['rolling-spend', '2026-03-02'],
  ])(
    'shows rows of %s from %s as they are without it, since earlier months are still compared',
    async (name, from) => {
      const dayOf = (row: ReportRow) => String(row.starts_on ?? row.month ?? row.ship_month);
      const expected = (await answered(name)).filter((row) => dayOf(row) >= from.slice(0, dayOf(row).length));
      expect(expected.length).toBeGreaterThan(0);
      expect(await ask(name, { from })).toEqual(expected);
    },
  );
});

describe('order and voids', () => {
  test('loading in another order changes no report', async () => {
    const names = (await listReports()).map(({ name }) => name);
    const expected = await Promise.all(names.map(answered));
    // Nor must the order of rows come from the order in which threads end: one answers here, all of them there.
    await withAllThreads(async () => {
      const shuffled = await reportsFixture([...invoices].reverse());
      for (const [place, name] of names.entries())
        expect(await ask(name, {}, shuffled), name).toEqual(expected[place]);
      await shuffled.remove();
    });
  });

  test('an invoice that was voided changes no report of money', async () => {
    const extra = seededInvoices(99, 3).map((invoice) =>
      anInvoice(invoice.shipments, { level: 'tenant', state: 'voided', voidedAt: '2026-08-02T00:00:00Z' }),
    );
    const voided = await reportsFixture([...invoices, ...extra]);
    for (const name of [
      ...PARTITIONS,
      'rate-card',
      'price-changes',
      'bridge',
      'outliers',
      'duplicates',
      'billing-lag',
      'what-if',
      'levels',
      'data-quality',
    ]) {
      expect(await ask(name, {}, voided), name).toEqual(await answered(name));
    }
    await voided.remove();
  });
});
