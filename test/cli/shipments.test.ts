/** `billsync shipments`: the same lines as the page, for scripts and at a terminal. */

import { afterAll, describe, expect, test } from 'vitest';
import { billsync } from '../support/processes/billsync.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports/reports-fixture.ts';

const lines = ['1', '2', '30.5'].map((cost) =>
  aShipment({ cost, tracking: `T-${cost}`, service: cost === '1' ? null : 'Ground' }),
);
const fixture = await reportsFixture([anInvoice(lines, { number: 'INV-A' })]);
afterAll(() => fixture.remove());

const run = (...args: readonly string[]) =>
  billsync(['shipments', ...args], { env: { BILLSYNC_DATA_DIR: fixture.folder } });

describe('billsync shipments', () => {
  test('answers rows, totals and the key of the next page as one document', async () => {
    const { stdout } = await run('--json', '--cost-from', '2', '--sort', '-billing_cost', '--rows', '1');
    const { rows, totals, next } = JSON.parse(stdout);
    expect(rows).toMatchObject([
      { tracking_number: 'T-30.5', billing_cost: '30.5000', invoice_number: 'INV-A' },
    ]);
    expect(totals).toMatchObject([{ currency_code: 'USD', shipments: 2, billing_cost: '32.5000' }]);
    const second = await run('--ndjson', '--cost-from', '2', '--sort', '-billing_cost', '--after', next);
    expect(JSON.parse(second.stdout).tracking_number).toBe('T-2');
  });

  test('prints a table, with the totals on stderr', async () => {
    const { stdout, stderr } = await run(
      '--is',
      'service_level=',
      '--columns',
      'tracking_number,billing_cost',
    );
    expect(stdout).toMatch(/T-1 +1\.0000\n$/);
    expect(stderr).toContain('in all 1.0000 USD: 1 shipments, 1 packages, 1 invoices');
  });

  test('refuses what cannot be meant', async () => {
    for (const [flags, told] of [
      [['--sort', 'cost'], 'no column "cost" for sort: did you mean billing_cost?'],
      [['--is', 'colour=red'], 'cannot be asked by "is_colour"'],
      [['--cost-to', 'much'], '"much" is no amount'],
    ] as const) {
      const { exitCode, stderr } = await run(...flags);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(told)]);
    }
  });
});
