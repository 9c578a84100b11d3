/** Cases that random histories do not reach, worked out by hand. */

import { describe, expect, test } from 'vitest';
import { findReport } from '../../reports/catalogue.ts';
import { openReportSession } from '../../reports/report-session.ts';
import {
  anInvoice,
  aShipment,
  cells,
  type FixtureShipment,
  reportsFixture,
  runReportOn,
} from '../support/reports-fixture.ts';

const many = (count: number, stated: Partial<FixtureShipment>): FixtureShipment[] =>
  Array.from({ length: count }, () => aShipment(stated));

describe('a filter by date', () => {
  const filters = { by: 'invoice-date', from: '2026-10-01', to: '2026-10-31' } as const;
  const on = (invoiceDate: string, cost: string, rest: Partial<FixtureShipment> = {}) =>
    aShipment({ invoiceDate, cost, weight: '2', ...rest });
  const several = (count: number, line: FixtureShipment) => Array.from({ length: count }, () => line);

  test('keeps the like shipments of an outlier, and outliers outside the filter do not use up the limit', async () => {
    const lines = [
      ...several(16, on('2026-09-10', '10')),
      ...[on('2026-09-11', '90'), on('2026-10-11', '60'), on('2026-10-12', '10')],
    ];
    const request = { filters, parameters: { limit: '1' } };
    const result = await runReportOn('outliers', [anInvoice(lines)], request);
    expect(cells(result, 'billing_cost', 'median', 'like_shipments')).toEqual([['60.0000', '10.0000', 19]]);
  });
});

describe('outliers', () => {
  test('lists the most money first and reports how many rows the limit leaves out', async () => {
    const lines = ['2', '8'].flatMap((zone) => [
      ...many(9, { zone, cost: '10' }),
      aShipment({ zone, cost: `${zone}0` }),
    ]);
    const outliers = (parameters: Record<string, string>) =>
      runReportOn('outliers', [anInvoice(lines)], { parameters });
    const cut = '1 of 2 rows: the limit leaves out the others.';
    const one = await outliers({ limit: '1' });
    expect([cells(one, 'billing_cost'), one.head.notes.includes(cut)]).toEqual([[['80.0000']], true]);
    const all = await outliers({});
    expect([cells(all, 'billing_cost'), all.head.notes.includes(cut)]).toEqual([
      [['80.0000'], ['20.0000']],
      false,
    ]);
    expect(all.head.parameters.limit).toBe('100000');
  });

  test('refuses to answer in part without an explicit limit', async () => {
    const { sql, ...report } = findReport('late-billed');
    const invoices = [anInvoice(many(3, { shipDate: '2026-01-01', invoiceDate: '2026-06-01' }))];
    const fixture = await reportsFixture(invoices);
    const session = await openReportSession({ databasePath: fixture.path });
    try {
      const parameters = report.parameters.map((each) =>
        each.name === 'limit' ? { ...each, default: '2' } : each,
      );
      await expect(session.run({ ...report, sql, parameters })).rejects.toThrow('has 3 rows');
      expect((await session.run({ ...report, sql, parameters }, { limit: '3' })).head.notes).toEqual([]);
    } finally {
      session.close();
      await fixture.remove();
    }
  });
});

test('gaps are not reported for invoices that are known only from details, without a partner', async () => {
  const numbered = [1, 2, 3, 4, 5, 6].map((number, at) => ({
    ...{ number: `B-${number}`, tenant: ['Acme', 'Beta'][at % 2] ?? '', date: `2026-01-1${number}` },
    ...{ start: `2026-01-0${number}`, end: `2026-01-0${number + 1}` },
  }));
  for (const without of [['B-3'], ['B-3', 'B-4']]) {
    const fetched = numbered.map((stated) =>
      anInvoice([aShipment({ tenant: stated.tenant })], {
        ...stated,
        ...(without.includes(stated.number) ? { partnerId: null } : {}),
      }),
    );
    const result = await runReportOn('gaps', fetched, { publishedAt: '2026-01-07T00:00:00Z' });
    expect(cells(result, 'kind', 'finding')).toEqual([]);
  }
});
