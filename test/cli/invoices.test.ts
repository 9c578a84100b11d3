import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderInvoice } from '../../cli/commands/invoices.ts';
import { lockWarehouse } from '../../warehouse/duckdb/locks.ts';
import { dashboardOver } from '../dashboard/support.ts';
import { testFolder } from '../support/folders.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv, anEvent, aWarehouse, INVOICE, loadCsv, type TestWarehouse } from '../warehouse/support.ts';

describe('an imported file in two currencies', () => {
  const folder = testFolder();
  const run = (...args: readonly string[]) =>
    runCommand(args, { env: { BILLSYNC_DATA_DIR: join(folder, 'data') } });

  beforeAll(async () => {
    const file = join(folder, 'two.csv');
    const euros = { 'Currency Code': 'EUR', 'Billing Cost': '3.18' };
    writeFileSync(file, aCsv([{}, euros, euros]));
    expect(await run('import', file)).toMatchObject({ exitCode: 0 });
  });

  test('has two amounts', async () => {
    expect((await run('invoices', 'list')).stdout).toMatch(/ 6\.3600 {2}EUR of EUR,USD /);
    expect(JSON.parse((await run('invoices', 'list', '--json')).stdout)).toMatchObject([
      { billing_cost: '6.3600', currency_code: 'EUR', currencies: 'EUR,USD', stated_currency_code: null },
    ]);
    const { stdout } = await run('invoices', 'show', INVOICE);
    expect(stdout).toMatch(/loaded +6\.3600 EUR and 9\.1600 USD, 3 shipments/);
    expect(JSON.parse((await run('invoices', 'show', INVOICE, '--json')).stdout)).toMatchObject({
      amounts: [
        { currency_code: 'EUR', shipments: 2, billing_cost: '6.3600' },
        { currency_code: 'USD', shipments: 1, billing_cost: '9.1600' },
      ],
    });
  });

  test('is unproved, and has only one version', async () => {
    expect((await run('explain', '1Z0')).stdout).toMatch(
      / bytes, unproved: neither its hash nor its count and sum were announced$/m,
    );
    const diff = await run('invoices', 'show', INVOICE, '--diff');
    expect(diff).toMatchObject({ exitCode: 3, stdout: '' });
    expect(diff.stderr).toContain(`invoice ${INVOICE} has only one version, so there is nothing to compare`);
    expect(diff.stderr).toContain('→ another file of it makes another version');
  });

  test.each([
    [['report', 'tenants', '--tenant', 'Acme Parcel'], /no tenant is Acme Parcel/],
    [
      ['report', 'carriers', '--carrier', 'upss', '--format', 'csv'],
      /no carrier is upss\n.*did you mean UPS\?/,
    ],
    [['invoices', 'list', '--tenant', 'nosuch'], /no tenant is nosuch/],
    [['events', 'list', '--invoice', 'INV-nosuch'], /no invoice is INV-nosuch/],
  ])('is not found by another name: %j', async (args, message) => {
    expect(await run(...args)).toMatchObject({
      exitCode: 3,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
  });
});

test('does not show a file of a voided invoice as counting', () => {
  const files = [
    { file_sha256: 'b'.repeat(64), version: 2, is_current: true },
    { file_sha256: 'a'.repeat(64), version: 1, is_current: false },
  ];
  const counts = (voided_at: string | null): string[] =>
    renderInvoice({
      invoice: { invoice_id: INVOICE, invoice_number: null, state: 'any', voided_at, reason: null },
      ...{ amounts: [], events: [], records: [], files, discrepancies: [] },
    })
      .split('\n')
      .flatMap((line) => /^ +[ab]{16} .* {2}(\S.*)$/.exec(line)?.[1] ?? []);
  expect(counts(null)).toEqual(['yes', 'no']);
  expect(counts('2026-03-01T00:00:00Z')).toEqual(['no: voided', 'no']);
});

const VOIDED_BY_SERVICE = '22222222-2222-4222-8222-222222222222';
const AWAY = '33333333-3333-4333-8333-333333333333';
const NUMBER = 'INV-1';
const REASON = 'the service does not answer. It is retried automatically.';

let t: TestWarehouse;
let env: Record<string, string>;
const run = (...args: readonly string[]) => runCommand(['invoices', ...args], { env });
const show = async (invoice: string) => {
  const { stdout, stderr } = await run('show', invoice, '--json');
  expect(stderr).toBe('');
  return JSON.parse(stdout);
};

beforeAll(async () => {
  t = await aWarehouse();
  env = { BILLSYNC_DATA_DIR: t.dataDir };
  const finalized = anEvent('invoice_finalized');
  await t.archive.putEvent(finalized);
  await t.record([finalized]);
  await loadCsv(t, aCsv());
  await loadCsv(t, aCsv([{ 'Billing Cost': '7' }]));
  const voided = anEvent('invoice_voided', { receivedAt: '2026-03-01T01:00:00.000Z' });
  const header = { invoiceId: AWAY, invoiceNumber: 'INV-AWAY' };
  const away = anEvent('invoice_finalized', { header });
  for (const event of [voided, away]) await t.archive.putEvent(event);
  await t.record([voided, away]);
  await t.warehouse.recordFailure(AWAY, { code: 'unreachable', reason: REASON });
  await loadCsv(t, aCsv([{}], VOIDED_BY_SERVICE), { invoiceId: VOIDED_BY_SERVICE });
  await t.warehouse.recordDetails({ invoiceId: VOIDED_BY_SERVICE, status: 'voided', header: {} });
  await t.warehouse.publish();
  await t.warehouse.close();
});
afterAll(() => t.close());

describe('a decision that only a person may take', () => {
  test('is refused with the reason when it is not possible, else takes effect without a worker', async () => {
    const because = ['--reason', 'it is valid', '--yes'];
    const [unknown, silent, unsure, empty, version, older] = await Promise.all([
      run('restore', 'INV-nosuch', ...because),
      run('restore', NUMBER, '--yes'),
      run('restore', NUMBER, '--reason', 'it is valid'),
      run('restore', NUMBER, '--reason', ' ', '--yes'),
      run('use-version', NUMBER, 'one', ...because),
      run('use-version', NUMBER, '1', '--reason', 'it lacks a carrier'),
    ]);
    // One after the other: each holds the warehouse while it checks.
    const loaded = await run('restore', AWAY, ...because);
    const byService = await run('restore', VOIDED_BY_SERVICE, ...because);
    const none = await run('use-version', NUMBER, '9', ...because);
    expect([unknown.exitCode, unknown.stderr]).toEqual([3, expect.stringContaining('INV-nosuch')]);
    expect([loaded.exitCode, loaded.stderr]).toEqual([
      3,
      expect.stringContaining('is not voided, it is finalized'),
    ]);
    expect([byService.exitCode, byService.stderr]).toEqual([
      2,
      expect.stringContaining('voided by the service itself'),
    ]);
    expect([silent.exitCode, silent.stderr]).toEqual([2, expect.stringContaining('--reason')]);
    expect([unsure.exitCode, unsure.stderr]).toEqual([2, expect.stringContaining('add --yes')]);
    expect(unsure.stderr).toContain('this cannot be undone');
    expect([older.exitCode, older.stderr]).toEqual([2, expect.stringContaining('undoes it: add --yes')]);
    expect(older.stderr).not.toContain('cannot be undone');
    expect([empty.exitCode, empty.stderr]).toEqual([2, expect.stringContaining('--reason is empty')]);
    expect([version.exitCode, version.stderr]).toEqual([2, expect.stringContaining('one is not a version')]);
    expect([none.exitCode, none.stderr]).toEqual([3, expect.stringContaining('it has 1, 2')]);

    const held = await lockWarehouse(join(t.dataDir, 'warehouse.lock'), { role: 'import', now: new Date() });
    const dry = await run('restore', NUMBER, '--reason', 'it is valid', '--dry-run');
    await held.release();
    expect(dry).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('Would restore invoice INV-1'),
    });
    expect(await show(NUMBER)).toMatchObject({ state: 'voided', void_basis: 'event', restored_at: null });

    const restored = await run('restore', NUMBER, '--reason', 'confirmed by phone', '--yes');
    expect(restored).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('is loaded now') });
    expect(await show(NUMBER)).toMatchObject({ state: 'loaded', billing_cost: '7.0000', void_basis: null });
    const chosen = await run('use-version', NUMBER, '1', '--reason', 'version 2 lacks a carrier', '--yes');
    expect(chosen).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Done: version 1 counts') });
    const again = await run('use-version', NUMBER, '1', '--reason', 'once more', '--yes');
    expect([again.exitCode, again.stderr]).toEqual([3, expect.stringContaining('counts already')]);

    const audit = async () => {
      const { records, ...invoice } = await show(NUMBER);
      expect(invoice).toMatchObject({ state: 'loaded', version: 1, billing_cost: '9.1600' });
      return (records as { who: string; what: string; detail: string }[]).map(({ who, what, detail }) => ({
        ...{ isNamed: who.length > 0 && who !== 'billsync', what, detail },
      }));
    };
    const decisions = [
      { isNamed: true, what: 'void undone', detail: 'confirmed by phone' },
      { isNamed: true, what: 'version 1 counts', detail: 'version 2 lacks a carrier' },
    ];
    expect(await audit()).toEqual(decisions);
    const page = (await run('show', NUMBER.toLowerCase())).stdout;
    expect(page).toMatch(/: void undone \(confirmed by phone\)$/m);
    // The load of version 2 is still listed.
    expect(page).toMatch(
      / {2}loaded: .*\n(.*\n)*.* {2}loaded again, version 2: .*\n(.*\n)*.*: version 1 counts \(version 2 lacks a carrier\)$/m,
    );
    expect(await runCommand(['rebuild'], { env })).toMatchObject({ exitCode: 0 });
    expect(await audit()).toEqual(decisions);
  });
});

describe('a lasting failure', () => {
  test('is in the list, on the page, as JSON and on the dashboard', async () => {
    const [list, page, listed, json] = await Promise.all([
      run('list'),
      run('show', AWAY),
      run('list', '--json'),
      show(AWAY),
    ]);
    expect(list.stdout).toMatch(/INV-AWAY .* finalized .*the service does not/);
    expect(page.stdout).toContain(REASON);
    expect(json).toMatchObject({ state: 'finalized', reason: REASON, reason_code: 'unreachable' });
    expect(JSON.parse(listed.stdout)).toContainEqual(
      expect.objectContaining({ invoice_id: AWAY, reason: REASON }),
    );
    const dashboard = await dashboardOver(join(t.dataDir, 'reports.duckdb'));
    try {
      for (const path of ['/invoices', `/invoices/${AWAY}`]) {
        expect(await (await fetch(new URL(path, dashboard.url))).text()).toContain(REASON);
      }
    } finally {
      await dashboard.close();
    }
  });
});
