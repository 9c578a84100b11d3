import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv, INVOICE } from '../warehouse/support.ts';

const folder = mkdtempSync(join(tmpdir(), 'billsync-invoices-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const env = { BILLSYNC_DATA_DIR: join(folder, 'data') };

beforeAll(async () => {
  const file = join(folder, 'two.csv');
  const euros = { 'Currency Code': 'EUR', 'Billing Cost': '3.18' };
  writeFileSync(file, aCsv([{}, euros, euros]));
  expect(await runCommand(['import', file], { env })).toMatchObject({ exitCode: 0 });
});

test('shows a file in two currencies as two amounts', async () => {
  const [list, listed, show, shown] = await Promise.all([
    runCommand(['invoices', 'list'], { env }),
    runCommand(['invoices', 'list', '--json'], { env }),
    runCommand(['invoices', 'show', INVOICE], { env }),
    runCommand(['invoices', 'show', INVOICE, '--json'], { env }),
  ]);
  expect(list.stdout).toMatch(/ 6\.3600 {2}EUR of EUR,USD /);
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { billing_cost: '6.3600', currency_code: 'EUR', currencies: 'EUR,USD', stated_currency_code: null },
  ]);
  expect(show.stdout).toMatch(/loaded +6\.3600 EUR and 9\.1600 USD, 3 shipments/);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    amounts: [
      { currency_code: 'EUR', shipments: 2, billing_cost: '6.3600' },
      { currency_code: 'USD', shipments: 1, billing_cost: '9.1600' },
    ],
  });
});

test('ends with 3 for an unknown invoice and names the nearest', async () => {
  const [tenant, carrier, invoices, events, spelt] = await Promise.all([
    runCommand(['report', 'tenants', '--tenant', 'Acme Parcel'], { env }),
    runCommand(['report', 'carriers', '--carrier', 'upss', '--format', 'csv'], { env }),
    runCommand(['invoices', 'list', '--tenant', 'nosuch'], { env }),
    runCommand(['events', 'list', '--invoice', 'INV-nosuch'], { env }),
    runCommand(['report', 'carriers', '--carrier', 'ups', '--json'], { env }),
  ]);
  expect(tenant).toMatchObject({ exitCode: 3, stdout: '' });
  expect(tenant.stderr).toContain('no tenant is Acme Parcel');
  expect(carrier).toMatchObject({ exitCode: 3, stdout: '' });
  expect(carrier.stderr).toMatch(/no carrier is upss\n.*did you mean UPS\?/);
  expect(invoices).toMatchObject({ exitCode: 3, stdout: '' });
  expect(invoices.stderr).toContain('no tenant is nosuch');
  expect(events).toMatchObject({ exitCode: 3, stdout: '' });
  expect(events.stderr).toContain('no invoice is INV-nosuch');
  expect(spelt.exitCode).toBe(0);
  expect(JSON.parse(spelt.stdout)).toHaveLength(2);
});
