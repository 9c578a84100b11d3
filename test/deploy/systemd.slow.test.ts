import { execFile, spawn } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { serviceManager } from '../../lib/service-manager.ts';
import { eventually } from '../support/eventually.ts';
import { testFolder } from '../support/folders.ts';
import { startRole } from '../support/processes/billsync.ts';
import { freePort } from '../support/processes/free-port.ts';

const run = promisify(execFile);
const PROGRAMS = ['systemd-analyze', 'systemd-notify'];
const units = join(import.meta.dirname, '../../deploy/systemd');
const names = (await readdir(units)).filter((name) => name.endsWith('.service'));
await installSystemd();
const folder = testFolder();

describe('the units', () => {
  test('are accepted by systemd with an exposure score below 2', async () => {
    // The program is not installed here; everything else is checked unchanged.
    const copies = await Promise.all(
      names.map(async (name) => {
        const text = await readFile(join(units, name), 'utf8');
        const copy = join(folder, name);
        await writeFile(copy, text.replace('/opt/billsync/bin/billsync', '/bin/true'));
        return copy;
      }),
    );
    const verified = await run('systemd-analyze', ['verify', ...copies]);
    expect(verified.stderr).toBe('');
    const { stdout } = await run('systemd-analyze', [
      ...['security', '--no-pager', '--offline=true', '--threshold=20', ...copies],
    ]);
    expect(stdout.match(/exposure level for \S+: 1\.\d/g)).toHaveLength(names.length);
  });
});

describe('the notification of a role to the service manager', () => {
  test('reports ready, alive and stopping over a datagram socket', async () => {
    const socket = join(folder, 'notify');
    const notifications = await listen(socket);
    const port = await freePort();
    const role = await startRole(['webhook'], {
      env: {
        BILLSYNC_DATA_DIR: join(folder, 'data'),
        BILLSYNC_WEBHOOK_HOST: '127.0.0.1',
        BILLSYNC_WEBHOOK_PORT: '0',
        BILLSYNC_WEBHOOK_TLS: 'off',
        BILLSYNC_ADMIN_PORT: `${port}`,
        TEMPORAL_ADDRESS: '127.0.0.1:9',
        NOTIFY_SOCKET: socket,
        WATCHDOG_USEC: '400000',
      },
    });
    await eventually(() => notifications.text().includes('WATCHDOG=1'));
    // The port of this process itself, although Temporal, and so perhaps a worker, is on this machine.
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
    expect(await role.end('SIGTERM')).toBe(0);
    await eventually(() => notifications.text().includes('STOPPING=1'));
    notifications.close();
    const text = notifications.text();
    expect(text).toMatch(/^READY=1\nSTATUS=webhook=http:\/\/127\.0\.0\.1:\d+/);
    expect(text.indexOf('WATCHDOG=1')).toBeLessThan(text.indexOf('STOPPING=1'));
  });

  test('is optional', async () => {
    const warned: unknown[] = [];
    const log = { warn: (...args: unknown[]) => void warned.push(args) };
    serviceManager({}, log as never).ready('');
    const manager = serviceManager(
      { NOTIFY_SOCKET: join(folder, 'missing'), PATH: '/nowhere' },
      log as never,
    );
    manager.ready('');
    manager.stopping();
    await eventually(() => warned.length === 1);
  });
});

/** Python stands in for systemd, since Node has no datagram sockets of this family; it prints the received messages. */
async function listen(path: string): Promise<{ text(): string; close(): void }> {
  const script = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); print("bound", flush=True)
while True: print(s.recv(4096).decode(), flush=True)`;
  const python = spawn('python3', ['-c', script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  python.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  await eventually(() => text.startsWith('bound\n'));
  // systemd-notify waits until the socket that it sends as BARRIER is closed, which happens at once here.
  const received = () => text.slice('bound\n'.length).replaceAll(/^BARRIER=1\n/gm, '');
  return { text: received, close: () => void python.kill() };
}

/** @throws Error it is missing and cannot be installed: the tests need it. It need not be running. */
async function installSystemd(): Promise<void> {
  const find = () => Promise.all(PROGRAMS.map((program) => run(program, ['--version'])));
  try {
    await find();
  } catch (error) {
    if (process.getuid?.() !== 0) throw error;
    const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
    await run('apt-get', ['update'], options);
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'systemd'], options);
    await find();
  }
}
