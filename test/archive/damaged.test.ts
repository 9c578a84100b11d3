import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Archive, CursorError, type Fact, type UnreadableRecord } from '../../archive/archive.ts';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { describeFile } from '../../archive/records.ts';
import { testFolder } from '../support/folders.ts';
import { aCsv } from '../warehouse/support.ts';
import { anArchivedEvent, anEvent } from './an-event.ts';
import { brokenRecord } from './broken-records.ts';

const INVOICE = '22222222-2222-4222-8222-222222222222';
const AT = '2026-03-01T00:00:00.000Z';

/** One of each kind. */
const FACTS: readonly Fact[] = [
  { kind: 'duplicate', at: AT, eventId: 'a1' },
  { kind: 'file', at: AT, invoiceId: INVOICE, sha256: 'ab', sizeBytes: 1, source: 'event', from: null },
  {
    kind: 'load',
    at: AT,
    invoiceId: INVOICE,
    sha256: 'a'.repeat(64),
    source: 'event',
    announcedSha256: null,
    version: 1,
    loadId: 1,
    shipments: 3,
    billingCost: '1.0000',
    eventId: null,
    workflowRunId: null,
  },
  { kind: 'details', at: AT, invoiceId: INVOICE, status: 'finalized', header: { invoiceNumber: 'N' } },
  { kind: 'attention', at: AT, invoiceId: INVOICE, code: 'x', reason: 'y' },
  { kind: 'resolved', at: AT, invoiceId: INVOICE },
  { kind: 'discard', at: AT, quarantineId: 'd-0123456789abcdef', note: '' },
];
const LAST: Fact = { kind: 'duplicate', at: AT, eventId: 'last' };

let root: string;
let archive: Archive;
beforeEach(async () => {
  root = testFolder();
  archive = await openFolderArchive(root);
});

async function events(of = archive, after?: string) {
  const reported: UnreadableRecord[] = [];
  const options = { ...(after === undefined ? {} : { after }), onUnreadable: reported.push.bind(reported) };
  const found = await Array.fromAsync(of.events(options));
  const ids = found.map(({ event }) => event.eventId);
  return { ids, reported, cursor: found.at(-1)?.cursor ?? after ?? '' };
}

describe('a damaged event', () => {
  const path = (id: string): string => join(root, 'events', id.slice(0, 2), `${id}.json`);

  test('hides no other event, whatever replaces it', async () => {
    const whole = JSON.stringify(anArchivedEvent({ eventId: 'b2', event: anEvent({ eventId: 'b2' }) }));
    for (const eventId of ['a1', 'b2', 'c3']) await archive.putEvent(anArchivedEvent({ eventId }));
    await fc.assert(
      fc.asyncProperty(brokenRecord(whole), async (bytes) => {
        writeFileSync(path('b2'), bytes);
        const { ids, reported } = await events();
        expect(ids.filter((id) => id !== 'b2')).toEqual(['a1', 'c3']);
        // The record is either readable or reported.
        expect(ids.includes('b2') ? [] : ['events/b2/b2.json']).toEqual(reported.map(({ where }) => where));
        await archive.event('b2');
      }),
      { numRuns: 100 },
    );
  });

  test('is reported once', async () => {
    for (const eventId of ['a1', 'b2']) await archive.putEvent(anArchivedEvent({ eventId }));
    writeFileSync(path('b2'), 'nonsense');
    const first = await events();
    expect(first.reported).toEqual([{ where: 'events/b2/b2.json', why: 'not JSON' }]);
    expect(await events(archive, first.cursor)).toMatchObject({ ids: [], reported: [] });
  });

  test('does not block the rebuild of a lost journal', async () => {
    for (const eventId of ['a1', 'b2']) await archive.putEvent(anArchivedEvent({ eventId }));
    writeFileSync(path('b2'), '{"receivedAt":5}');
    mkdirSync(path('b2').replace('b2.json', 'b23.json'));
    rmSync(join(root, 'events/journal'));
    const { ids, reported } = await events(await openFolderArchive(root));
    expect(ids).toEqual(['a1']);
    expect(reported.map(({ where }) => where).sort()).toEqual(['events/b2/b2.json', 'events/b2/b23.json']);
  });

  test('in the journal is not read as a line', async () => {
    await archive.putEvent(anArchivedEvent({ eventId: 'a1' }));
    appendFileSync(join(root, 'events/journal'), `\n${AT} ${'x'.repeat(5_000)}\n\n${AT} b2\n${AT} \xff\n`);
    await archive.putEvent(anArchivedEvent({ eventId: 'c3' }));
    expect(await events()).toMatchObject({ ids: ['a1', 'c3'], reported: [] });
  });
});

test.each(FACTS.map((fact) => [fact.kind, fact] as const))(
  'a damaged fact never hides another, whatever lies in its place: %s',
  async (_kind, fact) => {
    const journal = join(root, 'facts/journal.ndjson');
    for (const each of FACTS) await archive.putFact(each);
    await archive.putFact(LAST);
    const lines = readFileSync(journal, 'utf8').split('\n');
    const at = lines.findIndex((line) => line.includes(`"kind":"${fact.kind}"`));
    const others = FACTS.filter(({ kind }) => kind !== fact.kind);
    await fc.assert(
      fc.asyncProperty(brokenRecord(JSON.stringify(fact)), async (bytes) => {
        const damaged = lines.map((line, i) => (i === at ? bytes : Buffer.from(line)));
        writeFileSync(journal, Buffer.concat(damaged.flatMap((line) => [line, Buffer.from('\n')])));
        const found = await Array.fromAsync(archive.facts(() => undefined));
        expect(found).toEqual(expect.arrayContaining([...others, LAST]));
        expect(found.length).toBeLessThanOrEqual(FACTS.length + 1);
      }),
      { numRuns: 25 },
    );
  },
);

describe('a damaged description of a file', () => {
  const bytes = aCsv();
  const sha256 = createHash('sha256').update(bytes).digest('hex');

  test('is rebuilt from the bytes', async () => {
    const path = join(root, 'download');
    writeFileSync(path, bytes);
    const whole = await archive.putFile(path, { ...(await describeFile(path)) });
    const description = (await archive.localPath(sha256)).replace(/csv$/, 'json');
    const json = readFileSync(description, 'utf8').trim();
    await fc.assert(
      fc.asyncProperty(brokenRecord(json), async (damaged) => {
        writeFileSync(description, damaged);
        const found = await archive.file(sha256);
        expect(found).toMatchObject({ sha256 });
        expect(await archive.reread(sha256)).toMatchObject({ sha256 });
      }),
      { numRuns: 25 },
    );
    writeFileSync(description, 'nonsense');
    expect(await archive.file(sha256)).toEqual(whole);
    expect(JSON.parse(readFileSync(description, 'utf8'))).toEqual(whole);
  });
});

test('opens beside foreign files', async () => {
  for (const folder of ['', 'events', 'files', 'facts']) {
    writeFileSync(join(root, folder, '.DS_Store'), 'not ours');
    writeFileSync(join(root, folder, 'ab'), 'not ours');
  }
  mkdirSync(join(root, 'files/lost+found'));
  const again = await openFolderArchive(root);
  expect(await Array.fromAsync(again.files())).toEqual([]);
});

test('refuses a cursor of another archive or behind a rebuilt journal', async () => {
  await archive.putEvent(anArchivedEvent({ eventId: 'a1' }));
  for (const cursor of [
    'x',
    '-1',
    '\ud800',
    '99999',
    '1.99999.2026~a',
    'facts/2026-01-01T00:00:00.000Z~a~b#',
  ]) {
    await expect(Array.fromAsync(archive.events({ after: cursor }))).rejects.toThrow(CursorError);
    await expect(Array.fromAsync(archive.factsAfter(cursor))).rejects.toThrow(CursorError);
  }
});
