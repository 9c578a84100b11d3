import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ArchivedEvent, Fact } from '../../../archive/archive.ts';
import { Database } from '../../../warehouse/duckdb/database.ts';
import type { SetAside } from '../../../warehouse/ledger/ingest.ts';
import { anArchivedEvent, anEvent } from '../../archive/an-event.ts';
import { brokenRecord } from '../../archive/broken-records.ts';
import { aCsv, aWarehouse, INVOICE, loadCsv, type TestWarehouse, tickingClock } from '../support.ts';

const SECOND = '22222222-2222-4222-8222-222222222222';
const AT = '2026-03-01T00:00:00.000Z';

let t: TestWarehouse;
let reported: SetAside[];
beforeEach(async () => {
  reported = [];
  t = await aWarehouse({ onSetAside: (records) => reported.push(...records) });
});
afterEach(() => t.close());

function finalized(invoiceId: string, eventId: string, over: Partial<ArchivedEvent> = {}): ArchivedEvent {
  const event = anEvent({ eventId, eventType: 'invoice_finalized' });
  return anArchivedEvent({ eventId, event: { ...event, invoice: { ...event.invoice, invoiceId } }, ...over });
}

/** The archive can read it, and no ledger can store it. */
const NO_INSTANT = '0000-01-01T00:00:00Z';

async function states(): Promise<Record<string, string>> {
  return Object.fromEntries((await t.warehouse.invoices()).map(({ invoiceId, state }) => [invoiceId, state]));
}

async function drift(): Promise<readonly string[]> {
  return (await t.drift()).map(({ rule, found }) => `${rule} ${found}`);
}

describe('an event that the ledger refuses', () => {
  test('is left out of its batch, reported once, and listed by verify', async () => {
    const odd = finalized(SECOND, 'b2', { receivedAt: NO_INSTANT });
    await t.record([finalized(INVOICE, 'a1'), odd]);
    await t.record([odd]);
    expect(await states()).toEqual({ [INVOICE]: 'finalized' });
    const place = `event b2, received ${NO_INSTANT}`;
    expect(reported).toEqual([{ place, why: expect.any(String) }]);
    expect(await drift()).toContainEqual(expect.stringContaining(`record-set-aside ${place}`));
    await t.reopen();
    expect(reported).toHaveLength(1);
    expect((await t.warehouse.publish()).invoices).toBe(1);
  });
});

test('does not block other events, whatever replaces its record', async () => {
  await t.archive.putEvent(finalized(SECOND, 'b2'));
  const path = join(t.dataDir, 'archive/events/b2/b2.json');
  const whole = readFileSync(path, 'utf8').trim();
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(brokenRecord(whole), async (bytes) => {
      runs += 1;
      const good = `${runs}`.padStart(8, 'a');
      const invoiceId = `${good}-1111-4111-8111-111111111111`;
      writeFileSync(path, bytes);
      // A new line makes the warehouse read the event again.
      await t.archive.putEvent(finalized(SECOND, 'b2'));
      await t.archive.putEvent(finalized(invoiceId, good));
      await t.warehouse.ingestArchive();
      expect((await t.warehouse.invoice(invoiceId))?.state).toBe('finalized');
      expect((await t.warehouse.publish()).invoices).toBeGreaterThanOrEqual(runs);
    }),
    { numRuns: 12 },
  );
  expect((await t.rebuild({ acceptLoss: true, now: tickingClock() })).invoices).toBeGreaterThanOrEqual(runs);
  const places = new Set(reported.map(({ place }) => place));
  expect(places.size).toBe(reported.length);
});

describe('a damaged fact', () => {
  const SOUND: Fact = { kind: 'attention', at: AT, invoiceId: SECOND, code: 'not-exported', reason: 'why' };

  test('does not block other facts, a load, a start or a rebuild', async () => {
    await t.archive.putEvent(finalized(INVOICE, 'a1'));
    await loadCsv(t, aCsv());
    await t.archive.putFact({ kind: 'details', at: AT, invoiceId: INVOICE, status: 'finalized', header: {} });
    const journal = join(t.dataDir, 'archive/facts/journal.ndjson');
    const whole = readFileSync(journal);
    const kinds = whole
      .toString()
      .split('\n')
      .filter((line) => line !== '');
    expect(kinds).toHaveLength(2);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...kinds).chain(brokenRecord), async (bytes) => {
        writeFileSync(journal, whole);
        appendFileSync(journal, Buffer.concat([Buffer.from('\n'), bytes, Buffer.from('\n')]));
        await t.archive.putFact(SOUND);
        const made = await t.rebuild({ acceptLoss: true, now: tickingClock() });
        expect(made).toMatchObject({ invoices: expect.any(Number), loads: expect.any(Number) });
        expect(await states()).toMatchObject({ [INVOICE]: 'loaded', [SECOND]: 'needs_attention' });
        await t.warehouse.publish();
      }),
      { numRuns: 5 },
    );
  });

  test('is reported once until another one follows', async () => {
    appendFileSync(join(t.dataDir, 'archive/facts/journal.ndjson'), '\n{"kind":"details"}\n\n');
    for (let look = 0; look < 3; look += 1) await t.warehouse.ingestArchive();
    expect(reported).toEqual([{ place: 'facts/journal.ndjson, line 2', why: expect.stringContaining('at') }]);
  });
});

describe('a stored cursor of the archive', () => {
  async function storeCursor(position: string): Promise<void> {
    await t.warehouse.close();
    const database = await Database.open({
      path: join(t.dataDir, 'warehouse.duckdb'),
      folders: [],
      temporaryFolder: join(t.dataDir, 'run', 'tmp'),
      memoryLimit: null,
    });
    for (const stream of ['events', 'facts']) await database.all('move-cursor', { stream, position });
    database.close();
  }

  test.each(['x', '99999999', '-1'])(
    'that the archive does not know, %j, starts reading again and ingests nothing twice',
    async (position) => {
      await t.archive.putEvent(finalized(INVOICE, 'a1'));
      const facts: readonly Fact[] = [
        { kind: 'duplicate', at: AT, eventId: 'a1' },
        { kind: 'duplicate', at: AT, eventId: 'a1' },
        { kind: 'attention', at: AT, invoiceId: SECOND, code: 'x', reason: 'y' },
      ];
      for (const fact of facts) await t.archive.putFact(fact);
      await t.warehouse.ingestArchive();
      await storeCursor(position);
      await t.archive.putFact({ kind: 'duplicate', at: AT, eventId: 'a1' });
      await t.reopen().catch(() => undefined);
      await t.archive.putEvent(finalized(SECOND, 'b2'));
      await t.warehouse.ingestArchive();
      expect(await drift()).toEqual([]);
      expect(await states()).toMatchObject({ [INVOICE]: 'finalized' });
      expect(Object.keys(await states())).toHaveLength(2);
    },
  );
});
