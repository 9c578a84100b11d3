/** What was dealt with stays known, whatever a power cut takes of the markers, and however many processes mark at a time. */

import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
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
  test('restores markers that were not flushed', async () => {
    const marked = keys(30);
    const markers = await openDoneMarkers(root);
    await Promise.all(marked.map((key) => markers.mark(key)));
    await rm(join(root, 'done'), { recursive: true });
    const again = await openDoneMarkers(root);
    expect(marked.filter((key) => !again.has(key))).toEqual([]);
    expect((await readdir(root)).sort()).toEqual(['done']);
  });

  test('ignores a truncated line and keeps its neighbors', async () => {
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

  test('refuses a name that is a path', async () => {
    await writeFile(join(root, 'done.log.1'), '../../outside done\n../x done\n');
    await openDoneMarkers(root);
    expect(await readdir(join(root, 'done'))).toEqual([]);
  });

  test('writes a late line again after another process rewrote the log', async () => {
    const key = randomUUID();
    const markers = await openDoneMarkers(root);
    const marking = markers.mark(key);
    // As if the other had renamed and read the log just before the line was written.
    rmSync(join(root, 'done.log'));
    await marking;
    await rm(join(root, 'done'), { recursive: true });
    expect((await openDoneMarkers(root)).has(key)).toBe(true);
  });

  test('keeps every mark of three processes and a short log', async () => {
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
