import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lchownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FolderError } from '../../lib/files/durable-files.ts';
import { keepPrivate } from '../../lib/files/private-folder.ts';
import { attack } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';

const root = testFolder();
const modeOf = (path: string): number => statSync(path).mode & 0o777;

let made = 0;
/** A data folder of that mode, with a key of the other mode in it unless that is null. */
function aFolder(mode: number, keyMode: number | null): { readonly dataDir: string; readonly key: string } {
  made += 1;
  const dataDir = join(root, `data-${made}`);
  const key = join(dataDir, 'keys', 'payload.key');
  mkdirSync(dataDir);
  if (keyMode !== null) {
    mkdirSync(join(dataDir, 'keys'));
    writeFileSync(key, 'local:secret\n');
    chmodSync(key, keyMode);
  }
  chmodSync(dataDir, mode);
  return { dataDir, key };
}

describe('keepPrivate', () => {
  test('creates the folder and repairs wide modes', async () => {
    const fresh = join(root, 'a', 'b');
    await keepPrivate(fresh);
    expect([modeOf(fresh), modeOf(join(root, 'a'))]).toEqual([0o700, 0o700]);
    const { dataDir } = aFolder(0o777, null);
    await keepPrivate(dataDir);
    expect(modeOf(dataDir)).toBe(0o700);
    const readable = aFolder(0o755, 0o644);
    chmodSync(join(readable.dataDir, 'keys'), 0o777);
    await keepPrivate(readable.dataDir);
    expect([modeOf(readable.key), modeOf(join(readable.dataDir, 'keys'))]).toEqual([0o600, 0o700]);
  });

  test('refuses keys that other users could have written', async () => {
    for (const { dataDir } of [aFolder(0o777, 0o600), aFolder(0o770, 0o600), aFolder(0o700, 0o666)]) {
      const refused = await keepPrivate(dataDir).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(FolderError);
      expect((refused as FolderError).subject).toContain(dataDir);
      expect((refused as FolderError).hint).toContain('chmod -R go-rwx');
    }
  });

  test('accepts a group volume of Kubernetes until every user can write to it', () => {
    // Only root may give a file away and become another user.
    if (process.getuid?.() !== 0) return;
    const group = 10_001;
    const { dataDir, key } = aFolder(0o700, 0o600);
    for (const path of [join(dataDir, 'keys'), key]) chownSync(path, 4711, group);
    chownSync(dataDir, 0, group);
    chmodSync(root, 0o755);
    const script = `
      const { keepPrivate } = await import(${JSON.stringify(new URL('../../lib/files/private-folder.ts', import.meta.url).href)});
      process.setgroups([${group}]);
      process.setuid(4711);
      console.log(await keepPrivate(${JSON.stringify(dataDir)}).then(() => 'accepted', ({ message }) => message));`;
    const tried = [0o2770, 0o2777].map((mode) => {
      chmodSync(dataDir, mode);
      chmodSync(join(dataDir, 'keys'), 0o2770);
      chmodSync(key, 0o660);
      const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
      return `${stdout}${stderr}`.trim();
    });
    expect(tried).toEqual(['accepted', 'others may write to the data folder, and keys lie in it']);
    expect([modeOf(key), modeOf(join(dataDir, 'keys'))]).toEqual([0o660, 0o770]);
  });

  test('refuses a key of another user', async () => {
    const { dataDir, key } = aFolder(0o700, 0o600);
    // Only root may give a file away.
    if (process.getuid?.() !== 0) return;
    chownSync(key, 4711, 4711);
    await expect(keepPrivate(dataDir)).rejects.toThrow(/another user/);
  });

  test('follows links of its own user', async () => {
    const { dataDir } = aFolder(0o700, 0o600);
    const elsewhere = join(root, 'larger-disk');
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, join(dataDir, 'archive'));
    await keepPrivate(dataDir);
  });

  test('refuses files that another user created, and follows none', async () => {
    // Only root may give a file away.
    if (process.getuid?.() !== 0) return;
    const own = join(root, 'of-ours');
    mkdirSync(own);
    writeFileSync(join(own, 'letter'), 'private', { mode: 0o644 });
    const planted: string[] = ['keys', 'archive', 'inbox', 'run', 'reports.duckdb', 'warehouse.duckdb'];
    let held = 0;
    for (const name of planted) {
      for (const kind of ['link', 'folder'] as const) {
        const { dataDir } = aFolder(0o777, null);
        const path = join(dataDir, name);
        if (kind === 'link') symlinkSync(own, path);
        else mkdirSync(path);
        lchownSync(path, 4711, 4711);
        // The administrator has seen the mode meanwhile.
        if (name === 'keys') chmodSync(dataDir, 0o755);
        const refused = await keepPrivate(dataDir).catch((error: unknown) => error);
        if (refused instanceof FolderError && refused.subject === path) held += 1;
      }
    }
    const { dataDir, key } = aFolder(0o700, 0o600);
    const letter = join(dataDir, 'keys', 'webhook-key.pem');
    symlinkSync(join(own, 'letter'), letter);
    lchownSync(letter, 4711, 4711);
    if ((await keepPrivate(dataDir).catch((error: unknown) => error)) instanceof FolderError) held += 1;
    expect([modeOf(join(own, 'letter')), modeOf(key)]).toEqual([0o644, 0o600]);
    attack('data folder: planted by another user', { tries: 2 * planted.length + 1, held });
  });
});
