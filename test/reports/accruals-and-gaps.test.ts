import { describe, expect, test } from 'vitest';
import {
  anInvoice,
  aShipment,
  cells,
  type FixtureShipment,
  runReportOn,
} from '../support/reports-fixture.ts';

describe('accrual', () => {
  const billed = (month: number, later: number, cost: string, stated: Partial<FixtureShipment> = {}) =>
    aShipment({
      shipDate: `2026-0${month}-10`,
      invoiceDate: `2026-0${month + later}-15`,
      cost,
      ...stated,
    });
  const estimate = async (
    lines: readonly FixtureShipment[],
    publishedAt: string,
    parameters: Readonly<Record<string, string>> = {},
  ): Promise<unknown[][]> =>
    cells(
      await runReportOn('accrual', [anInvoice(lines)], { publishedAt, parameters }),
      'ship_month',
      'basis',
      'estimated_total',
      'estimated_unbilled',
    );

  test('ignores a month that had nothing before and something after', async () => {
    // January to April had nothing by their own end and 40 a month later: growth over nothing is no number.
    const lines = [1, 2, 3, 4].map((month) => billed(month, 1, '40'));
    const may = await estimate([...lines, billed(5, 0, '1')], '2026-06-05T00:00:00Z', {
      complete_after: '1',
    });
    expect(may.at(-1)).toEqual(['2026-05', 'not enough history', null, null]);
  });

  test('requires the configured number of earlier months', async () => {
    // Two months doubled from 10 to 20; with two of them enough, March's 30 becomes 60.
    const lines = [1, 2].flatMap((month) => [billed(month, 0, '10'), billed(month, 1, '10')]);
    const asked = (months: string) =>
      estimate([...lines, billed(3, 0, '30')], '2026-04-02T00:00:00Z', {
        complete_after: '1',
        min_months: months,
      });
    expect((await asked('3')).at(-1)).toEqual(['2026-03', 'not enough history', null, null]);
    expect((await asked('2')).at(-1)).toEqual(['2026-03', 'chain ladder', '60.0000', '30.0000']);
  });

  test('counts age from the publication date, not from the newest line', async () => {
    // Nothing was invoiced since April; in September every month is older than three months all the same.
    const lines = [billed(3, 0, '30'), billed(3, 1, '5')];
    expect(await estimate(lines, '2026-09-01T00:00:00Z')).toEqual([
      ['2026-03', 'complete', '35.0000', '0.0000'],
    ]);
    // In the middle of March that month has not ended, and a month counts as ended on its last day.
    expect(await estimate([billed(3, 0, '30')], '2026-03-30T23:00:00Z')).toEqual([
      ['2026-03', 'month has not ended', null, null],
    ]);
    expect(await estimate([billed(3, 0, '30')], '2026-03-31T01:00:00Z')).toEqual([
      ['2026-03', 'not enough history', null, null],
    ]);
  });

  test('counts age as of the requested instant', async () => {
    const invoice = anInvoice([billed(1, 0, '30')], { loadedAt: '2026-01-16T00:00:00Z' });
    const basis = async (asKnownOn: string) =>
      cells(await runReportOn('accrual', [invoice], { filters: { asKnownOn } }), 'age', 'basis');
    expect(await basis('2026-01-20')).toEqual([[null, 'month has not ended']]);
    expect(await basis('2026-03-15')).toEqual([[1, 'not enough history']]);
  });
});

describe('gaps', () => {
  const weekly = (start: string, number: string, tenant = 'Acme'): ReturnType<typeof anInvoice> => {
    const day = (days: number): string =>
      new Date(Date.parse(`${start}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
    return anInvoice([aShipment({ tenant })], { tenant, number, start, end: day(6), date: day(8) });
  };
  const weeks = ['2026-01-05', '2026-01-12', '2026-01-19', '2026-02-09', '2026-02-16'];
  const invoices = weeks.map((start, index) => weekly(start, `INV-${index + 1}`));

  test('names the latest invoice before a gap and the earliest one after it', async () => {
    const several = [weekly('2026-01-19', 'INV-3b'), ...invoices, weekly('2026-02-09', 'INV-4b')];
    for (const list of [several, several.toReversed()]) {
      const result = await runReportOn('gaps', list, { publishedAt: '2026-02-25T00:00:00Z' });
      expect(cells(result, 'kind', 'after_invoice', 'before_invoice')).toEqual([
        ['period', 'INV-3b', 'INV-4'],
      ]);
    }
  });

  test('reports when the next invoice is overdue', async () => {
    const on = async (publishedAt: string): Promise<unknown[][]> =>
      cells(
        await runReportOn('gaps', invoices.slice(0, 3), { publishedAt }),
        'kind',
        'missing',
        'after_invoice',
        'expected_to',
      );
    // The next period, 26 January to 1 February, ends when the step after it begins: 2 February, and 2 + 2 days of grace.
    expect(await on('2026-02-05T23:00:00Z')).toEqual([]);
    expect(await on('2026-02-06T00:00:00Z')).toEqual([['overdue', 1, 'INV-3', '2026-02-01']]);
    expect(await on('2026-02-13T00:00:00Z')).toEqual([['overdue', 2, 'INV-3', '2026-02-08']]);
  });

  test('counts an invoice that is known only from its details, without a partner', async () => {
    const numbered = [1, 2, 3, 4, 5, 6].map((number, index) =>
      weekly(`2026-01-0${index + 1}`, `B-${number}`, ['Acme', 'Beta'][index % 2]),
    );
    for (const without of [[2], [2, 3]]) {
      const fetched = numbered.map((invoice, index) =>
        without.includes(index) ? { ...invoice, partnerId: null } : invoice,
      );
      const result = await runReportOn('gaps', fetched, { publishedAt: '2026-01-07T00:00:00Z' });
      expect(cells(result, 'kind', 'finding')).toEqual([]);
    }
  });

  test('starts a gap on the first uncovered day, whether periods end on their last day or on the next first day', async () => {
    // Periods that end where the next begins: after 5 to 12 and 12 to 19 January, 19 January is open.
    const touching = ['2026-01-05', '2026-01-12', '2026-02-02', '2026-02-09'].map((start, index) => {
      const end = new Date(Date.parse(start) + 7 * 86_400_000).toISOString().slice(0, 10);
      return anInvoice([aShipment()], { number: `T${index}x`, start, end, date: end });
    });
    const result = await runReportOn('gaps', touching, { publishedAt: '2026-02-17T00:00:00Z' });
    expect(cells(result, 'expected_from', 'expected_to')).toEqual([['2026-01-19', '2026-02-01']]);
    // A longer invoice covers the days between two others.
    const covered = [
      ...['2026-01-05', '2026-01-12', '2026-01-19'].map((start, index) => weekly(start, `C${index}x`)),
      anInvoice([aShipment()], { number: 'C3x', start: '2026-01-19', end: '2026-02-15', date: '2026-02-17' }),
      ...['2026-02-16', '2026-02-23'].map((start, index) => weekly(start, `C${index}y`)),
    ];
    expect(
      cells(await runReportOn('gaps', covered, { publishedAt: '2026-03-04T00:00:00Z' }), 'kind'),
    ).toEqual([]);
  });

  test('does not report numbers that another tenant has, nor a block between two tenants', async () => {
    // Three tenants take turns in one sequence, 1 to 12; each alone would miss two of three.
    const turns = Array.from({ length: 12 }, (_, index) =>
      weekly(
        `2026-01-${String(index + 1).padStart(2, '0')}`,
        `S-${index + 1}`,
        ['Acme', 'Beta', 'Gamma'][index % 3],
      ),
    );
    const numbers = async (list: readonly ReturnType<typeof anInvoice>[]) =>
      (await runReportOn('gaps', list, { publishedAt: '2026-01-13T00:00:00Z' })).rows.filter(
        (row) => row.kind === 'number',
      );
    expect(await numbers(turns)).toEqual([]);
    // Two tenants have a block each: the thousand numbers between are nobody's.
    const blocks = [1, 2, 3, 4, 1001, 1002, 1003, 1004].map((number, index) =>
      weekly(`2026-01-0${index + 1}`, `K-${number}`, index < 4 ? 'Acme' : 'Beta'),
    );
    expect(await numbers(blocks)).toEqual([]);
  });

  test('does not expect an invoice before it is due to begin', async () => {
    // Number 5 was given to an earlier day than number 3.
    const days = ['10', '11', '12', '02', '03', '04', '05'];
    const list = [1, 2, 3, 5, 6, 7, 8].map((number, index) =>
      weekly(`2026-01-${days[index]}`, `R-${number}`),
    );
    const result = await runReportOn('gaps', list, { publishedAt: '2026-01-20T00:00:00Z' });
    const [gap] = result.rows.filter((row) => row.kind === 'number');
    expect([gap?.expected_from, gap?.expected_to, gap?.missing]).toEqual(['2026-01-10', '2026-01-20', 1]);
  });

  test('derives no pattern from two invoices or from random numbers', async () => {
    const result = await runReportOn('gaps', [weekly('2026-01-05', 'X-17'), weekly('2026-01-12', 'X-90')], {
      publishedAt: '2026-06-01T00:00:00Z',
    });
    expect(result.rows).toEqual([]);
  });
});
