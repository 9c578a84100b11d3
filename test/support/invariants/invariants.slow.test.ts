/** A check that cannot fail proves nothing: each of the nine invariants is broken on purpose here, and has to say so. */

import { appendFile, cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Client } from '@temporalio/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openInbox } from '../../../webhook/inbox/inbox.ts';
import {
  aCsv,
  anEvent,
  aWarehouse,
  INVOICE,
  loadCsv,
  sha256,
  type TestWarehouse,
} from '../../warehouse/support.ts';
import { checkInvariants, type InvariantOptions, letWorkflowTasksEnd, type Truth } from './invariants.ts';

const VOIDED = '22222222-2222-4222-8222-222222222222';
const CSV = aCsv([{ 'Billing Cost': '9.16' }, { 'Billing Cost': '-0.0001', Carrier: 'FedEx' }]);
const SECRET = 'plänted+secret/=value';

/** Made once; each test breaks a copy of its own. */
let made: TestWarehouse;
let truth: Truth;
let folder: string;
let dataDir: string;
let logFolder: string;

beforeAll(async () => {
  made = await aWarehouse();
  const at = made;
  await loadCsv(at, CSV);
  await loadCsv(at, aCsv([{}], VOIDED), { invoiceId: VOIDED });
  await at.warehouse.voidInvoice(VOIDED);
  const event = anEvent('invoice_created');
  await at.archive.putEvent(event);
  const inbox = await openInbox(join(at.dataDir, 'inbox'));
  const { eventId, receivedAt } = event;
  const entry = { kind: 'event', eventId, receivedAt, invoiceId: INVOICE, code: null } as const;
  await inbox.accept(entry, Buffer.from('{}'));
  await inbox.trim(entry);
  await at.warehouse.publish();
  await at.warehouse.close();
  const row = { invoiceId: INVOICE, tenant: 'Acme, "Inc."', currencyCode: 'USD' };
  truth = {
    billed: [
      { ...row, carrier: 'UPS', billingCost: '9.16' },
      { ...row, carrier: 'FedEx', billingCost: '-0.0001' },
    ],
    voided: [VOIDED],
    acknowledged: [eventId],
  };
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'invariants-'));
  [dataDir, logFolder] = [join(folder, 'data'), join(folder, 'logs')];
  await cp(made.dataDir, dataDir, { recursive: true, preserveTimestamps: true });
  await mkdir(logFolder);
  await writeFile(join(logFolder, 'worker.log'), 'all is well\n');
});

afterEach(() => rm(folder, { recursive: true }));
afterAll(() => made.close());

describe('checkInvariants', () => {
  test('finds nothing when all nine hold', async () => {
    expect(await check()).toEqual([]);
  });

  test('I1: an acknowledged event that nobody has', async () => {
    const lost = '33333333-3333-4333-8333-333333333333';
    expect(await broken({ truth: { ...truth, acknowledged: [lost] } })).toEqual(['I1']);
  });

  test('I1: an event that the inbox forgot before the archive had it', async () => {
    await rm(join(dataDir, 'archive', 'events'), { recursive: true });
    expect(await broken()).toEqual(['I1']);
  });

  test('I2: a row that is missing, in the warehouse alone', async () => {
    await change('warehouse', "delete from internal.shipment_rows where carrier = 'FedEx'");
    const found = await check();
    expect(found.every(({ invariant }) => invariant === 'I2')).toBe(true);
    // Against the books by invoice and by carrier, against the ledger, and against the file.
    expect(found.length).toBeGreaterThanOrEqual(4);
  });

  test('I2: an amount that differs in the fourth decimal', async () => {
    await change('warehouse', 'update internal.shipment_rows set billing_cost = billing_cost + 0.0001');
    expect(await broken()).toEqual(['I2']);
  });

  test('I2: a file that is not in the archive any more', async () => {
    const hash = sha256(CSV);
    await rm(join(dataDir, 'archive', 'files', hash.slice(0, 2), `${hash}.csv`));
    expect(await broken()).toEqual(['I2', 'I5']);
  });

  test('I2: a warehouse that cannot be read', async () => {
    await writeFile(join(dataDir, 'warehouse.duckdb'), 'no database');
    expect(await broken()).toEqual(['I2']);
  });

  test('I3: a file that was loaded twice', async () => {
    await change(
      'warehouse',
      'insert into internal.loads by name select * replace (99 as load_id, 0 as shipments) from internal.loads',
    );
    expect(await broken()).toContain('I3');
  });

  test('I3: rows that no ledger knows', async () => {
    await change('warehouse', 'update internal.shipment_rows set load_id = 77 where load_id = 2');
    expect(await broken()).toContain('I3');
  });

  test('I4: a voided invoice that counts', async () => {
    await change('warehouse', "update internal.invoice_state set voided_at = null, state = 'loaded'");
    expect(await broken()).toEqual(['I2', 'I4']);
  });

  test('I5: a published file that the warehouse is ahead of', async () => {
    await change(
      'reports',
      `update internal.invoice_state set current_load_id = null where invoice_id = '${INVOICE}'`,
    );
    expect(await broken()).toEqual(['I4', 'I5']);
  });

  test('I5: no published file', async () => {
    await rm(join(dataDir, 'reports.duckdb'));
    expect(await broken()).toEqual(['I5']);
  });

  test.each([
    ['plain', SECRET],
    ['in JSON', JSON.stringify({ SECRET })],
    ['in a URL', `https://host/?token=${encodeURIComponent(SECRET)}`],
    ['in a form', new URLSearchParams({ SECRET }).toString()],
    ['as Basic', Buffer.from(`user:${SECRET}`).toString('base64')],
    ['in base64, shifted by one', Buffer.from(`x${SECRET}and more`).toString('base64')],
  ])('I6: a secret in a log, %s', async (_spelling, text) => {
    await appendFile(join(logFolder, 'worker.log'), `before ${text} after\n`);
    expect(await broken({ secrets: [SECRET] })).toEqual(['I6']);
  });

  test('I6: a secret in the data folder, but not what waits in the inbox', async () => {
    await writeFile(join(dataDir, 'inbox', 'pending', 'waits'), SECRET);
    expect(await broken({ secrets: [SECRET] })).toEqual([]);
    await writeFile(join(dataDir, 'run.json'), SECRET);
    expect(await broken({ secrets: [SECRET] })).toEqual(['I6']);
  });

  test('I6: a secret in a table, where its bytes are compressed', async () => {
    await change('warehouse', `create table leak as select '${SECRET}' as told from range(5000)`);
    expect(await broken({ secrets: [SECRET] })).toEqual(['I6']);
  });

  test('I6: a secret in a history', async () => {
    const data = new Uint8Array(Buffer.from(`{"presignedUrl":"${SECRET}"}`));
    const history = {
      events: [{ workflowExecutionStartedEventAttributes: { input: { payloads: [{ data }] } } }],
    };
    expect(await broken({ secrets: [SECRET], client: aServerThatTells({ history }) })).toEqual(['I6']);
  });

  test('I7: a workflow task that is tried again and again', async () => {
    expect(await broken({ client: aServerThatTells({ attempt: 4 }) })).toEqual(['I7']);
    expect(await broken({ client: aServerThatTells({ attempt: 1 }) })).toEqual([]);
  });

  test('I7: not a task whose worker was killed, once another answered it', async () => {
    const client = aServerThatTells({ attempt: [2, 3, 0] });
    await letWorkflowTasksEnd(client);
    expect(await broken({ client })).toEqual([]);
  });

  test('I7: a warning of unfinished handlers', async () => {
    const warning =
      '{"level":40,"msg":"[TMPRL1102] Workflow finished while signal handlers are still running"}\n';
    await appendFile(join(logFolder, 'worker.log'), warning);
    expect(await broken()).toEqual(['I7']);
  });

  test('I8: a temporary file of eleven minutes, but not of nine', async () => {
    const part = join(dataDir, 'tmp', 'download.part');
    await mkdir(dirname(part), { recursive: true });
    await writeFile(part, '');
    await utimes(part, minutesAgo(9), minutesAgo(9));
    expect(await broken()).toEqual([]);
    await utimes(part, minutesAgo(11), minutesAgo(11));
    expect(await broken()).toEqual(['I8']);
  });

  test('I9: a secondary index', async () => {
    await change('warehouse', 'create index by_tracking on internal.shipment_rows (tracking_number)');
    expect(await broken()).toEqual(['I9']);
  });
});

function check(over: Partial<InvariantOptions> = {}) {
  return checkInvariants({ dataDir, logFolder, truth, client: null, ...over });
}

/** The names of what is broken, each once. */
async function broken(over: Partial<InvariantOptions> = {}): Promise<readonly string[]> {
  return [...new Set((await check(over)).map(({ invariant }) => invariant))].sort();
}

async function change(file: 'warehouse' | 'reports', sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(join(dataDir, `${file}.duckdb`));
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

function minutesAgo(minutes: number): Date {
  return new Date(Date.now() - minutes * 60_000);
}

/** A stalled task takes a real server minutes to come to, and a leak cannot be asked for at all. */
/** @param attempt one, or those that it tells from one look to the next */
function aServerThatTells({
  attempt = 1,
  history = {},
}: {
  attempt?: number | readonly number[];
  history?: object;
}): Client {
  const attempts = [attempt].flat();
  const next = (): number => (attempts.length > 1 ? attempts.shift() : attempts[0]) ?? 0;
  return {
    workflow: {
      async *list({ query = '' } = {}) {
        if (!query.includes('Failed')) yield { workflowId: 'invoice/test/1', runId: 'run' };
      },
      getHandle: () => ({
        describe: async () => ({ raw: { pendingWorkflowTask: { attempt: next() } } }),
        fetchHistory: async () => history,
      }),
    },
  } as unknown as Client;
}
