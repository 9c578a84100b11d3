import { randomUUID } from 'node:crypto';
import { readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Inbox, type InboxEntry, openInbox } from '../../../webhook/inbox/inbox.ts';
import { brokenRecord } from '../../archive/broken-records.ts';
import { testFolder } from '../../support/folders.ts';

let root: string;
let inbox: Inbox;

beforeEach(async () => {
  root = join(testFolder(), 'inbox');
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
  test('accepts one of 60 concurrent deliveries through two inboxes', async () => {
    const other = await openInbox(root);
    const entry = anEntry();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => (i % 2 ? inbox : other).accept(entry, body)),
    );
    expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(1);
  });

  test('does not accept an event again that another inbox finishes', async () => {
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

  test('lists waiting entries in order of arrival, also to another process', async () => {
    const entries = Array.from({ length: 20 }, (_, i) =>
      anEntry({ receivedAt: `2026-03-01T00:00:00.00${Math.floor(i / 4)}Z` }),
    );
    for (const entry of entries) await inbox.accept(entry, body);
    expect(await (await openInbox(root)).pending()).toEqual(entries);
    const [first] = entries;
    expect(await inbox.pending((key) => key === first?.eventId)).toEqual(entries.slice(1));
  });

  test('stores a batch in one file and handles its entries separately', async () => {
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

  test('fails only the entry that cannot be stored', async () => {
    const [first, blocked, last] = [anEntry(), anEntry(), anEntry()];
    const path = join(root, 'pending', blocked.eventId);
    await symlink('nowhere', path);
    const answers = await Promise.all([first, blocked, last].map((entry) => inbox.accept(entry, body)));
    expect(answers).toEqual(['accepted', 'duplicate', 'accepted']);
  });

  test('names every damaged entry of a shared file and hides none', async () => {
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

  test('refuses an id that is a path', async () => {
    await expect(inbox.accept(anEntry({ eventId: '../x' }), body)).rejects.toThrow(RangeError);
    await expect(inbox.accept(anEntry({ eventId: 'test.x' }), body)).rejects.toThrow(RangeError);
  });

  test('is not healthy while files cannot be moved into place', async () => {
    await inbox.probe();
    await rename(join(root, 'pending'), join(root, 'pending.away'));
    await writeFile(join(root, 'pending'), '');
    await expect(inbox.accept(anEntry(), body)).rejects.toThrow('ENOTDIR');
    await expect(inbox.probe()).rejects.toThrow('ENOTDIR');
  });
});
