import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { testFolder } from '../support/folders.ts';
import { type ForeignService, serviceSettings, startForeignService } from '../support/foreign-service.ts';
import { billsync, type RunningRole, startRole } from '../support/processes/billsync.ts';
import { freePort } from '../support/processes/free-port.ts';
import { publishedStates } from '../support/published-data.ts';

const folder = testFolder();
const dataDir = join(folder, 'data');
const AUTHORIZATION = `Basic ${Buffer.from('service:secret').toString('base64')}`;

let service: ForeignService;
let env: Record<string, string>;
const running = new Map<string, RunningRole>();

async function start(role: 'temporal' | 'webhook' | 'worker'): Promise<RunningRole> {
  const started = await startRole([role], { env, cwd: folder });
  running.set(role, started);
  return started;
}

beforeAll(async () => {
  service = await startForeignService();
  env = {
    BILLSYNC_DATA_DIR: dataDir,
    TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
    ...serviceSettings(service),
    BILLSYNC_WEBHOOK_HOST: '127.0.0.1',
    BILLSYNC_WEBHOOK_PORT: String(await freePort()),
    BILLSYNC_WEBHOOK_BASIC_AUTH: 'service:secret',
    BILLSYNC_ADMIN_PORT: '0',
    BILLSYNC_OVERDUE_AFTER: '5s',
  };
});

afterAll(async () => {
  for (const role of running.values()) await role.end('SIGKILL');
  try {
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'run', 'temporal.json'), 'utf8')) as {
      pid: number;
    };
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended with its role.
  }
  await service?.close();
});

async function loaded(): Promise<number> {
  const states = await publishedStates(dataDir);
  return [...states.values()].filter((state) => state === 'loaded').length;
}

async function bill(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { invoiceId } = await service.createInvoice({ tenant: 'Plain', rows: 12 });
    await service.finalize(invoiceId);
  }
}

describe('separate roles', { shuffle: false }, () => {
  test('start without Temporal and load acknowledged events afterwards', async () => {
    const webhook = await start('webhook');
    service.register({ url: webhook.addresses.webhook ?? '', headers: { authorization: AUTHORIZATION } });
    await start('worker');
    await bill(3);
    for (const event of service.events) expect(await service.deliver(event)).toBe(200);
    await start('temporal');
    await eventually(loaded, (count) => count === 3);
  });

  test('are killed with -9 and restart at once, on the same ports and files', async () => {
    for (const role of ['temporal', 'worker', 'webhook'] as const) {
      await running.get(role)?.end('SIGKILL');
      await bill(2);
      await start(role);
    }
    // Sent again by the service, or by a person there: nothing becomes double by it.
    for (const event of service.events) expect(await service.deliver(event)).toBe(200);
    await eventually(loaded, (count) => count === 9);
    const verified = await billsync(['verify', '--json'], { env });
    expect(JSON.parse(verified.stdout)).toMatchObject({ invoices: 9, shipments: 108, drift: [] });
  });

  test('restore an empty Temporal from the archive', async () => {
    const { invoiceId } = await service.createInvoice({ tenant: 'Plain', rows: 12 });
    await eventually(
      () => publishedStates(dataDir),
      (states) => states.get(invoiceId) === 'draft',
    );
    await running.get('webhook')?.end('SIGTERM');
    await running.get('temporal')?.end('SIGTERM');
    for (const name of readdirSync(dataDir).filter((file) => file.startsWith('temporal')))
      rmSync(join(dataDir, name), { recursive: true });
    // It is not announced, so only a workflow that waits for it requests it.
    await service.finalize(invoiceId);
    await start('temporal');
    await start('webhook');
    await eventually(
      () => billsync(['events', 'replay'], { env }),
      ({ exitCode }) => exitCode === 0,
    );
    await eventually(loaded, (count) => count === 10);
  });

  test('end with 0 on SIGTERM', async () => {
    for (const role of ['webhook', 'worker', 'temporal'] as const) {
      expect(await running.get(role)?.end('SIGTERM'), role).toBe(0);
    }
    expect(service.complaints).toEqual([]);
  });

  test('do not start with a clock difference of more than five minutes', async () => {
    const ahead = 'const now = Date.now; Date.now = () => now() + 6 * 60_000;';
    const wrong = { ...env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}` };
    const refused = ['worker', 'webhook', 'up'].map(async (role) => {
      const own = { BILLSYNC_DATA_DIR: join(folder, `wrong-${role}`), BILLSYNC_WEBHOOK_PORT: '0' };
      const { exitCode, stderr } = await billsync([role], { env: { ...wrong, ...own } });
      expect(stderr, role).toContain(
        "this machine's clock is 6 min ahead of that of the billing service; more than 5 min is refused",
      );
      expect(exitCode, role).toBe(1);
    });
    await Promise.all(refused);
  });
});
