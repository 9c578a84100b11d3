/** Tests run the same code as users; a process starts three times as fast as from the sources. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackage, shippedFiles } from './build-package.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const builds = join(root, '.cache/builds');
const PROJECT = 'tsconfig.test-programs.json';
const BESIDE_THE_CODE = ['bin/billsync', 'package.json', 'package-lock.json', 'tsconfig.build.json', PROJECT];
const MAX_BUILDS = 10;

/** For XDG_CACHE_HOME: the folder in which the program finds the tools of the set-up. */
export const sharedCache = join(root, '.cache/user');

export async function builtProgram(): Promise<string> {
  const folder = join(builds, fingerprint());
  if (!existsSync(folder)) {
    await mkdir(builds, { recursive: true });
    await linkCache();
    await build(folder);
    await dropOlderBuilds();
  }
  return join(folder, 'bin/billsync');
}

function fingerprint(): string {
  const hash = createHash('sha256');
  for (const file of [...shippedFiles(), ...testSupport(), ...BESIDE_THE_CODE]) {
    const path = join(root, file);
    // A deleted file is listed until its deletion is staged.
    if (existsSync(path)) hash.update(`${file}\n`).update(readFileSync(path));
  }
  return hash.digest('hex').slice(0, 16);
}

function testSupport(): readonly string[] {
  return ['test', 'sandbox/conformance'].flatMap((folder) => {
    const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
    return names.filter((name) => /(?<!\.test)\.ts$/.test(name)).map((name) => `${folder}/${name}`);
  });
}

async function build(folder: string): Promise<void> {
  const temporary = await mkdtemp(join(builds, 'temporary-'));
  try {
    // Types are not checked here, because `npm run check` does that.
    await buildPackage(join(temporary, 'dist'), { project: PROJECT, options: ['--noCheck'] });
    for (const file of ['bin/billsync', 'package.json']) await cp(join(root, file), join(temporary, file));
    await symlink(join(root, 'node_modules'), join(temporary, 'node_modules'));
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

async function linkCache(): Promise<void> {
  await mkdir(sharedCache, { recursive: true });
  await symlink('..', join(sharedCache, 'billsync')).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

async function dropOlderBuilds(): Promise<void> {
  const folders = await Promise.all(
    (await readdir(builds))
      .filter((name) => !name.startsWith('temporary-'))
      .map(async (name) => ({ name, madeMs: (await stat(join(builds, name))).mtimeMs })),
  );
  const older = folders.toSorted((a, b) => b.madeMs - a.madeMs).slice(MAX_BUILDS);
  await Promise.all(older.map(({ name }) => rm(join(builds, name), { recursive: true, force: true })));
}
