/** Tools that only tests and benches need: installed once, at pinned versions, into the ignored cache of the checkout. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const cache = join(import.meta.dirname, '../../../.cache');
const run = promisify(execFile);

export interface KeptTool {
  /** Of its folder, with its version. */
  readonly name: string;
  readonly packages: readonly string[];
}

/** From PyPI: a folder for PYTHONPATH. @throws Error python3 with pip is missing, or the packages cannot be had */
export function keepPythonTool(tool: KeptTool): Promise<string> {
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'];
  return keep(tool, 'python3 with pip and PyPI', (draft) =>
    run('python3', [...pip, '--target', draft, ...tool.packages], { timeout: 300_000 }),
  );
}

/** From the registry of npm: a folder that has `node_modules`. @throws Error the packages cannot be had */
export function keepNodeTool(tool: KeptTool): Promise<string> {
  const npm = ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
  return keep(tool, 'npm and its registry', (draft) =>
    run('npm', [...npm, '--prefix', draft, ...tool.packages], { timeout: 300_000 }),
  );
}

/** Whole or not at all; of several that install it at the same time the first one's stays. */
async function keep(
  { name }: KeptTool,
  needs: string,
  install: (draft: string) => Promise<unknown>,
): Promise<string> {
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, 'fetch-'));
  try {
    await install(draft);
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
    return folder;
  } catch (error) {
    throw new Error(`${name} cannot be installed: it needs ${needs}.`, { cause: error });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
