import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { demoFolder } from '../../cli/commands/demo.ts';
import { totalsOf } from '../../cli/demo/proof.ts';
import { waitWhileChanging } from '../../cli/demo/story.ts';
import type { BilledRow } from '../../sandbox/service.ts';
import { testFolder } from '../support/folders.ts';

const folder = testFolder();

function billedRow(row: Partial<BilledRow>): BilledRow {
  return {
    ...{ invoiceId: 'i1', invoiceNumber: 'INV-1', status: 'APPROVED', level: 'tenant', tenant: 'T' },
    ...{ tenantId: 't1', invoiceDate: '2026-03-01', shipDate: '2026-03-01', origin: null },
    ...{ currencyCode: 'USD', billingCost: '1', billableWeight: '1', unit: 'LB', trackingNumber: 'N' },
    ...{ carrier: 'ups', zone: '2', carrierInvoiceDate: null, serviceLevel: null },
    ...row,
  } as BilledRow;
}

describe('totalsOf', () => {
  test('sums approved lines by key and currency and rounds once', () => {
    const rows = [
      billedRow({ billingCost: '-0.0001' }),
      billedRow({ billingCost: '-0.0002', billableWeight: null, unit: null, trackingNumber: 'M' }),
      billedRow({ billingCost: '0', billableWeight: null, unit: null, trackingNumber: 'M' }),
      billedRow({ billingCost: '9', currencyCode: 'EUR', billableWeight: '1', unit: 'KG' }),
      billedRow({ billingCost: '100', status: 'CANCELED' }),
      billedRow({ billingCost: '100', status: 'DRAFT' }),
      billedRow({ billingCost: '100', level: 'partner' }),
    ];
    expect(totalsOf(rows, { by: 'tenant', level: 'tenant' })).toEqual([
      {
        ...{ key: 'T', currency_code: 'USD', invoices: '1', shipments: '3', billing_cost: '-0.0003' },
        ...{
          cost_per_shipment: '-0.0002',
          billable_weight_lb: '1.0000',
          cost_per_lb: '-0.0003',
          packages: '2',
        },
      },
      {
        ...{ key: 'T', currency_code: 'EUR', invoices: '1', shipments: '1', billing_cost: '9.0000' },
        ...{
          cost_per_shipment: '9.0000',
          billable_weight_lb: '2.2046',
          // By 2.2046226218 lb; by the rounded 2.2046 it would be 4.0824.
          cost_per_lb: '4.0823',
          packages: '1',
        },
      },
    ]);
  });
});

describe('settled', () => {
  const stopping = new AbortController().signal;

  test('waits while something changes', async () => {
    let left = 4;
    const check = async () => {
      left -= 1;
      return { answer: 'done', open: Array.from({ length: left }, (_, at) => `INV-${at}`) };
    };
    // Each of the looks is half of the patience after the last.
    expect(await waitWhileChanging({ patienceMs: 500, stopping }, check)).toBe('done');
  });

  test('names the open items once nothing changes', async () => {
    const check = async () => ({ answer: null, open: ['INV-7 (plain) is draft'] });
    await expect(waitWhileChanging({ patienceMs: 300, stopping }, check)).rejects.toMatchObject({
      exitCode: 1,
      subject: 'INV-7 (plain) is draft',
    });
  });
});

describe('demoFolder', () => {
  test('is a fresh folder by default, and none with other invoices', () => {
    const fresh = demoFolder(null);
    expect(readdirSync(fresh)).toEqual([]);
    rmSync(fresh, { recursive: true });
    const used = join(folder, 'used');
    mkdirSync(used);
    writeFileSync(join(used, 'environment'), 'test\n');
    expect(() => demoFolder(used)).toThrow(/in use by something else than a demo/);
    // A demo's own folder can be played in again.
    mkdirSync(join(used, 'sandbox'));
    expect(demoFolder(used)).toBe(used);
  });
});
