import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { isAlive } from '../../../lib/processes.ts';
import { connectTemporal, openConnection } from '../../../lib/temporal/connect.ts';
import { startEmbeddedTemporal } from '../../../lib/temporal/embedded.ts';
import { temporalExecutable } from '../../../lib/temporal/server-executable.ts';
import { serverEnvironment } from '../../../lib/temporal/server-process.ts';
import { eventually } from '../../support/eventually.ts';
import { listen } from '../../support/listen.ts';
import { cleanEnvironment } from '../../support/processes/billsync.ts';
import { testProgram } from '../../support/processes/test-program.ts';

const log = pino({ level: 'silent' });
let dataDir: string;
let server: string;
beforeAll(async () => {
  server = await temporalExecutable();
});
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'billsync-embedded a#b?c%20d é-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  return rm(dataDir, { recursive: true, force: true });
});

const settings = () => ({ dataDir, temporalConfigured: false, encryptionKeys: [] });

async function record(): Promise<{ pid: number; ownerPid: number; address: string }> {
  return JSON.parse(await readFile(join(dataDir, 'run', 'temporal.json'), 'utf8'));
}

async function aServerElsewhere() {
  const program = testProgram('lib/temporal/serve-embedded.ts');
  const owner = spawn(process.execPath, [program, dataDir], { env: cleanEnvironment() });
  const exited = once(owner, 'exit');
  const found = await eventually(() => record().catch(() => null));
  await eventually(() =>
    connectTemporal(settings(), { log }).then(
      (connection) => connection.close().then(() => true),
      () => false,
    ),
  );
  return {
    ...found,
    async endOwner(signal: 'SIGKILL' | 'SIGTERM') {
      owner.kill(signal);
      await exited;
    },
  };
}

async function workflowCount(address: string): Promise<number> {
  const connection = await openConnection({ address });
  try {
    const { count } = await connection.workflowService.countWorkflowExecutions({ namespace: 'default' });
    return Number(count);
  } finally {
    await connection.close();
  }
}

describe('embedded Temporal', () => {
  test('serves, registers search attributes, and is gone after stop', async () => {
    const server = await startEmbeddedTemporal({ dataDir, log });
    expect(await readdir(join(dataDir, 'temporal'))).toContain('temporal.db');
    const { client, close } = await connectTemporal(settings(), { log });
    const { customAttributes } = await client.connection.operatorService.listSearchAttributes({
      namespace: 'default',
    });
    expect(Object.keys(customAttributes ?? {})).toEqual(
      expect.arrayContaining(['Environment', 'InvoiceState', 'TenantId']),
    );
    await close();
    const { pid } = server;
    await server.stop();
    expect(isAlive(pid)).toBe(false);
    await expect(connectTemporal(settings(), { log })).rejects.toMatchObject({
      code: 'temporal-not-started',
    });
  });

  test('is started by one process of a data folder', async () => {
    const first = await aServerElsewhere();
    await expect(startEmbeddedTemporal({ dataDir, log })).rejects.toMatchObject({
      code: 'temporal-database-in-use',
    });
    expect(isAlive(first.pid)).toBe(true);
    await first.endOwner('SIGTERM');
    expect(isAlive(first.pid)).toBe(false);
  });

  test('ends the server of a killed owner and serves the same data at the same address', async () => {
    const first = await aServerElsewhere();
    const { client, close } = await connectTemporal(settings(), { log });
    await client.workflow.start('invoice', { taskQueue: 'unserved', workflowId: 'kept' });
    await close();
    await first.endOwner('SIGKILL');
    const second = await startEmbeddedTemporal({ dataDir, log });
    expect(second.address).toBe(first.address);
    expect(isAlive(first.pid)).toBe(false);
    expect(await eventually(() => workflowCount(second.address))).toBe(1);
    await second.stop();
  });

  test('restarts a dead server on its port', async () => {
    const server = await startEmbeddedTemporal({ dataDir, log });
    const { pid } = server;
    process.kill(pid, 'SIGKILL');
    await eventually(() => server.pid !== pid && isAlive(server.pid));
    const { close, address } = await connectTemporal(settings(), { log, wait: true });
    expect(address).toBe(server.address);
    await close();
    await server.stop();
  });

  const refused =
    "Error: can't set frontend port 7233: listen tcp 127.0.0.1:7233: bind: address already in use";
  const panicked = `${refused}\npanic: runtime error: invalid memory address or nil pointer dereference\n\ngoroutine 1 [running]:\nmain.main()\n\t/cmd/temporal/main.go:18 +0x8e`;

  /** A `temporal` whose first starts end at once with this output; later ones run the real server. */
  async function endingFirst(starts: number, output: string): Promise<void> {
    const folder = join(dataDir, 'bin');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'output'), output);
    const script = [
      '#!/bin/sh',
      `[ "$1" = server ] || exec ${server} "$@"`,
      `[ "$(cat '${folder}/begun' 2>/dev/null | wc -l)" -ge ${starts} ] && exec ${server} "$@"`,
      `echo begun >> '${folder}/begun'`,
      `cat '${folder}/output' >&2`,
      'exit 1',
    ];
    await writeFile(join(folder, 'temporal'), `${script.join('\n')}\n`, { mode: 0o755 });
    vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`);
  }

  test.each([
    ['refused', refused],
    ['panicked', panicked],
  ])('starts again a server that %s while it started', async (_how, output) => {
    await endingFirst(2, output);
    const started = await startEmbeddedTemporal({ dataDir, log });
    expect((await readFile(join(dataDir, 'bin', 'begun'), 'utf8')).trim().split('\n')).toHaveLength(2);
    expect(isAlive(started.pid)).toBe(true);
    await started.stop();
  });

  test.each([
    ['refused', refused, refused],
    ['panicked', panicked, refused],
    ['printed another error', 'one\nanother', 'another'],
  ])('reports after three starts why a server that %s ends', async (_how, output, reason) => {
    await endingFirst(3, output);
    const ended = new RegExp(
      `waited for 127\\.0\\.0\\.1:\\d+ to answer, \\d+ s \\(exit code 1\\): ${RegExp.escape(reason)}$`,
    );
    await expect(startEmbeddedTemporal({ dataDir, log })).rejects.toMatchObject({
      ...{ code: 'temporal-ended', exitCode: 5, message: expect.stringMatching(ended) },
      hint: expect.stringMatching(/^see .*server\.log$/),
    });
  });

  test('waits for a server as long as its process lives, and says so', async () => {
    const folder = join(dataDir, 'bin');
    await mkdir(folder, { recursive: true });
    const script = `#!/bin/sh\n[ "$1" = server ] && sleep 32\nexec ${server} "$@"\n`;
    await writeFile(join(folder, 'temporal'), script, { mode: 0o755 });
    vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`);
    const told: string[] = [];
    const started = await startEmbeddedTemporal({ dataDir, log, onProgress: (line) => told.push(line) });
    expect(told.join()).toMatch(/waiting for Temporal \(process \d+\) at 127\.0\.0\.1:\d+ for 15 s/);
    await started.stop();
  });

  test('refuses a taken port', async () => {
    const listener = createServer();
    const port = await listen(listener);
    await expect(startEmbeddedTemporal({ dataDir, log, address: `127.0.0.1:${port}` })).rejects.toMatchObject(
      { code: 'port-taken' },
    );
    listener.close();
  });
});

describe('serverEnvironment', () => {
  test('passes on the variables that a program needs, and no other', () => {
    const own = {
      ...{
        PATH: '/bin',
        HOME: '/home/a',
        TZ: 'UTC',
        GOGC: '50',
        TEMPORAL_ADDRESS: 'a:1',
        BILLSYNC_CLIENT_SECRET: 's',
      },
      ...{
        AWS_SECRET_ACCESS_KEY: 's',
        PGPASSWORD: 's',
        DATABASE_URL: 's',
        HTTPS_PROXY: 'http://u:s@p',
        MY_TOKEN: 's',
      },
    };
    expect(serverEnvironment(own)).toEqual({ PATH: '/bin', HOME: '/home/a', TZ: 'UTC', GOGC: '50' });
  });
});
