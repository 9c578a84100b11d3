import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Archive, ArchivedEvent } from '../../archive/archive.ts';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { verifyArchive } from '../../archive/verify-archive.ts';
import { PURGE_CLASSES, planPurge, runPurge } from '../../cli/purge-plan.ts';
import { openWarehouse, rebuildWarehouse } from '../../warehouse/open-warehouse.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { runCommand } from '../support/processes/run-command.ts';
import {
  aCsv,
  anEvent,
  aWarehouse,
  INVOICE,
  loadCsv,
  makeDataDir,
  queryFile,
  settingsFor,
  sha256,
  silent,
  type TestWarehouse,
} from '../warehouse/support.ts';

const id = (digit: string): string =>
  `${digit.repeat(8)}-${digit.repeat(4)}-4${digit.repeat(3)}-8${digit.repeat(3)}-${digit.repeat(12)}`;
const [VOIDED, COUNTED, OPEN, MISTAKEN, LATE_VOID, LAST] = [
  id('2'),
  id('3'),
  id('4'),
  id('5'),
  id('6'),
  id('7'),
];
const OLD = aCsv([{ 'Billing Cost': '1.00' }]);
const NEW = aCsv([{ 'Billing Cost': '2.00' }]);
const VOIDED_CSV = aCsv([{ 'Billing Cost': '4.0001' }, { 'Billing Cost': '0.0002' }], VOIDED);
const COUNTED_CSV = aCsv([{ 'Billing Cost': '8.00' }], COUNTED);
const LATE_VOID_CSV = aCsv([{ 'Billing Cost': '16.00' }], LATE_VOID);
const LAST_CSV = aCsv([{ 'Billing Cost': '32.00' }], LAST);
const FILES = { OLD, NEW, VOIDED_CSV, COUNTED_CSV, LATE_VOID_CSV, LAST_CSV };
/** Events of 2026-03 are old, those of 2026-05 are not. */
const DATE = '2026-04-01T00:00:00.000Z';

let t: TestWarehouse;
let now = new Date('2026-03-01T00:00:00Z');
const body = JSON.stringify({ metadata: {}, payload: { asReceived: true } });
const eventOf = (type: 'invoice_created' | 'invoice_finalized' | 'invoice_voided', invoiceId: string) => {
  const at = now.toISOString();
  return { ...anEvent(type, { receivedAt: at, eventTimestamp: at, header: { invoiceId } }), envelope: body };
};

beforeAll(async () => {
  const clock = (): Date => {
    now = new Date(now.getTime() + 1000);
    return now;
  };
  t = await aWarehouse({ now: clock });
  const finalized = async (invoiceId: string, csv: Buffer): Promise<void> => {
    const event: ArchivedEvent = eventOf('invoice_finalized', invoiceId);
    await t.record([event]);
    await loadCsv(t, csv, { invoiceId, eventId: event.eventId });
  };
  await finalized(INVOICE, OLD);
  await finalized(INVOICE, NEW);
  await finalized(VOIDED, VOIDED_CSV);
  await t.record([eventOf('invoice_voided', VOIDED)]);
  await finalized(COUNTED, COUNTED_CSV);
  await finalized(LATE_VOID, LATE_VOID_CSV);
  // The file of another invoice was received for this one; its void does not concern that file.
  await t.record([eventOf('invoice_finalized', MISTAKEN)]);
  const at = now.toISOString();
  await t.archive.putFact({
    ...{ kind: 'file', at, invoiceId: MISTAKEN, source: 'event', from: null },
    ...{ sha256: sha256(COUNTED_CSV), sizeBytes: COUNTED_CSV.length },
  });
  await t.record([eventOf('invoice_voided', MISTAKEN), eventOf('invoice_finalized', OPEN)]);
  const test = anEvent('invoice_created', { verdict: 'test', receivedAt: now.toISOString() });
  await t.record([{ ...test, envelope: body }]);
  now = new Date('2026-05-01T00:00:00Z');
  await t.record([eventOf('invoice_voided', LATE_VOID)]);
  await finalized(LAST, LAST_CSV);
  await t.warehouse.publish();
  const quarantine = await openQuarantine(join(t.dataDir, 'inbox', 'quarantine'));
  const refusal = { kind: 'delivery', reason: 'r', sha256: null, findings: [], findingCount: 0 } as const;
  await quarantine.put(
    { ...refusal, at, code: 'not-json', invoiceId: null, eventId: null },
    Buffer.from('{'),
  );
  await quarantine.put({ ...refusal, at, code: 'unknown-event-type', invoiceId: OPEN, eventId: 'e-open' });
  mkdirSync(join(t.dataDir, 'run', 'aside'));
  writeFileSync(join(t.dataDir, 'run/aside/2026-03-07T00-00-00.000Z-warehouse.duckdb'), 'x');
  writeFileSync(join(t.dataDir, 'run/aside/2026-05-07T00-00-00.000Z-warehouse.duckdb'), 'x');
  await t.warehouse.close();
});
afterAll(() => t.close());

function copied(): string {
  const dataDir = makeDataDir();
  cpSync(t.dataDir, dataDir, { recursive: true });
  return dataDir;
}

const run = (dataDir: string, ...args: string[]) => runCommand(args, { env: { BILLSYNC_DATA_DIR: dataDir } });
const purge = (dataDir: string, ...args: string[]) =>
  run(dataDir, 'purge', '--before', '2026-04-01', ...args);

async function filesIn(dataDir: string): Promise<string[]> {
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  const there = await Promise.all(
    Object.entries(FILES).map(async ([name, csv]) =>
      (await archive.file(sha256(csv))) === null ? '' : name,
    ),
  );
  return there.filter((name) => name !== '');
}

async function answers(dataDir: string): Promise<unknown[]> {
  const published = join(dataDir, 'reports.duckdb');
  const totals = (from: string): Promise<unknown> =>
    queryFile(
      published,
      `select invoice_id, count(*)::integer as n, sum(billing_cost)::varchar as cost from ${from} group by all order by all`,
    );
  const instants = ['2026-04-01T00:00:00Z', '2026-04-15T00:00:00Z', '2026-05-01T00:00:01.5Z'];
  return Promise.all([
    totals('shipments'),
    ...instants.map((at) => totals(`shipments_as_known_on('${at}'::timestamptz)`)),
    queryFile(published, 'select invoice_id, state, stated_total_text, tenant_id from invoices order by all'),
    queryFile(published, 'select event_id, event_type, received_at::varchar as at from events order by all'),
  ]);
}

async function withWarehouse<T>(dataDir: string, work: (w: Warehouse, a: Archive) => Promise<T>): Promise<T> {
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  const warehouse = await openWarehouse({ settings: settingsFor(dataDir), archive, log: silent });
  return work(warehouse, archive).finally(() => warehouse.close());
}

const rebuild = async (dataDir: string) =>
  rebuildWarehouse({
    settings: settingsFor(dataDir),
    archive: await openFolderArchive(join(dataDir, 'archive')),
    log: silent,
  });

describe('billsync purge', () => {
  test('lists what it would remove, and removes nothing without consent', async () => {
    const dataDir = copied();
    const dry = await purge(dataDir, '--dry-run', '--json');
    expect(dry).toMatchObject({ exitCode: 0 });
    const plan = JSON.parse(dry.stdout);
    expect(plan.classes).toEqual([
      { class: 'events', count: 9, size_bytes: 9 * body.length, in_flight: 1, on_hold: 0 },
      { class: 'files', count: 2, size_bytes: OLD.length + VOIDED_CSV.length, in_flight: 0, on_hold: 0 },
      { class: 'refused', count: 1, size_bytes: 1, in_flight: 1, on_hold: 0 },
      { class: 'copies', count: 1, size_bytes: 1, in_flight: 0, on_hold: 0 },
    ]);
    expect(plan.uncounted_rows).toEqual([{ currency_code: 'USD', shipments: 3, billing_cost: '5.0003' }]);
    expect(plan.files).toMatchObject([
      { file_sha256: sha256(OLD), invoice_id: INVOICE, why: 'replaced' },
      { file_sha256: sha256(VOIDED_CSV), invoice_id: VOIDED, why: 'voided' },
    ]);
    const unexplained = await purge(dataDir, '--yes');
    expect(unexplained).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('needs a reason') });
    const unconfirmed = await purge(dataDir, '--reason', 'age');
    expect(unconfirmed).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('add --yes to confirm'),
    });
    const ahead = await run(dataDir, 'purge', '--before', '2999-01-01', '--dry-run');
    expect(ahead).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('in the future') });
    expect(await filesIn(dataDir)).toEqual(Object.keys(FILES));
  });

  test('changes no report from its date on, before and after a rebuild', async () => {
    const dataDir = copied();
    const before = await answers(dataDir);
    const purged = await purge(dataDir, '--reason', 'seven years', '--yes', '--json');
    expect(purged).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('3 shipments of 5.0003 USD'),
    });
    expect(await filesIn(dataDir)).toEqual(['NEW', 'COUNTED_CSV', 'LATE_VOID_CSV', 'LAST_CSV']);
    expect(existsSync(join(dataDir, 'run/aside/2026-03-07T00-00-00.000Z-warehouse.duckdb'))).toBe(false);
    expect(existsSync(join(dataDir, 'run/aside/2026-05-07T00-00-00.000Z-warehouse.duckdb'))).toBe(true);
    const [audited] = JSON.parse((await run(dataDir, 'audit', 'list', '--json')).stdout);
    expect(audited).toMatchObject({
      ...{
        action: 'purge',
        outcome: 'done',
        reason: 'seven years',
        target: ['--before 2026-04-01T00:00:00.000Z'],
      },
      detail: 'Removed 9 event bodies, 2 files, 1 refused item, 1 old warehouse.',
    });

    const proved = await run(dataDir, 'verify');
    expect(proved).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('The files of 2 loads were purged'),
    });
    const copy = await run(dataDir, 'verify', '--archive', join(dataDir, 'archive'));
    expect(copy).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 files purged: no faults') });
    expect(await answers(dataDir)).toEqual(before);

    const rebuilt = await run(dataDir, 'rebuild', '--json');
    expect(rebuilt).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 loads left out') });
    expect(JSON.parse(rebuilt.stdout)).toMatchObject({ losses: [], purged_loads: 2, is_replaced: true });
    expect(await answers(dataDir)).toEqual(before);
    expect(JSON.parse((await run(dataDir, 'verify', '--json')).stdout)).toMatchObject({
      purged: 0,
      drift: [],
    });
    const rows = 'select count(*)::integer as n from internal.shipment_rows';
    expect(await queryFile(join(dataDir, 'reports.duckdb'), rows)).toEqual([{ n: 4 }]);
    const again = JSON.parse((await purge(dataDir, '--dry-run', '--json')).stdout);
    expect(again.classes.map(({ count }: { count: number }) => count)).toEqual([0, 0, 0, 0]);
  });

  test('keeps the hash and the values of an event, so that a repeat is recognized', async () => {
    const dataDir = copied();
    await purge(dataDir, '--only', 'events', '--reason', 'age', '--yes');
    const archive = await openFolderArchive(join(dataDir, 'archive'));
    const kept: ArchivedEvent[] = [];
    for await (const { event } of archive.events()) kept.push(event);
    const voided = kept.find(({ event }) => event?.eventType === 'invoice_voided');
    expect(voided).toMatchObject({ envelope: '', trimmed: { sha256: sha256(Buffer.from(body)) } });
    const again = { ...(voided as ArchivedEvent), envelope: body };
    expect(await archive.putEvent(again)).toBe('known');
    const event = JSON.parse((await run(dataDir, 'events', 'show', again.eventId, '--json')).stdout);
    expect(event).toMatchObject({ envelope: '', body_sha256: sha256(Buffer.from(body)) });
    expect(
      kept.filter(({ envelope }) => envelope === body).map(({ event }) => event?.invoice.invoiceId),
    ).toEqual([OPEN, LATE_VOID, LAST]);
    expect(await filesIn(dataDir)).toEqual(Object.keys(FILES));
  });

  test('keeps everything that a hold names', async () => {
    const dataDir = copied();
    const count = async (name: string): Promise<unknown> => {
      const { stdout } = await purge(dataDir, '--dry-run', '--json');
      const { count, in_flight, on_hold } = JSON.parse(stdout).classes.find(
        (line: { class: string }) => line.class === name,
      );
      return { count, in_flight, on_hold };
    };
    const hold = (...args: string[]) => run(dataDir, 'hold', ...args);
    const held = await hold('add', '--invoice', VOIDED.toUpperCase(), '--reason', 'case 17', '--json');
    expect(await count('files')).toEqual({ count: 1, in_flight: 0, on_hold: 1 });
    expect(await count('refused')).toEqual({ count: 0, in_flight: 1, on_hold: 1 });
    const { hold_id } = JSON.parse(held.stdout);
    await hold('add', '--tenant', 'ACME', '--reason', 'audit');
    expect(await count('files')).toEqual({ count: 0, in_flight: 0, on_hold: 2 });
    expect(JSON.parse((await hold('list', '--json')).stdout)).toMatchObject([
      { hold_id, scope: 'invoice', reason: 'case 17' },
      { scope: 'tenant', subject: 'ACME' },
    ]);
    for (const { hold_id: each } of JSON.parse((await hold('list', '--json')).stdout))
      await hold('lift', each, '--reason', 'closed');
    expect(await count('files')).toEqual({ count: 2, in_flight: 0, on_hold: 0 });
    expect(await hold('lift', hold_id, '--reason', 'closed')).toMatchObject({ exitCode: 3 });
    expect(await hold('add', '--invoice', 'INV-1', '--reason', 'x')).toMatchObject({ exitCode: 2 });
    expect(await hold('add', '--all', '--tenant', 'x', '--reason', 'x')).toMatchObject({ exitCode: 2 });
  });

  test('leaves a state after every step that verify and rebuild accept, and completes next time', async () => {
    // The refused thing, nine events, and a fact, the bytes and their description of each file.
    const [AN_EVENT, A_FACT, ITS_BYTES, THEIR_DESCRIPTION] = [2, 11, 12, 13];
    for (const last of [AN_EVENT, A_FACT, ITS_BYTES, THEIR_DESCRIPTION]) {
      const dataDir = copied();
      const quarantine = await openQuarantine(join(dataDir, 'inbox', 'quarantine'));
      const plan = (warehouse: Warehouse, archive: Archive) =>
        planPurge({ before: DATE, classes: new Set(PURGE_CLASSES), archive, warehouse, quarantine, dataDir });
      const of = { quarantine, by: 'a test', reason: 'age', onProgress: () => undefined };
      await withWarehouse(dataDir, async (warehouse, archive) => {
        let step = 0;
        const cut = <T>(work: () => Promise<T>): Promise<T> => {
          step += 1;
          return step === last ? Promise.reject(new Error('cut')) : work();
        };
        const cutting: Archive = {
          ...archive,
          putFact: (fact) => cut(() => archive.putFact(fact)),
          trimEvent: (eventId, at) => cut(() => archive.trimEvent(eventId, at)),
          async removeFile(hash) {
            await cut(async () => rmSync(join(dataDir, 'archive/files', hash.slice(0, 2), `${hash}.csv`)));
            await cut(() => archive.removeFile(hash));
          },
        };
        const work = runPurge(await plan(warehouse, archive), { ...of, archive: cutting });
        await expect(work).rejects.toThrow('cut');
        expect((await verifyArchive(archive)).faults, `${last}`).toEqual([]);
        expect((await warehouse.verify({ full: true })).drift, `${last}`).toEqual([]);
        await runPurge(await plan(warehouse, archive), { ...of, archive });
        expect(await filesIn(dataDir)).toEqual(['NEW', 'COUNTED_CSV', 'LATE_VOID_CSV', 'LAST_CSV']);
      });
      if (last !== THEIR_DESCRIPTION) continue;
      const before = await answers(dataDir);
      expect(await rebuild(dataDir)).toMatchObject({ losses: [], holdsLess: false, purgedLoads: 2 });
      expect(await answers(dataDir)).toEqual(before);
    }
  });

  test('refuses a folder that another process holds or that has no warehouse', async () => {
    const dataDir = copied();
    await withWarehouse(dataDir, async () => {
      const locked = await purge(dataDir, '--dry-run');
      expect(locked).toMatchObject({ exitCode: 8 });
    });
    const nowhere = join(dataDir, 'nowhere');
    expect(await purge(nowhere, '--dry-run')).toMatchObject({ exitCode: 3 });
    expect(existsSync(nowhere)).toBe(false);
    expect(readFileSync(join(dataDir, 'archive/facts/journal.ndjson'), 'utf8')).not.toContain('purged');
  });
});
