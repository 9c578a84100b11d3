/** Tools that only tests and benches need: installed once, at pinned versions, into the ignored cache of the checkout. */

import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const cache = join(import.meta.dirname, '../../../.cache');
const run = promisify(execFile);
/** On a busy machine 310 MB of packages took more than five minutes. */
const TIMEOUT_MS = 1_200_000;

export interface InstalledTool {
  readonly name: string;
  readonly packages: readonly string[];
}

/** Installs packages of PyPI. @returns a folder for PYTHONPATH @throws Error when python3 with pip or a package is missing */
export function installPythonTool(tool: InstalledTool): Promise<string> {
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile'];
  return installOnce(tool, 'python3 with pip and PyPI', (folder) =>
    run('python3', [...pip, '--target', folder, ...tool.packages], { timeout: TIMEOUT_MS }),
  );
}

/**
 * Unpacks packages of Debian without root, with package lists of its own where the machine has none.
 *
 * @returns the folder with the packages' files
 * @throws Error when apt-get or a package is missing
 */
export function installDebianTool(tool: InstalledTool): Promise<string> {
  return installOnce(tool, 'apt-get with dpkg and the packages of Debian', async (folder) => {
    const apt = (args: readonly string[], options: readonly string[] = []) =>
      run('apt-get', [...options, ...args], { cwd: folder, timeout: TIMEOUT_MS });
    await apt(['download', ...tool.packages]).catch(async () => {
      const lists = join(folder, 'lists');
      await mkdir(join(lists, 'partial'), { recursive: true });
      const own = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${folder}`];
      await apt(['update'], own);
      await apt(['download', ...tool.packages], own);
      await rm(lists, { recursive: true });
    });
    for (const file of (await readdir(folder)).filter((name) => name.endsWith('.deb'))) {
      await run('dpkg', ['-x', file, '.'], { cwd: folder });
      await rm(join(folder, file));
    }
  });
}

/** Installs atomically; of concurrent installations the first one stays. */
async function installOnce(
  { name }: InstalledTool,
  needs: string,
  install: (folder: string) => Promise<unknown>,
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

/** The tool of Prometheus that checks rules and metrics: from PATH, else from Debian's package. */
export async function findPromtool(): Promise<string> {
  const onPath = await run('promtool', ['--version']).catch(() => null);
  if (onPath !== null) return 'promtool';
  return join(
    await installDebianTool({ name: 'prometheus', packages: ['prometheus'] }),
    'usr',
    'bin',
    'promtool',
  );
}

export async function promtool(
  args: readonly string[],
  { cwd, input }: { readonly cwd?: string; readonly input?: string } = {},
): Promise<{ readonly exitCode: number | null; readonly output: string }> {
  const path = await findPromtool();
  const { status, stdout, stderr } = spawnSync(path, args, { encoding: 'utf8', timeout: 60_000, cwd, input });
  return { exitCode: status, output: stdout + stderr };
}

// DuckDB for Python and its command line, pandas, Polars and two readers of workbooks.

const DUCKDB_TOOLS = {
  name: 'duckdb-tools-1.5.5-dataframes',
  packages: [
    'duckdb==1.5.5',
    'pytz==2026.2',
    'duckdb-cli==1.5.5',
    'pyarrow==26.0.1',
    'pandas==3.1.1',
    'polars==2.1.0',
    'openpyxl==3.1.5',
    'python-calamine==0.9.1',
  ],
};
/** The newest version of the Python module: another major version, which reads our files. */
const DUCKDB_2 = { name: 'duckdb-2.0.0-pytz', packages: ['duckdb==2.0.0', 'pytz==2026.2'] };

/** The folder of the packages; `bin/duckdb` is in it. @throws Error python3 or pip is missing */
export async function installDuckDbTools(): Promise<string> {
  const [tools] = await Promise.all([installPythonTool(DUCKDB_TOOLS), installPythonTool(DUCKDB_2)]);
  return tools;
}

/** Runs a Python program in `folder` with DuckDB 1.5 or 2.0. @returns its output */
export async function runPython(folder: string, program: string, version: '1.5' | '2.0'): Promise<string> {
  const path = await installPythonTool(version === '1.5' ? DUCKDB_TOOLS : DUCKDB_2);
  const env = { ...process.env, PYTHONPATH: path, TZ: 'UTC' };
  return (await run('python3', ['-c', program], { cwd: folder, env })).stdout;
}

/** Runs a line of shell in `folder`, where `duckdb` is the command line of the same version. */
export async function runShell(folder: string, line: string): Promise<string> {
  const tools = await installDuckDbTools();
  const env = { ...process.env, PATH: `${join(tools, 'bin')}:${process.env.PATH ?? ''}`, PYTHONPATH: tools };
  return (await run('sh', ['-c', line], { cwd: folder, env })).stdout;
}
