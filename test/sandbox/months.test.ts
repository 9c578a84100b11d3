import { describe, expect, test } from 'vitest';
import { type PlannedInvoice, planMonths } from '../../sandbox/billing/months.ts';
import { seededTenants } from '../../sandbox/billing/new-invoice.ts';
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
    expect(plan.flatMap(rowsOf)).not.toEqual([]);
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
