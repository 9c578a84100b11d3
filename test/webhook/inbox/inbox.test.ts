/** The inbox accepts each delivery exactly once, whoever asks, and forgets nothing that it accepted. */

import { randomUUID } from 'node:crypto';
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Inbox, type InboxEntry, openInbox } from '../../../webhook/inbox/inbox.ts';
import { brokenRecord } from '../../archive/broken-records.ts';
import { temporaryNameOf } from '../../support/temporary-name-of.ts';

let root: string;
let inbox: Inbox;

beforeEach(async () => {
  root = join(await mkdtemp(join(tmpdir(), 'inbox-')), 'inbox');
  inbox = await openInbox(root);
});

function anEntry(over: Partial<InboxEntry> = {}): InboxEntry {
  return {
    kind: 'event',
    eventId: randomUUID(),
    receivedAt: '2026-03-01T00:00:00.000Z',
    invoiceId: null,
    code: null,
    ...over,
  };
}
const body = Buffer.from('{"a":"\u00fc"}\n\n{}');

describe('inbox', () => {
  test('a delivery is accepted once, a duplicate before and after it was trimmed', async () => {
    const entry = anEntry();
    expect(await inbox.accept(entry, body)).toBe('accepted');
    expect(await inbox.accept({ ...entry, eventId: entry.eventId.toUpperCase() }, body)).toBe('duplicate');
    expect(await inbox.has(entry)).toBe('pending');
    await inbox.trim(entry);
    expect(await inbox.has(entry)).toBe('done');
    expect(await inbox.accept(entry, body)).toBe('duplicate');
    expect(await (await openInbox(root)).accept(entry, body)).toBe('duplicate');
  });

  test('of 60 deliveries of one event through two inboxes at once one is accepted', async () => {
    const other = await openInbox(root);
    const entry = anEntry();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => (i % 2 ? inbox : other).accept(entry, body)),
    );
    expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(1);
  });

  test('an event that one inbox finishes while the other accepts it is never accepted twice', async () => {
    const other = await openInbox(root);
    for (let round = 0; round < 30; round += 1) {
      const entry = anEntry();
      const answers: string[] = [await inbox.accept(entry, body)];
      const [, ...late] = await Promise.all([
        inbox.trim(entry),
        ...Array.from({ length: 8 }, () => other.accept(entry, body)),
      ]);
      answers.push(...late);
      expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(1);
      expect(await inbox.has(entry)).toBe('done');
    }
  });

  test('the body comes back byte for byte and is gone once trimmed', async () => {
    const entry = anEntry();
    await inbox.accept(entry, body);
    expect(Buffer.from((await inbox.read(entry)) ?? [])).toEqual(body);
    expect((await stat(join(root, 'pending', entry.eventId))).mode & 0o777).toBe(0o600);
    expect((await stat(root)).mode & 0o777).toBe(0o700);
    await inbox.trim(entry);
    expect(await inbox.read(entry)).toBeNull();
    const marker = join(root, 'done', entry.eventId.slice(-2), entry.eventId);
    expect(await readFile(marker, 'utf8')).toBe('');
  });

  test('what waits comes in order of arrival, also to another process', async () => {
    const entries = Array.from({ length: 20 }, (_, i) =>
      anEntry({ receivedAt: `2026-03-01T00:00:00.00${Math.floor(i / 4)}Z` }),
    );
    for (const entry of entries) await inbox.accept(entry, body);
    expect(await (await openInbox(root)).pending()).toEqual(entries);
    const [first] = entries;
    expect(await inbox.pending((key) => key === first?.eventId)).toEqual(entries.slice(1));
  });

  test('neither a test event nor a refused delivery makes a real event a duplicate', async () => {
    const { eventId } = anEntry();
    for (const kind of ['test', 'refused', 'event'] as const) {
      expect(await inbox.accept(anEntry({ eventId, kind }), body)).toBe('accepted');
    }
    for (const kind of ['test', 'refused', 'event'] as const) {
      expect(await inbox.accept(anEntry({ eventId, kind }), body)).toBe('duplicate');
    }
  });

  test('an event that turns out to be refused can come again after the reason is gone', async () => {
    const entry = anEntry();
    await inbox.accept(entry, body);
    await inbox.trim(entry, 'refused');
    expect(await inbox.has({ ...entry, kind: 'refused' })).toBe('done');
    expect(await inbox.accept(entry, body)).toBe('accepted');
  });

  test('what comes together shares one file, and each is read, trimmed and refused a second time by itself', async () => {
    const other = await openInbox(root);
    const entries = Array.from({ length: 40 }, () => anEntry());
    const bodies = entries.map((_, i) => Buffer.from(`{"number": ${i}}\n\u00fc`.repeat(i)));
    const bodyOf = (i: number): Buffer => bodies[i] ?? body;
    const answers = await Promise.all(
      entries.flatMap((entry, i) => [inbox.accept(entry, bodyOf(i)), other.accept(entry, bodyOf(i))]),
    );
    expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(entries.length);
    const files = await Promise.all(entries.map(({ eventId }) => stat(join(root, 'pending', eventId))));
    expect(new Set(files.map(({ ino }) => ino)).size).toBeLessThan(20);
    const again = await openInbox(root);
    expect(await again.pending()).toHaveLength(entries.length);
    for (const [i, entry] of entries.entries()) {
      expect(Buffer.from((await again.read(entry)) ?? [])).toEqual(bodyOf(i));
      await again.trim(entry);
      expect(await again.accept(entry, bodyOf(i))).toBe('duplicate');
    }
    expect(await again.pending()).toEqual([]);
  });

  test('one that cannot be placed fails alone, not what came with it', async () => {
    const [first, blocked, last] = [anEntry(), anEntry(), anEntry()];
    const path = join(root, 'pending', blocked.eventId);
    await symlink('nowhere', path);
    const answers = await Promise.all([first, blocked, last].map((entry) => inbox.accept(entry, body)));
    expect(answers).toEqual(['accepted', 'duplicate', 'accepted']);
  });

  test('whatever lies in the place of the first line of a shared file, each of its entries is named and none is hidden', async () => {
    const entries = Array.from({ length: 3 }, () => anEntry());
    // The first goes alone, the others go together.
    await Promise.all(entries.map((entry) => inbox.accept(entry, body)));
    const path = join(root, 'pending', entries[1]?.eventId ?? '');
    const whole = await readFile(path);
    const headEnd = whole.indexOf(0x0a);
    await fc.assert(
      fc.asyncProperty(brokenRecord(whole.subarray(0, headEnd).toString()), async (bytes) => {
        await writeFile(path, Buffer.concat([bytes, whole.subarray(headEnd)]));
        const pending = await (await openInbox(root)).pending();
        expect(pending.map(({ eventId }) => eventId).sort()).toEqual(
          entries.map(({ eventId }) => eventId).sort(),
        );
        for (const entry of entries) expect(await inbox.read(entry)).not.toBeNull();
      }),
      { numRuns: 40 },
    );
  });

  test('a damaged entry is named and hides no other', async () => {
    const [broken, whole] = [anEntry(), anEntry()];
    await inbox.accept(broken, body);
    await inbox.accept(whole, body);
    await truncate(join(root, 'pending', broken.eventId), 10);
    const pending = await inbox.pending();
    expect(pending.map((entry) => entry.eventId).sort()).toEqual([broken.eventId, whole.eventId].sort());
    expect(await inbox.read(broken)).toEqual(Buffer.from('{"kind":"e'));
  });

  test('whatever lies in the place of what was noted of one, its body is read and no other is hidden', async () => {
    const [broken, whole] = [anEntry(), anEntry()];
    await inbox.accept(broken, body);
    await inbox.accept(whole, body);
    const path = join(root, 'pending', broken.eventId);
    const [head = ''] = (await readFile(path, 'utf8')).split('\n');
    for (const name of ['.DS_Store', 'test.a.b', 'x'])
      await writeFile(join(root, 'pending', name), 'not ours');
    await mkdir(join(root, 'pending/lost-found'));
    await fc.assert(
      fc.asyncProperty(brokenRecord(head), async (bytes) => {
        await writeFile(path, Buffer.concat([bytes, Buffer.from('\n'), body]));
        const pending = await (await openInbox(root)).pending();
        expect(pending.map(({ eventId }) => eventId).sort()).toEqual([broken.eventId, whole.eventId].sort());
        for (const entry of pending) expect(Date.parse(entry.receivedAt)).not.toBeNaN();
        expect(await inbox.read(broken)).toEqual(body);
      }),
      { numRuns: 60 },
    );
  });

  test('temporary files of dead processes are swept at start, those of living ones stay', async () => {
    const inWork = temporaryNameOf(1, '0123456789abcdef');
    await writeFile(join(root, 'tmp', temporaryNameOf(999_999, '0123456789abcdef')), 'half');
    await writeFile(join(root, 'tmp', inWork), 'half');
    await openInbox(root);
    expect(await readdir(join(root, 'tmp'))).toEqual([inWork]);
  });

  test('an id that could leave the folder is refused', async () => {
    await expect(inbox.accept(anEntry({ eventId: '../x' }), body)).rejects.toThrow(RangeError);
    await expect(inbox.accept(anEntry({ eventId: 'test.x' }), body)).rejects.toThrow(RangeError);
  });

  test('it is not called sound while what is written could not be moved to its place', async () => {
    await inbox.probe();
    await rename(join(root, 'pending'), join(root, 'pending.away'));
    await writeFile(join(root, 'pending'), '');
    await expect(inbox.accept(anEntry(), body)).rejects.toThrow('ENOTDIR');
    await expect(inbox.probe()).rejects.toThrow('ENOTDIR');
  });

  test('its listeners hear of what was accepted here, once', async () => {
    const heard: string[] = [];
    const stop = inbox.onAccepted((entry) => heard.push(entry.eventId));
    const entry = anEntry();
    await inbox.accept(entry, body);
    await inbox.accept(entry, body);
    stop();
    await inbox.accept(anEntry(), body);
    expect(heard).toEqual([entry.eventId]);
  });
});
