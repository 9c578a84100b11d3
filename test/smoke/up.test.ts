import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findProcesses } from '../../lib/processes.ts';
import { AdminClient } from '../../sandbox/commands/verb.ts';
import type { BilledRow } from '../../sandbox/service.ts';
import { eventually } from '../support/eventually.ts';
import { testFolder } from '../support/folders.ts';
import { type RunningRole, startRole } from '../support/processes/billsync.ts';
import {
  billedSums,
  differences,
  publishedStates,
  reportedSums,
  runJson,
} from '../support/published-data.ts';

let folder: string;
let dataDir: string;
let env: Record<string, string>;
let up: RunningRole;
let sandbox: AdminClient;

beforeAll(async () => {
  folder = testFolder();
  dataDir = join(folder, 'data');
  env = { BILLSYNC_DATA_DIR: dataDir, BILLSYNC_ADMIN_PORT: '0', BILLSYNC_WEBHOOK_PORT: '0' };
  up = await startRole(['up', '--sandbox'], { env, cwd: folder });
  sandbox = new AdminClient({ data: join(dataDir, 'sandbox') });
});

afterAll(async () => {
  await sandbox?.close();
  await up?.end('SIGTERM');
});

test('loads every invoice once and reports what the service billed', async () => {
  const [first, second] = await createInvoices(2);
  await eventually(states, (found) => found.get(second ?? '') === 'loaded');

  const [worker] = findProcesses(['worker', await realpath(dataDir)]);
  process.kill(worker ?? 0, 'SIGKILL');
  const [third] = await createInvoices(1);
  await sandbox.call({ method: 'POST', path: `/invoices/${first}/cancel` });
  await eventually(states, (found) => found.get(first ?? '') === 'voided');
  const events = (await sandbox.call({ method: 'GET', path: '/events' })) as readonly SandboxEvent[];
  const late = events.find(
    ({ invoiceId, eventType }) => invoiceId === first && eventType.endsWith('finalized'),
  );
  await sandbox.call({ method: 'POST', path: `/events/${late?.eventId}/resend` });
  await sandbox.call({ method: 'POST', path: '/idle' });

  await eventually(states, (found) => found.get(third ?? '') === 'loaded');
  expect(await states()).toEqual(
    new Map([first, second, third].map((id, at) => [id, at === 0 ? 'voided' : 'loaded'])),
  );
  const lines = (await sandbox.text({ method: 'GET', path: '/billed-shipments' })).trim().split('\n');
  const rows = lines.map((line) => JSON.parse(line) as BilledRow);
  const billed = rows.filter(({ status }) => status === 'APPROVED');
  expect(billed).toHaveLength(50);
  expect(differences(billedSums(billed), await reportedSums(env))).toEqual([]);
  expect(await runJson(['verify'], env)).toMatchObject({ drift: [], shipments: 75 });
  expect(await up.end('SIGTERM')).toBe(0);
});

interface SandboxEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly invoiceId: string;
}

async function createInvoices(times: number): Promise<readonly string[]> {
  const body = { eventType: 'invoice_finalized', times, invoice: { shipments: 25 } };
  const created = await sandbox.call({ method: 'POST', path: '/trigger', body });
  return (created as readonly { readonly invoiceId: string }[]).map(({ invoiceId }) => invoiceId);
}

function states(): Promise<ReadonlyMap<string, string>> {
  return publishedStates(dataDir);
}
