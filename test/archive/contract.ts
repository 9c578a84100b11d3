/** Promises of every archive, in a folder or on S3, for any number of writers. */

import { createHash, randomUUID } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Archive, ArchivedEvent, Fact } from '../../archive/archive.ts';
import { describeFile } from '../../archive/records.ts';
import { testFolder } from '../support/folders.ts';
import { aCsv } from '../warehouse/support.ts';
import { anArchivedEvent } from './an-event.ts';

export async function readEvents(
  from: Archive,
  after?: string,
): Promise<{ event: ArchivedEvent; cursor: string }[]> {
  return Array.fromAsync(from.events(after === undefined ? {} : { after }));
}

export const aFact = (at: string, eventId: string): Fact => ({ kind: 'duplicate', at, eventId });

/** @param open an empty archive, and how another process or machine opens it */
export function archiveContract(
  open: () => Promise<{ readonly archive: Archive; readonly another: () => Promise<Archive> }>,
): void {
  let archive: Archive;
  let another: () => Promise<Archive>;
  let download: string;
  beforeEach(async () => {
    ({ archive, another } = await open());
    download = join(testFolder(), 'file.csv');
  });

  describe('events', () => {
    test('are stored once, regardless of the case of their id', async () => {
      const event = anArchivedEvent();
      expect(await archive.putEvent(event)).toBe('new');
      const again = { ...event, eventId: event.eventId.toUpperCase(), envelope: '{"a":1}' };
      expect(await archive.putEvent(again)).toBe('known');
      expect(await archive.event(again.eventId)).toEqual(event);
      expect(await archive.event(randomUUID())).toBeNull();
      await expect(archive.putEvent(anArchivedEvent({ eventId: '../../x' }))).rejects.toThrow(RangeError);
    });

    test('are new for exactly one of many concurrent puts', async () => {
      const other = await another();
      const event = anArchivedEvent();
      const puts = Array.from({ length: 20 }, (_, i) => (i % 2 ? archive : other).putEvent(event));
      expect((await Promise.all(puts)).filter((answer) => answer === 'new')).toHaveLength(1);
      expect((await readEvents(other)).map((each) => each.event)).toEqual([event]);
    });

    test('are listed by receivedAt, and after a cursor', async () => {
      const first = anArchivedEvent({ receivedAt: '2026-03-02T00:00:00.000Z' });
      const second = anArchivedEvent({ receivedAt: '2026-03-01T00:00:00.000Z' });
      for (const event of [first, second]) await archive.putEvent(event);
      const found = await readEvents(archive);
      expect(found.map(({ event }) => event)).toEqual([second, first]);
      expect(await readEvents(archive, found.at(-1)?.cursor)).toEqual([]);
      const later = anArchivedEvent({ receivedAt: '2026-01-01T00:00:00.000Z' });
      await archive.putEvent(later);
      const more = await readEvents(archive, found.at(-1)?.cursor);
      expect(more.map(({ event }) => event)).toEqual([later]);
      expect(await readEvents(archive, more.at(-1)?.cursor)).toEqual([]);
    });

    test('are listed again when they are accepted after a refusal of the same id', async () => {
      const refused = anArchivedEvent({ verdict: 'quarantined', reason: 'foreign-partner', event: null });
      await archive.putEvent(refused);
      const cursor = (await readEvents(archive)).at(-1)?.cursor ?? '';
      const accepted = anArchivedEvent({ eventId: refused.eventId });
      expect(await archive.putEvent(accepted)).toBe('new');
      expect(await archive.putEvent(refused)).toBe('known');
      expect((await readEvents(archive, cursor)).map(({ event }) => event)).toEqual([accepted]);
    });
  });

  test('a file is stored once under its hash, and read by another process', async () => {
    const bytes = aCsv();
    await writeFile(download, bytes);
    const file = await describeFile(download);
    for (const _ of ['once', 'again']) {
      await writeFile(download, bytes);
      expect(await archive.putFile(download, file)).toEqual(file);
      await expect(stat(download)).rejects.toThrow('ENOENT');
    }
    const other = await another();
    expect(await other.file(file.sha256)).toEqual(file);
    const local = await other.localPath(file.sha256);
    expect((await readFile(local)).equals(bytes)).toBe(true);
    expect((await stat(local)).mode & 0o777).toBe(0o600);
    expect(await Array.fromAsync(archive.files())).toEqual([file]);
    await expect(archive.localPath('0'.repeat(64))).rejects.toThrow('no file');
  });

  test('a file of other bytes than described is refused', async () => {
    await writeFile(download, aCsv());
    const file = await describeFile(download);
    const other = { ...file, sizeBytes: file.sizeBytes + 1, sha256: '0'.repeat(64) };
    await expect(archive.putFile(download, other)).rejects.toThrow(RangeError);
    expect(await archive.file(other.sha256)).toBeNull();
  });

  test('facts are listed by instant, and after a cursor', async () => {
    await archive.putFact(aFact('2026-03-02T00:00:00.000Z', 'c'));
    await archive.putFact(aFact('2026-03-01T00:00:00.000Z', 'a'));
    const found = await Array.fromAsync(archive.facts());
    expect(found).toMatchObject([{ eventId: 'a' }, { eventId: 'c' }]);
    const { cursor = null } = (await Array.fromAsync(archive.factsAfter(null))).at(-1) ?? {};
    await archive.putFact(aFact('2026-01-01T00:00:00.000Z', 'd'));
    const more = await Array.fromAsync(archive.factsAfter(cursor));
    expect(more).toMatchObject([{ fact: { eventId: 'd' } }]);
  });

  test('a purge removes a file with its copies and keeps the hash of an event', async () => {
    await writeFile(download, aCsv());
    const { sha256 } = await archive.putFile(download, await describeFile(download));
    const event = anArchivedEvent({ eventId: 'a1', envelope: '{"a":1}' });
    await archive.putEvent(event);
    const at = '2026-03-01T00:00:00.000Z';
    for (const time of ['once', 'again']) {
      await archive.removeFile(sha256);
      expect(await archive.file(sha256), time).toBeNull();
      expect(await archive.reread(sha256), time).toBeNull();
      await expect(archive.localPath(sha256)).rejects.toThrow('has no file');
      expect(await archive.trimEvent('a1', at)).toBe(time === 'once');
    }
    const hash = createHash('sha256').update('{"a":1}').digest('hex');
    const trimmed = { at, sha256: hash, sizeBytes: 7 };
    expect(await (await another()).event('a1')).toEqual({ ...event, envelope: '', trimmed });
    expect(await archive.putEvent(event)).toBe('known');
  });
}
