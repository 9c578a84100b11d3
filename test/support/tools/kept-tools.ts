/** Tools that only tests and benches need: installed once, at pinned versions, into the ignored cache of the checkout. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const cache = join(import.meta.dirname, '../../../.cache');
const run = promisify(execFile);
/** Ends what hangs. Beside much else 310 MB of packages took more than five minutes. */
const PATIENCE_MS = 1_200_000;

export interface KeptTool {
  readonly name: string;
  readonly packages: readonly string[];
}

/** From PyPI: a folder for PYTHONPATH. @throws Error python3 with pip is missing, or the packages cannot be had */
export function keepPythonTool(tool: KeptTool): Promise<string> {
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'];
  return keep(tool, 'python3 with pip and PyPI', (draft) =>
    run('python3', [...pip, '--target', draft, ...tool.packages], { timeout: PATIENCE_MS }),
  );
}

/**
 * From Debian's packages, without root: a folder with the package's files. The lists are this tool's own where the machine
 * has none.
 *
 * @throws Error there is no apt-get, or the package cannot be had
 */
export function keepDebianTool(tool: KeptTool): Promise<string> {
  return keep(tool, 'apt-get with dpkg and the packages of Debian', async (draft) => {
    const apt = (args: readonly string[], options: readonly string[] = []) =>
      run('apt-get', [...options, ...args], { cwd: draft, timeout: PATIENCE_MS });
    await apt(['download', ...tool.packages]).catch(async () => {
      const lists = join(draft, 'lists');
      await mkdir(join(lists, 'partial'), { recursive: true });
      const own = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${draft}`];
      await apt(['update'], own);
      await apt(['download', ...tool.packages], own);
      await rm(lists, { recursive: true });
    });
    for (const file of (await readdir(draft)).filter((name) => name.endsWith('.deb'))) {
      await run('dpkg', ['-x', file, '.'], { cwd: draft });
      await rm(join(draft, file));
    }
  });
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
