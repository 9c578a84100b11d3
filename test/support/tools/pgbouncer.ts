import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from '../processes/free-port.ts';
import { installDebianTool } from './installed-tools.ts';

export interface PgBouncer {
  readonly port: number;
  stop(): Promise<void>;
}

/** In front of a test's PostgreSQL; drops `options` at the start of a connection, as drivers that send it make people configure. */
export async function startPgBouncer(postgresPort: number, poolMode: string): Promise<PgBouncer> {
  const program = await installPgBouncer();
  const port = await freePort();
  const home = await mkdtemp(join(tmpdir(), 'billsync-pgbouncer-'));
  await chmod(home, 0o755);
  const settings = join(home, 'pgbouncer.ini');
  await writeFile(
    settings,
    `[databases]
* = host=127.0.0.1 port=${postgresPort} user=lake
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
ignore_startup_parameters = options,extra_float_digits
`,
  );
  await chmod(settings, 0o644);
  // It refuses to stay root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const libraries = ['x86_64', 'aarch64'].map((kind) => join(program, `../../lib/${kind}-linux-gnu`));
  const child = spawn(program, [...user, settings], {
    env: { LD_LIBRARY_PATH: libraries.join(delimiter) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      if (log.includes('process up')) resolve();
    });
    ended.then(() => reject(new Error(`PgBouncer ended: ${log}`)), reject);
  });
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      await ended;
      await rm(home, { recursive: true });
    },
  };
}

/** @returns its path: from Debian's packages, without root */
export async function installPgBouncer(): Promise<string> {
  const packages = ['pgbouncer', 'libc-ares2', 'libevent-2.1-7'];
  return join(await installDebianTool({ name: 'pgbouncer', packages }), 'usr', 'sbin', 'pgbouncer');
}
