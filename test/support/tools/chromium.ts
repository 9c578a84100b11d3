/**
 * Finds or installs a real Chromium for the tests of pages.
 *
 * In this order: the build of `@sparticuz/chromium` with its system libraries, a Chromium on PATH, Debian's package when running as
 * root. The first is the same everywhere and needs three fifths of the processor time, because it is the headless shell. A missing
 * browser is an error, never a skipped test.
 */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { access, constants, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

const run = promisify(execFile);

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const root = join(import.meta.dirname, '..', '..', '..');
const APT_TIMEOUT_MS = 300_000;
const UNPACK_TIMEOUT_MS = 120_000;

export class ChromiumMissingError extends Error {
  override readonly name = 'ChromiumMissingError';

  constructor(attempts: readonly string[]) {
    super(
      `The page tests need Chromium and none could be found or fetched (${attempts.join('; ')}). ` +
        'Install it so that `chromium` is on PATH, for instance with `apt-get install -y chromium`.',
    );
  }
}

export interface ChromiumOptions {
  readonly path?: string;
  /** Where an unpacked browser is kept; `.cache/` of the checkout otherwise. */
  readonly cacheDir?: string;
  /** Whether Debian's package may be installed; by default when we are root. */
  readonly mayInstall?: boolean;
}

/**
 * The path of an executable that answers `--version`. The first call on a machine may take a minute.
 *
 * @throws ChromiumMissingError with what was wrong with each place
 */
export async function findChromium(options: ChromiumOptions = {}): Promise<string> {
  const cacheDir = options.cacheDir ?? join(root, '.cache');
  const path = options.path ?? process.env.PATH ?? '';
  const mayInstall = options.mayInstall ?? process.getuid?.() === 0;
  const attempts: string[] = [];
  const places: readonly { readonly name: string; readonly find: () => Promise<string> }[] = [
    { name: 'cache', find: () => usable(unpackedExecutable(cacheDir)) },
    { name: '@sparticuz/chromium', find: () => alone(cacheDir, () => unpack(cacheDir)) },
    { name: 'PATH', find: () => onPath(path) },
    { name: 'apt-get', find: () => alone(cacheDir, () => install(path, mayInstall)) },
  ];
  for (const { name, find } of places) {
    try {
      return await find();
    } catch (error) {
      attempts.push(`${name}: ${firstLine(error)}`);
    }
  }
  throw new ChromiumMissingError(attempts);
}

/** A headless browser; the caller closes it. @throws ChromiumMissingError */
export async function launchChromium(options: ChromiumOptions = {}): Promise<Browser> {
  const executablePath = await findChromium(options);
  return chromium.launch({ executablePath, args: ['--disable-gpu'], env: environmentFor(executablePath) });
}

async function onPath(path: string): Promise<string> {
  for (const folder of path.split(delimiter).filter((part) => part !== '')) {
    for (const name of NAMES) {
      const found = await usable(join(folder, name)).catch(() => null);
      if (found !== null) return found;
    }
  }
  throw new Error(`no ${NAMES.join(', ')} there`);
}

async function usable(executable: string): Promise<string> {
  await access(executable, constants.X_OK);
  await run(executable, ['--version'], { timeout: 30_000, env: environmentFor(executable) });
  return executable;
}

/** A stub on PATH that only points at another package system fails `usable`, so what apt installs is looked up anew. */
async function install(path: string, mayInstall: boolean): Promise<string> {
  if (!mayInstall) throw new Error('not root');
  const there = await onPath(path).catch(() => null);
  if (there !== null) return there;
  const options = { timeout: APT_TIMEOUT_MS, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  await run('apt-get', ['update'], options);
  await run('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], options);
  return onPath(`${path}${delimiter}/usr/bin`);
}

/**
 * The package unpacks into the folder for temporary files and takes a half-written browser there for a whole one,
 * so it works in a folder of its own, which is moved in place when it is complete. It unpacks the system
 * libraries only where it believes itself in a function of a cloud, which the variable makes it believe.
 */
async function unpack(cacheDir: string): Promise<string> {
  const destination = unpackedExecutable(cacheDir);
  const there = await usable(destination).catch(() => null);
  if (there !== null) return there;
  await mkdir(cacheDir, { recursive: true });
  const temporary = await mkdtemp(join(cacheDir, 'chromium-'));
  try {
    const script = `
      const { default: chromium } = await import('@sparticuz/chromium');
      await chromium.executablePath();`;
    await run(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: root,
      timeout: UNPACK_TIMEOUT_MS,
      env: { ...process.env, TMPDIR: temporary, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs20.x' },
    });
    await usable(join(temporary, 'chromium'));
    await rm(dirname(destination), { recursive: true, force: true });
    await rename(temporary, dirname(destination));
    return destination;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

function unpackedExecutable(cacheDir: string): string {
  return join(cacheDir, 'chromium-package', 'chromium');
}

/**
 * The unpacked browser brings its libraries and fonts along; a distribution's has them in the system. Its own list of folders
 * with fonts names those of a cloud: where none of them exists a page whose text needs a font ends the process that draws it.
 */
function environmentFor(executable: string): Record<string, string> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const folder = dirname(executable);
  const libraries = join(folder, 'al2023', 'lib');
  if (!existsSync(libraries)) return inherited;
  const list = join(folder, 'fonts', 'fonts.conf');
  const text = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${folder}/fonts/fonts</dir><cachedir>${folder}/fonts-cache</cachedir></fontconfig>
`;
  if (readFileSync(list, 'utf8') !== text) writeFileSync(list, text);
  return { ...inherited, LD_LIBRARY_PATH: libraries, FONTCONFIG_PATH: dirname(list) };
}

/** Test files run side by side; one of them installs while the others wait. */
async function alone<T>(cacheDir: string, work: () => Promise<T>): Promise<T> {
  await mkdir(cacheDir, { recursive: true });
  const lock = join(cacheDir, 'chromium.lock');
  const deadline = Date.now() + APT_TIMEOUT_MS + UNPACK_TIMEOUT_MS;
  while (!(await take(lock))) {
    if (Date.now() > deadline)
      throw new Error(`${lock} is held; remove it when no other run installs Chromium`);
    await sleep(250);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/** A lock whose holder is gone is removed, and taken at the next turn. */
async function take(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    const holder = Number(await readText(lock));
    if (holder > 0 && !isAlive(holder)) await rm(lock, { force: true });
    return false;
  }
}

function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
