import { afterAll, describe, expect, test } from 'vitest';
import type { Mark } from '../../reports/render/chart-options.ts';
import { drawCharts } from '../../reports/render/charts.ts';
import { reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';

const fixture = await reportsFixture(seededInvoices(31, 50));
afterAll(() => fixture.remove());

describe('every chart', () => {
  test('is drawn for each currency by itself, named, with its unit, without anything that a strict page refuses', async () => {
    const result = await fixture.run('carriers');
    const charts = await drawCharts(result);
    expect(charts.map((chart) => chart.title)).toEqual([
      'Billing cost in EUR by carrier',
      'Billing cost in USD by carrier',
    ]);
    for (const {
      wide: { svg },
      description,
    } of charts) {
      expect(svg).not.toMatch(/style=|class=|<style|<script|href=/);
      expect(svg).toContain('role="img"');
      expect(description).toMatch(/The largest is .+ with [\d,]+\.\d{2} (EUR|USD)\./);
    }
  });
});

describe('a waterfall', () => {
  /** The visible bars as pairs of amounts, read off the axis of the drawing. */
  function spans(svg: string): { readonly drawn: [number, number][]; readonly begin: number } {
    const ticks = [
      ...svg.matchAll(/text-anchor="end"[^>]*transform="translate\(\S+ ([\d.]+)\)"[^>]*>(-?\d+)</g),
    ].map(([, y, amount]) => ({ y: Number(y), amount: Number(amount) }));
    const [low, high] = [ticks[0], ticks.at(-1)];
    if (!low || !high) throw new Error('the drawing has no axis');
    const amountAt = (y: number): number =>
      low.amount + ((y - low.y) * (high.amount - low.amount)) / (high.y - low.y);
    const drawn = [...svg.matchAll(/<path d="M\S+ ([\d.]+)l\S+ 0l0 (-?[\d.]+)l[^"]*Z" fill="var/g)].map(
      ([, from, by]): [number, number] => [amountAt(Number(from)), amountAt(Number(from) + Number(by))],
    );
    return { drawn, begin: Math.max(0, Math.min(low.amount, high.amount)) };
  }

  test.each([
    ['above zero', [100, -60, 20, 5, 65]],
    ['above an axis that is cut below small steps', [100, -30, 20, 5, 95]],
    ['through zero and back', [100, -250, -50, 320, 120]],
    ['below zero all the way', [-100, -50, 80, -10, -80]],
    ['from nothing', [0, -40, 15, 0, -25]],
  ])('starts each step at the level before it: %s', async (name, amounts) => {
    const result = await fixture.run('bridge');
    const steps = ['first period', 'volume', 'price', 'mix', 'second period'];
    const rows = steps.map((step, index) => ({
      ...{ step, currency_code: 'USD', amount: `${amounts[index]}.0000`, shipments: 1 },
      ...{ period_from: null, period_to: null },
    }));
    const [chart] = await drawCharts({ ...result, rows });
    const levels = amounts
      .slice(0, -1)
      .map((_, index) => amounts.slice(0, index + 1).reduce((a, b) => a + b));
    const ends = [levels[0] ?? 0, ...levels.slice(1), amounts.at(-1) ?? 0];
    const starts = [0, ...levels.slice(0, -1), 0];
    for (const svg of [chart?.wide.svg ?? '', chart?.narrow.svg ?? '']) {
      const { drawn, begin } = spans(svg);
      expect(begin > 0).toBe(name.includes('cut'));
      expect(drawn).toHaveLength(steps.length);
      for (const [index, span] of drawn.entries()) {
        const expected = [starts[index] || begin, ends[index] ?? 0].sort((a, b) => a - b);
        expect(span[0]).toBeCloseTo(expected[0] ?? 0, -0.3);
        expect(span[1]).toBeCloseTo(expected[1] ?? 0, -0.3);
      }
    }
  });

  test('by carrier shows the change of each between both totals', async () => {
    const result = await fixture.run('bridge', {}, { by: 'carrier' });
    const changes = { ups: [100, 90], fedex: [50, 75] };
    const rows = Object.entries(changes).flatMap(([carrier, periods]) =>
      periods.map((amount, at) => ({
        ...{ carrier, step: ['first period', 'second period'][at] ?? '', currency_code: 'USD' },
        amount: `${amount}.0000`,
      })),
    );
    const [chart] = await drawCharts({ ...result, rows });
    const marks = chart?.wide.option.series[1]?.data as readonly Mark[];
    expect(marks.map(({ name, rounded }) => `${name} ${rounded}`)).toEqual([
      'first period 150.00 USD',
      'ups -10.00 USD',
      'fedex 25.00 USD',
      'second period 165.00 USD',
    ]);
  });
});

describe('stacked columns', () => {
  test('sum the series beyond the seven largest as "other" and lose nothing', async () => {
    const result = await fixture.run('cost', {}, { by: 'month+carrier' });
    const rows = Array.from({ length: 24 }, (_, at) => ({
      ...{ month: `2026-0${1 + (at % 2)}`, carrier: `carrier ${at >> 1}`, currency_code: 'USD' },
      billing_cost: `${at >> 1}.5000`,
    }));
    const [chart] = await drawCharts({ ...result, rows });
    const { series } = chart?.wide.option ?? { series: [] };
    expect(series.map(({ name }) => name)).toContain('other (5)');
    const values = series.flatMap(({ data }) => data as readonly Mark[]).map(({ value }) => Number(value));
    expect([series.length, values.reduce((sum, value) => sum + value)]).toEqual([8, 144]);
  });
});
