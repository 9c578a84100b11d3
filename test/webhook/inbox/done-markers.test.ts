/** What was dealt with stays known, whatever a power cut takes of the markers, and however many processes mark at a time. */

import { randomUUID } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { appendFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openDoneMarkers } from '../../../webhook/inbox/done-markers.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'done-'));
});

const keys = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

describe('done markers', () => {
  test('what was marked is there again after all markers were lost that were not flushed', async () => {
    const marked = keys(30);
    const markers = await openDoneMarkers(root);
    await Promise.all(marked.map((key) => markers.mark(key)));
    await rm(join(root, 'done'), { recursive: true });
    const again = await openDoneMarkers(root);
    expect(marked.filter((key) => !again.has(key))).toEqual([]);
    expect((await readdir(root)).sort()).toEqual(['done']);
  });

  test('markers are names of one file, and of another once that is gone', async () => {
    const [one, two, three] = keys(3) as [string, string, string];
    const markers = await openDoneMarkers(root);
    const pathOf = (key: string): string => join(root, 'done', key.slice(-2), key);
    for (const key of [one, two]) await markers.mark(key);
    expect(statSync(pathOf(two)).ino).toBe(statSync(pathOf(one)).ino);
    await rm(pathOf(one));
    for (const key of [three, two]) await markers.mark(key);
    expect([one, two, three].map((key) => markers.has(key))).toEqual([false, true, true]);
  });

  test('a torn line names nothing, and hides neither the line before it nor what is marked after it', async () => {
    const [before, after] = ['0123456789abcdef', 'fedcba9876543210'];
    await (await openDoneMarkers(root)).mark(before);
    const markers = await openDoneMarkers(root);
    await markers.mark(before);
    await appendFile(join(root, 'done.log'), '0123456789');
    await markers.mark(after);
    await rm(join(root, 'done'), { recursive: true });
    const again = await openDoneMarkers(root);
    expect([before, after, '0123456789'].map((key) => again.has(key))).toEqual([true, true, false]);
  });

  test('what a name outside the folder would be is not made', async () => {
    await writeFile(join(root, 'done.log.1'), '../../outside done\n../x done\n');
    await openDoneMarkers(root);
    expect(await readdir(join(root, 'done'))).toEqual([]);
  });

  test('a line that comes too late for another process that begins the log anew is written again', async () => {
    const key = randomUUID();
    const markers = await openDoneMarkers(root);
    const marking = markers.mark(key);
    // As if the other had renamed and read the log just before the line was written.
    rmSync(join(root, 'done.log'));
    await marking;
    await rm(join(root, 'done'), { recursive: true });
    expect((await openDoneMarkers(root)).has(key)).toBe(true);
  });

  test('three processes mark, and begin the log anew, at a time: each mark is there, and the log stays short', async () => {
    const marked = keys(150);
    const openings = await Promise.all([1, 2, 3].map(() => openDoneMarkers(root, 200)));
    await Promise.all(
      openings.map(async (markers, nth) => {
        for (let i = nth; i < marked.length; i += openings.length) await markers.mark(marked[i] ?? '');
      }),
    );
    const [markers] = openings;
    expect(marked.filter((key) => !markers?.has(key))).toEqual([]);
    await openDoneMarkers(root);
    expect(await readdir(root)).toEqual(['done']);
  });
});
