import { createHash, randomUUID } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Archive, Fact } from '../../archive/archive.ts';
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
    await expect(archive.putEvent(event)).rejects.toThrow('The folder holds no archive any more');
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
    await expect(opened()).rejects.toThrow('The folder holds no archive any more');
    expect(await readdir(place)).toEqual(['lost+found']);
    await rm(path);
    await (await opened()).close();
    await writeFile(path, '');
    await (await opened()).close();
  });
});

describe('events', () => {
  test('resumes after any event without gap or repeat', async () => {
    for (let i = 0; i < 12; i += 1) {
      await archive.putEvent(anArchivedEvent({ receivedAt: `2026-03-01T00:00:${59 - i}.000Z` }));
    }
    const all = await ids(archive);
    for (let stop = 1; stop <= all.length; stop += 1) {
      const { cursor } = (await readEvents(archive))[stop - 1] ?? { cursor: '' };
      expect(await ids(archive, cursor)).toEqual(all.slice(stop));
    }
    const { cursor } = (await readEvents(archive))[3] ?? { cursor: '' };
    const later = anArchivedEvent({ receivedAt: '2026-01-01T00:00:00.000Z' });
    await archive.putEvent(later);
    expect(await ids(archive, cursor)).toEqual([...all.slice(4), later.eventId]);
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

  test('hides no event behind a truncated line', async () => {
    await archive.putEvent(anArchivedEvent());
    await appendFile(join(root, 'events/journal'), '\n2026-03-01T00:0');
    await archive.putEvent(anArchivedEvent());
    expect(await ids(archive)).toHaveLength(2);
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
  test('of one instant stay in order of writing', async () => {
    for (const id of ['b', 'a']) await archive.putFact(aFact('2026-03-01T00:00:00.000Z', id));
    expect(await Array.fromAsync(archive.facts())).toMatchObject([{ eventId: 'b' }, { eventId: 'a' }]);
  });

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
