import { createHash, randomUUID } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Archive, ArchivedEvent, Fact } from '../../archive/archive.ts';
import { ArchiveError } from '../../archive/errors.ts';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { openEventFolder } from '../../archive/folder-events.ts';
import { openArchive } from '../../archive/open-archive.ts';
import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import { testFolder } from '../support/folders.ts';
import { anArchivedEvent } from './an-event.ts';
import { aFact, archiveContract, readEvents } from './contract.ts';

let root: string;
let archive: Archive;

beforeEach(async () => {
  root = join(testFolder(), 'archive');
  archive = await openFolderArchive(root);
});

archiveContract(async () => ({ archive, another: () => openFolderArchive(root) }));

describe('a volume that is not mounted any more', () => {
  test('writes nothing until it is mounted again', async () => {
    const before = anArchivedEvent();
    await archive.putEvent(before);
    await rename(root, `${root}.mounted`);
    await mkdir(root);
    const event = anArchivedEvent();
    const fact = { kind: 'discard', at: event.receivedAt, id: 'd-1', note: '' } as unknown as Fact;
    await expect(archive.putEvent(event)).rejects.toThrow('The archive is no longer in its folder');
    await expect(archive.putFact(fact)).rejects.toThrow(ArchiveError);
    const file = { sha256: '0'.repeat(64), sizeBytes: 1 } as unknown as ArchivedFile;
    await expect(archive.putFile(join(root, 'file.csv'), file)).rejects.toThrow(ArchiveError);
    expect(await readdir(root)).toEqual([]);
    await rm(root, { recursive: true });
    await rename(`${root}.mounted`, root);
    expect(await archive.putEvent(event)).toBe('new');
    expect((await ids(archive)).sort()).toEqual([before.eventId, event.eventId].sort());
  });
});

describe('a volume that is not mounted at the start', () => {
  test('is reported, and no archive is created in its place', async () => {
    const dataDir = testFolder();
    const path = join(dataDir, 'warehouse.duckdb');
    const place = join(dataDir, 'mounted', 'archive');
    const opened = () =>
      openArchive({ dataDir, archive: { kind: 'folder', path: place }, warehouse: { kind: 'duckdb', path } });
    await writeFile(path, '');
    await expect(opened()).rejects.toThrow(ArchiveError);
    await mkdir(join(place, 'lost+found'), { recursive: true });
    await expect(opened()).rejects.toThrow('The archive is no longer in its folder');
    expect(await readdir(place)).toEqual(['lost+found']);
    await rm(path);
    await (await opened()).close();
    await writeFile(path, '');
    await (await opened()).close();
  });
});

describe('events', () => {
  const RANK = ['test', 'quarantined', 'accepted'];
  const act = fc.oneof(
    fc.record({
      kind: fc.constant('put' as const),
      id: fc.nat({ max: 4 }),
      verdict: fc.constantFrom<ArchivedEvent['verdict']>('accepted', 'accepted', 'quarantined', 'test'),
      minute: fc.nat({ max: 3 }),
    }),
    fc.record({ kind: fc.constant('read' as const), count: fc.nat({ max: 3 }) }),
    fc.record({ kind: fc.constantFrom('fact', 'tear', 'reopen') }),
  );

  test('and facts reach a reader, whatever is put, torn and opened again between its reads', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 16 }), async (acts) => {
        const place = join(testFolder(), randomUUID());
        let writer = await openFolderArchive(place);
        const reader = await openFolderArchive(place);
        const stored = new Map<string, ArchivedEvent>();
        const puts = new Map<string, number>();
        const facts: string[] = [];
        const seen: ArchivedEvent[] = [];
        const seenFacts: string[] = [];
        let [after, factsAfter]: [string | undefined, string | null] = [undefined, null];
        const read = async (count: number): Promise<void> => {
          for (const { event, cursor } of (await readEvents(reader, after)).slice(0, count)) {
            seen.push(event);
            after = cursor;
          }
          for (const { fact, cursor } of (await Array.fromAsync(reader.factsAfter(factsAfter))).slice(
            0,
            count,
          )) {
            seenFacts.push(String((fact as { eventId?: string }).eventId));
            factsAfter = cursor;
          }
        };
        for (const each of acts) {
          if (each.kind === 'put') {
            const event = anArchivedEvent({
              ...{ eventId: `event-${each.id}`, verdict: each.verdict },
              receivedAt: `2026-03-01T00:0${each.minute}:00.000Z`,
            });
            const before = stored.get(event.eventId);
            const isNew = before === undefined || RANK.indexOf(each.verdict) > RANK.indexOf(before.verdict);
            expect(await writer.putEvent(event)).toBe(isNew ? 'new' : 'known');
            if (isNew) stored.set(event.eventId, event);
            // A repeat is listed again, because its first line may have been lost.
            puts.set(event.eventId, (puts.get(event.eventId) ?? 0) + 1);
          } else if (each.kind === 'read') await read(each.count);
          else if (each.kind === 'fact') {
            facts.push(`fact-${facts.length}`);
            await writer.putFact(aFact('2026-03-01T00:00:00.000Z', facts.at(-1) ?? ''));
          } else if (each.kind === 'reopen') writer = await openFolderArchive(place);
          else if (stored.size > 0) await appendFile(join(place, 'events/journal'), '\n2026-03-01T00:0');
        }
        await read(99);
        await read(99);
        const last = new Map(seen.map((event) => [event.eventId, event]));
        expect(last).toEqual(stored);
        for (const id of stored.keys())
          expect(seen.filter(({ eventId }) => eventId === id).length).toBeLessThanOrEqual(puts.get(id) ?? 0);
        expect(seenFacts).toEqual(facts);
        const line = ({ receivedAt, eventId }: ArchivedEvent): string => `${receivedAt} ${eventId}`;
        const listed = (await readEvents(writer)).map(({ event }) => event);
        expect(listed.map(line).sort()).toEqual([...stored.values()].map(line).sort());
        const putOnce = listed.filter(({ eventId }) => puts.get(eventId) === 1).map(line);
        expect(putOnce).toEqual(putOnce.toSorted());
      }),
      { numRuns: 60 },
    );
  });

  test('lists each event of a divided journal once', async () => {
    const events = Array.from({ length: 40 }, (_, i) =>
      anArchivedEvent({ receivedAt: `2026-03-01T00:00:${`${i}`.padStart(2, '0')}.000Z` }),
    );
    for (const event of events) await archive.putEvent(event);
    const inOrder = events.map(({ eventId }) => eventId);
    // A line has some 60 bytes: parts of one, of a few, of all.
    for (const partBytes of [100, 300, 1_000, 1 << 20]) {
      const folder = await openEventFolder(join(root, 'events'), partBytes);
      const taken = await Array.fromAsync(folder.events());
      expect(taken.map(({ event }) => event.eventId)).toEqual(inOrder);
      for (const [at, { cursor }] of taken.entries()) {
        const next = await folder.events({ after: cursor })[Symbol.asyncIterator]().next();
        expect(next.done === true ? undefined : next.value.event.eventId).toBe(inOrder[at + 1]);
      }
    }
  });

  test('lists an event whose line was lost after its next put', async () => {
    const event = anArchivedEvent();
    await archive.putEvent(event);
    await writeFile(join(root, 'events/journal'), '');
    expect(await ids(archive)).toEqual([]);
    expect(await archive.putEvent(event)).toBe('known');
    expect(await ids(archive)).toEqual([event.eventId]);
  });

  test('rebuilds a lost journal from the events', async () => {
    for (let i = 0; i < 5; i += 1) await archive.putEvent(anArchivedEvent());
    const before = await ids(archive);
    await archive.close();
    await rm(join(root, 'events/journal'));
    archive = await openFolderArchive(root);
    expect(await ids(archive)).toEqual(before);
  });
});

describe('files', () => {
  const bytes = 'Tenant\r\n';
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const scan = {
    ...{ records: 0, findings: [], findingCount: 0, endsWithLineEnd: true },
    cuts: [],
  };

  test('reports a damaged or lost file and repairs it with the next put', async () => {
    const file = { sha256, sizeBytes: bytes.length, scan };
    const put = async (): Promise<void> => {
      const path = join(root, `download-${randomUUID()}`);
      await writeFile(path, bytes);
      expect(await archive.putFile(path, file)).toEqual(file);
      await expect(stat(path)).rejects.toThrow('ENOENT');
    };
    await put();
    const path = await archive.localPath(sha256);
    expect(await archive.reread(sha256)).toEqual({ sha256, path });
    await writeFile(path, 'nonsense');
    const found = createHash('sha256').update('nonsense').digest('hex');
    expect(await archive.reread(sha256)).toEqual({ sha256: found, path: null });
    await put();
    expect(await archive.reread(sha256)).toEqual({ sha256, path });
    await rm(path);
    expect(await archive.reread(sha256)).toBeNull();
    await put();
    expect(await readFile(path, 'utf8')).toBe(bytes);
  });
});

describe('facts', () => {
  test('resumes behind a fact, across truncated lines and chunks', async () => {
    await Promise.all(
      Array.from({ length: 400 }, (_, i) =>
        archive.putFact({
          kind: 'attention',
          at: '2026-03-01T00:00:00.000Z',
          invoiceId: `${i}`,
          code: 'x',
          reason: 'ü'.repeat(3_000),
        }),
      ),
    );
    await appendFile(join(root, 'facts/journal.ndjson'), '\n{"kind":"dup');
    await archive.putFact(aFact('2026-03-01T00:00:00.000Z', 'last'));
    const all = await Array.fromAsync(archive.factsAfter(null));
    expect(all).toHaveLength(401);
    const rest = await Array.fromAsync(archive.factsAfter(all[398]?.cursor ?? null));
    expect(rest.map(({ fact }) => fact)).toEqual(all.slice(399).map(({ fact }) => fact));
  });

  test('reports a damaged line with its number, not a truncated one', async () => {
    const journal = join(root, 'facts/journal.ndjson');
    for (const id of ['a', 'b', 'c', 'd']) await archive.putFact(aFact('2026-03-01T00:00:00.000Z', id));
    await appendFile(journal, '\n{"kind":"dup');
    await archive.putFact(aFact('2026-03-01T00:00:00.000Z', 'e'));
    await appendFile(journal, '\n{"kind":"duplicate","at":"2026');
    const text = await readFile(journal, 'utf8');
    await writeFile(
      journal,
      text
        .replace('"eventId":"b"', '"eventId":b')
        .replace(
          '"duplicate","at":"2026-03-01T00:00:00.000Z","eventId":"c"',
          '"dupl_cate","at":"2026-03-01T00:00:00.000Z","eventId":"c"',
        ),
    );
    const reported: string[] = [];
    const found = await Array.fromAsync(archive.facts(({ where }) => reported.push(where)));
    expect(found).toMatchObject([{ eventId: 'a' }, { eventId: 'd' }, { eventId: 'e' }]);
    expect(reported).toEqual(['facts/journal.ndjson, line 4', 'facts/journal.ndjson, line 6']);
    const afterwards: string[] = [];
    const [first] = await Array.fromAsync(archive.factsAfter(null));
    await Array.fromAsync(archive.factsAfter(first?.cursor ?? null, ({ where }) => afterwards.push(where)));
    expect(afterwards).toEqual(reported);
  });
});

describe('eventNames', () => {
  test('lists the names of readable events only', async () => {
    for (const id of ['a1', 'b2', 'c3', 'd4']) await archive.putEvent(anArchivedEvent({ eventId: id }));
    await archive.putEvent(anArchivedEvent({ eventId: 'e5', verdict: 'quarantined' }));
    await rm(join(root, 'events/b2/b2.json'));
    const journal = join(root, 'events/journal');
    await writeFile(journal, (await readFile(journal, 'utf8')).replace(/^.* c3\n/m, ''));
    const names = await Array.fromAsync(archive.eventNames());
    expect(names.sort()).toEqual(['a1', 'd4', 'e5']);
    expect((await ids(archive)).sort()).toEqual(names);
  });
});

async function ids(from: Archive, after?: string): Promise<string[]> {
  return (await readEvents(from, after)).map(({ event }) => event.eventId);
}
