import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  appendDurably,
  linkDurably,
  makeFolder,
  removeSmall,
  replaceDurably,
  shareFlush,
  writeSynced,
} from '../../lib/files/durable-files.ts';
import { sweepLeftBehind, temporaryName } from '../../lib/files/files.ts';
import { temporaryNameOf, testFolder } from '../support/folders.ts';

let root: string;

beforeEach(async () => {
  root = testFolder();
});

describe('durable files', () => {
  test('creates a folder with its parents for its owner only', async () => {
    await makeFolder(join(root, 'a/b/c'));
    await makeFolder(join(root, 'a/b/c'));
    expect((await stat(join(root, 'a/b/c'))).mode & 0o777).toBe(0o700);
  });

  test('creates a name once for concurrent links', async () => {
    const parts = Array.from({ length: 20 }, () => temporaryName(root));
    await Promise.all(parts.map((part) => writeSynced(part, part)));
    const answers = await Promise.all(parts.map((part) => linkDurably(part, join(root, 'name'))));
    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await readFile(join(root, 'name'), 'utf8')).toBe(parts[answers.indexOf(true)]);
  });

  test('keeps concurrently appended lines whole', async () => {
    const path = join(root, 'lines');
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => appendDurably(path, `${i} ${'x'.repeat(500)}\n`)),
    );
    const lines = (await readFile(path, 'utf8')).trim().split('\n');
    expect(new Set(lines.map((line) => line.split(' ')[0])).size).toBe(200);
    expect(lines.every((line) => line.endsWith('x'.repeat(500)))).toBe(true);
  });

  test('a file is replaced as a whole', async () => {
    const path = join(root, 'file');
    await writeFile(path, 'old');
    await replaceDurably(path, 'new');
    expect(await readFile(path, 'utf8')).toBe('new');
  });

  test('removes a name once, other names of the file stay', async () => {
    const [path, other] = [join(root, 'path'), join(root, 'other')];
    await writeFile(path, 'kept');
    await linkDurably(path, other);
    removeSmall(path);
    removeSmall(path);
    expect(await readdir(root)).toEqual(['other']);
    expect(await readFile(other, 'utf8')).toBe('kept');
    expect(() => removeSmall(root)).toThrow(/EISDIR|EPERM/);
  });

  test('removes leftovers of dead processes and nothing in use', async () => {
    const dead = [temporaryNameOf(4_194_304, 'a'.repeat(16)), temporaryNameOf(process.pid, 'b'.repeat(16))];
    const folderOfDead = temporaryNameOf(4_194_304, 'd'.repeat(16));
    const others = ['notes.tmp', temporaryNameOf(process.ppid, 'c'.repeat(16))];
    const ours = temporaryName(root);
    await mkdir(join(root, folderOfDead));
    for (const name of [...dead, join(folderOfDead, 'part'), ...others])
      await writeFile(join(root, name), 'x');
    await writeFile(ours, 'x');
    await sweepLeftBehind(root);
    const left = (await readdir(root)).map((name) => join(root, name)).sort();
    expect(left).toEqual([...others.map((name) => join(root, name)), ours].sort());
  });

  test('keeps files of another machine until they are old', async () => {
    const [, pid = '', rest = ''] = /^\.[0-9a-f]{8}-(\d+)-(.*)$/.exec(basename(temporaryName(root))) ?? [];
    expect(Number(pid)).toBe(process.pid);
    const [theirs, longAgo] = ['11111111', '22222222'].map((host) => join(root, `.${host}-4194304-${rest}`));
    for (const path of [theirs, longAgo]) await writeFile(path ?? '', 'x');
    await utimes(longAgo ?? '', 0, 0);
    await sweepLeftBehind(root);
    expect(await readdir(root)).toEqual([basename(theirs ?? '')]);
  });

  test('waits for a flush that begins after the call and shares it', async () => {
    let started = 0;
    const releases: (() => void)[] = [];
    const flush = (): Promise<void> => {
      started += 1;
      return new Promise((resolve) => releases.push(resolve));
    };
    const done: number[] = [];
    const first = shareFlush('key', flush).then(() => done.push(1));
    const later = [2, 3, 4].map((i) => shareFlush('key', flush).then(() => done.push(i)));
    expect(started).toBe(1);
    releases[0]?.();
    await first;
    await new Promise(setImmediate);
    expect([started, done]).toEqual([2, [1]]);
    releases[1]?.();
    await Promise.all(later);
    expect([started, done]).toEqual([2, [1, 2, 3, 4]]);
    shareFlush('key', flush);
    expect(started).toBe(3);
  });

  test('confirms no write after a failed flush', () => {
    // A process of its own, because it confirms nothing from then on.
    const script = `
      import { openSync } from 'node:fs';
      import { flushBytes, onFsyncFailure, syncFolder } from ${JSON.stringify(join(process.cwd(), 'lib/files/durable-files.ts'))};
      const log = (promise) => promise.then(() => console.log('confirmed'), (error) => console.log(error.name));
      onFsyncFailure((error) => console.log('reported', error.path));
      await log(syncFolder(${JSON.stringify(root)}));
      await log(flushBytes(99_999, 'a'));
      await log(flushBytes(openSync('/dev/null', 'r'), 'b'));
      await log(syncFolder(${JSON.stringify(root)}));`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    const logged = child.stdout.trim().split('\n');
    expect(logged).toEqual(['confirmed', 'reported a', 'FsyncError', 'FsyncError', 'FsyncError']);
  });
});
