/**
 * A data folder of an older program, with its embedded Temporal server and invoices on their way, is taken up by this one.
 *
 * `older/data-of-schema-10.tar.gz` was written by the program of commit d0ef342, from before ADR 33: `up --sandbox`, two invoices
 * finalized and loaded, one voided, two drafts, and one whose file could not be had (`fault add unavailable --endpoint regenerate
 * --endpoint storage --endpoint export-csv`), then SIGTERM. What a start makes again (certificates, published copies) was left out,
 * and the write-ahead log of Temporal's database folded into it.
 */

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { schemaNumber } from '../../warehouse/schema-number.ts';
import { eventually } from '../support/eventually.ts';
import { publishedStates } from '../support/invariants/published-states.ts';
import { type RunningRole, startRole } from '../support/processes/billsync.ts';
import { freePort } from '../support/processes/free-port.ts';
import { runCommand } from '../support/processes/run-command.ts';

const LOADED = ['66271f59-6785-4f34-b6a1-dc40606f2d81', 'ad0aa8e4-23dd-4893-a114-70d59ec332f2'];
const VOIDED = 'ee25843f-eb15-433d-81be-d9487725186a';
const [TO_APPROVE, TO_CANCEL] = [
  '83461b30-4156-46c5-b92e-d82100c97afb',
  '5b83b838-11e8-434a-8a58-ad582457391c',
] as const;
const WITHOUT_FILE = '06bdecd6-b87d-411d-9f2a-c6f666d04ec0';
/** As the older program reported it. */
const REPORTED = [
  { tenant: 'Harbor & Pine, Inc.', currency_code: 'USD', shipments: 3, billing_cost: '179.3900' },
  { tenant: 'Zoë’s "Fine" Goods', currency_code: 'USD', shipments: 3, billing_cost: '159.0700' },
];

const dataDir = mkdtempSync(join(tmpdir(), 'billsync-older-'));
const env = { BILLSYNC_DATA_DIR: dataDir };
let up: RunningRole | undefined;

beforeAll(() => {
  const packed = join(import.meta.dirname, 'older/data-of-schema-10.tar.gz');
  execFileSync('tar', ['-xzf', packed, '-C', dataDir]);
  // A publication is a copy of the warehouse.
  copyFileSync(join(dataDir, 'warehouse.duckdb'), join(dataDir, 'reports.duckdb'));
});
afterAll(async () => {
  // Its Temporal server with it, also after a failure.
  await up?.end('SIGTERM');
  rmSync(dataDir, { recursive: true, force: true });
});

async function run<T = unknown>(...args: string[]): Promise<T> {
  const { exitCode, stdout, stderr } = await runCommand(args, { env });
  expect({ args, exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ args, exitCode: 0, stderr: '' });
  return (stdout.trimStart().startsWith('[') || stdout.startsWith('{') ? JSON.parse(stdout) : stdout) as T;
}

interface Listed {
  readonly invoice_id: string;
  readonly state: string;
  readonly billing_cost: string | null;
}

const states = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await run<Listed[]>('invoices', 'list', '--json')).map(({ invoice_id, state }) => [invoice_id, state]),
  );

test('an older folder is told, taken up, reported as before, and its invoices on their way arrive', async () => {
  expect(await run('upgrade', '--check', '--json')).toMatchObject([
    { what: 'data folder', found: null, becomes: 1 },
    { what: 'warehouse', found: 10, becomes: schemaNumber() },
    { what: 'open invoices', found: 3, becomes: 3 },
  ]);
  const ports = { BILLSYNC_WEBHOOK_PORT: `${await freePort()}`, BILLSYNC_ADMIN_PORT: `${await freePort()}` };
  up = await startRole(['up', '--sandbox'], { env: { ...env, ...ports }, cwd: dataDir });
  expect(await run('report', 'tenants', '--format', 'json')).toMatchObject(REPORTED);
  const [one = '', other = ''] = LOADED;
  const before = { [one]: 'loaded', [other]: 'loaded', [VOIDED]: 'voided', [WITHOUT_FILE]: 'finalized' };
  expect(await states()).toEqual({ ...before, [TO_APPROVE]: 'draft', [TO_CANCEL]: 'draft' });

  await run('sandbox', 'fault', 'clear');
  await run('sandbox', 'submit', TO_APPROVE);
  await run('sandbox', 'approve', TO_APPROVE);
  await run('sandbox', 'cancel', TO_CANCEL);
  const settled = { ...before, [WITHOUT_FILE]: 'loaded', [TO_APPROVE]: 'loaded', [TO_CANCEL]: 'voided' };
  // Waited for at the file, which costs nothing; then the command is asked.
  await eventually(
    () => publishedStates(dataDir),
    (now) => Object.entries(settled).every(([invoiceId, state]) => now.get(invoiceId) === state),
  );
  expect(await states()).toEqual(settled);

  const billed = await run<{ invoice_id: string; total_amount: string }[]>(
    'sandbox',
    'invoices',
    'list',
    '--json',
  );
  const totals = new Map(billed.map(({ invoice_id, total_amount }) => [invoice_id, Number(total_amount)]));
  for (const { invoice_id, state, billing_cost } of await run<Listed[]>('invoices', 'list', '--json')) {
    if (state === 'loaded')
      expect([invoice_id, Number(billing_cost)]).toEqual([invoice_id, totals.get(invoice_id)]);
  }
  expect(await run('verify', '--json')).toMatchObject({ invoices: 4, shipments: 12, drift: [] });
  // No workflow code met a history that it does not know.
  expect(up.stderr()).not.toMatch(/nondeterminism/i);
  expect(await up.end('SIGTERM')).toBe(0);
});
