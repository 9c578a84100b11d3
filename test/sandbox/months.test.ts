/** `seed --months`: a year of business in which every report finds what it looks for. */

import { describe, expect, test } from 'vitest';
import { type PlannedInvoice, planMonths } from '../../sandbox/billing/months.ts';
import { seededTenants } from '../../sandbox/billing/tenants.ts';
import type { Shipment } from '../../sandbox/model.ts';
import { startSandbox } from '../../sandbox/service.ts';

const wanted = {
  seed: 3,
  months: 6,
  shipments: 40,
  now: new Date('2026-11-22T12:00:00Z'),
  tenants: seededTenants(3, 'test'),
};
const plan = [...planMonths(wanted)];
const linesOf = ({ invoice }: PlannedInvoice): readonly Shipment[] =>
  invoice.shipments as readonly Shipment[];
const monthOf = ({ invoice }: PlannedInvoice): string => invoice.set?.invoiceStartDate?.slice(0, 7) ?? '';
const all = plan.flatMap((planned) => linesOf(planned).map((line) => ({ ...line, planned })));

describe('six months of six tenants', () => {
  test('bill each complete month of each tenant, but one that is missing', () => {
    expect([...new Set(plan.map(monthOf))]).toEqual([
      '2026-05',
      '2026-06',
      '2026-07',
      '2026-08',
      '2026-09',
      '2026-10',
    ]);
    const third = plan.filter(({ invoice }) => invoice.tenant === wanted.tenants[2]?.tenantId);
    expect(third.map(monthOf)).not.toContain('2026-08');
    expect(plan).toHaveLength(6 * 6 - 1 + 1);
  });

  test('hold one invoice that was canceled and billed again, one that never came back, one that is a draft', () => {
    const canceled = plan.filter(({ ends }) => ends === 'canceled');
    expect(canceled).toHaveLength(2);
    const again = canceled.map((voided) =>
      plan.filter((one) => one.invoice.tenant === voided.invoice.tenant && monthOf(one) === monthOf(voided)),
    );
    expect(again.map((same) => same.length)).toEqual([2, 1]);
    expect(plan.filter(({ ends }) => ends === 'draft')).toEqual([plan.at(-1)]);
  });

  test('raise prices by 5.9 % half-way', () => {
    const priceOf = (months: readonly string[]) => {
      const like = all.filter(
        (line) =>
          months.includes(monthOf(line.planned)) &&
          line.serviceLevel === 'GROUND' &&
          line.carrier === 'ups' &&
          line.billableWeightUnit === 'LB' &&
          line.carrierZone === '5',
      );
      return new Map(like.map((line) => [line.billableWeight, Number(line.billingCost)]));
    };
    const before = priceOf(['2026-05', '2026-06', '2026-07']);
    const after = priceOf(['2026-08', '2026-09', '2026-10']);
    const ratios = [...before].flatMap(([weight, cost]) => {
      const later = after.get(weight);
      return later === undefined ? [] : [later / cost];
    });
    expect(ratios.length).toBe(5);
    const sorted = ratios.sort((a, b) => a - b);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeCloseTo(1.059, 3);
  });

  test('bill shipments twice, charge packages again, give credits, bill late, and exceed what is usual', () => {
    const seen = new Map<string, typeof all>();
    for (const line of all) seen.set(line.trackingNumber, [...(seen.get(line.trackingNumber) ?? []), line]);
    const several = [...seen.values()].filter((lines) => lines.length > 1);
    const inTwoMonths = several.filter(
      (lines) => new Set(lines.map(({ planned }) => monthOf(planned))).size > 1,
    );
    expect(inTwoMonths.some(([one, other]) => one?.billingCost === other?.billingCost)).toBe(true);
    expect(all.filter(({ billingCost }) => ['8.50', '9.00'].includes(billingCost)).length).toBe(plan.length);
    expect(all.filter(({ billingCost }) => billingCost.startsWith('-')).length).toBeGreaterThan(20);
    // Older than what is billed twice from the month before.
    const daysLate = ({ shipDate, planned }: (typeof all)[number]): number =>
      (Date.parse(planned.invoice.set?.invoiceStartDate ?? '') - Date.parse(shipDate)) / 86_400_000;
    const late = all.filter((line) => daysLate(line) >= 40);
    expect(late.map(({ planned }) => monthOf(planned))).toEqual(
      expect.arrayContaining(['2026-07', '2026-10']),
    );
    // Six times 11.71, and 12.40 after the increase.
    expect(all.filter(({ billingCost }) => ['70.26', '74.40'].includes(billingCost)).length).toBe(
      plan.length,
    );
  });

  test('credit, to the cent, what the invoice of the tenant before was wrong by, and nothing else', () => {
    const wrong = new Map<string, string>();
    for (const { planted, invoice, ends } of plan) {
      const lines = invoice.shipments as readonly Shipment[];
      const billed = planted.map((plant) => ({ ...plant, line: lines[plant.rowNumber - 1] as Shipment }));
      for (const { what, line, amount } of billed)
        if (what === 'credit')
          expect([line.billingCost, amount]).toEqual([`-${amount}`, wrong.get(line.trackingNumber)]);
      if (ends !== 'canceled')
        for (const { what, line, amount } of billed)
          if (what === 'far above the usual' || what === 'billed twice')
            wrong.set(line.trackingNumber, amount);
    }
    const rowsOf = ({ planted }: PlannedInvoice): readonly number[] =>
      planted.filter(({ what }) => what === 'credit').map(({ rowNumber }) => rowNumber);
    for (const planned of plan)
      expect(rowsOf(planned)).toEqual(
        linesOf(planned).flatMap(({ billingCost }, at) => (billingCost.startsWith('-') ? [at + 1] : [])),
      );
  });

  test('are the same for the same seed', () => {
    expect([...planMonths(wanted)]).toEqual(plan);
  });
});

test('the service bills what was planned', async () => {
  const sandbox = await startSandbox();
  try {
    const made = await sandbox.seedMonths(2, 5);
    const invoices = sandbox.invoices();
    expect(invoices).toHaveLength(made);
    expect(new Set(invoices.map(({ status }) => status))).toEqual(new Set(['APPROVED', 'CANCELED', 'DRAFT']));
    await expect(sandbox.seedMonths(2, 1_000_000)).rejects.toThrow(/up to 10000/);
  } finally {
    await sandbox.close();
  }
});
