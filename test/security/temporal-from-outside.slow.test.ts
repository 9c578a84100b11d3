/** Requests of a web page, or of another program of this machine, to the ports of `up`, and the worker's reaction. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHealth } from '../../lib/health/health.ts';
import { invoiceWorkflowId } from '../../lib/wire/names.ts';
import { scheduleChecks } from '../../worker/schedule-checks.ts';
import { scheduleId, showSchedule } from '../../workflows/client/schedules.ts';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { createProduct, type Product } from '../support/processes/product.ts';
import { aRig, type Rig } from '../worker/rig.ts';

let rig: Rig;
let product: Product;

beforeAll(async () => {
  rig = await aRig();
  product = await createProduct({
    service: rig.service,
    settings: { SOME_TOKEN: 'secret', AWS_SECRET_ACCESS_KEY: 'secret', PGPASSWORD: 'secret' },
  });
});
afterAll(async () => {
  await product.close();
  await rig.close();
});

test('answers no foreign host name or origin on any socket of `up`', async () => {
  await product.start('up');
  const ports = listeningPortsOf(product.pid('up') ?? 0);
  // Endpoint, admin port, Temporal's gRPC, HTTP API, metrics and its inner services.
  expect(ports.length).toBeGreaterThan(6);
  const endpoint = Number(new URL(product.webhookUrl).port);
  const foreign = { Host: 'evil.example', Origin: 'https://evil.example', 'Content-Type': 'text/plain' };
  const workflows = '/api/v1/namespaces/default/workflows';
  let tries = 0;
  const served: string[] = [];
  for (const port of ports.filter((each) => each !== endpoint)) {
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/api/v1/namespaces'],
      ['GET', workflows],
      ['GET', '/api/v1/namespaces/default/schedules'],
      ['POST', '/api/v1/namespaces/default/batch-operations/x'],
      ['POST', `${workflows}/x/terminate`],
      ['DELETE', '/api/v1/namespaces/default/schedules/x'],
      ['OPTIONS', workflows],
    ] as const) {
      tries += 1;
      const { status, allowed } = await send(port, method, path, foreign);
      const isRefused = status === null || status >= 400;
      if (!isRefused || allowed !== undefined) served.push(`${method} ${path} at ${port}: ${status}`);
    }
  }
  expect(served).toEqual([]);
  attack('requests of a foreign web page to every socket of `up`', { tries, held: tries - served.length });
  // Each child has what its role reads: no setting, no key of anything else, in its environment.
  for (const pid of familyOf(product.pid('up') ?? 0)) {
    if (pid === product.pid('up')) continue;
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    expect(variables.filter((each) => /^(BILLSYNC_|AWS_|PG|SOME_TOKEN)/.test(each))).toEqual([]);
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    if (command.includes('child-main')) expect(command).toContain('--disable-proto=delete');
  }
  // The list found the HTTP API.
  const refused = await Promise.all(
    ports.filter((each) => each !== endpoint).map((port) => send(port, 'GET', workflows, foreign)),
  );
  expect(refused.map(({ status }) => status)).toContain(403);
  await product.stop('up');
});

test('restores a removed schedule and a terminated invoice, with a report', async () => {
  await rig.startTemporal();
  const worker = await rig.startWorker();
  await worker.ready;
  const health = createHealth();
  health.set('temporal', { isHealthy: true });
  const { environment } = rig.settings;
  await rig.temporal.run(async (client) => {
    const { checks, connect } = scheduleChecks({ settings: rig.settings, health });
    connect(client);
    const [schedule, terminated] = checks;
    const schedules = () => schedule?.readState();

    await client.schedule.getHandle(scheduleId(environment)).delete();
    expect(await schedules()).toMatchObject({ isHealthy: false, detail: expect.stringContaining('removed') });
    expect(await schedules()).toEqual({ isHealthy: true, detail: '' });
    expect(await showSchedule(client, rig.settings)).toMatchObject({ isPaused: false });

    await rig.service.createInvoice();
    const [event] = await rig.forward();
    const workflowId = invoiceWorkflowId({
      ...{ environment, partnerId: event?.partnerId ?? '', invoiceId: event?.invoice.invoiceId ?? '' },
    });
    const handle = client.workflow.getHandle(workflowId);
    await eventually(async () => (await handle.describe()).status.name === 'RUNNING');
    await handle.terminate('by a web page');
    await eventually(async () => (await terminated?.readState())?.isHealthy === false);
    expect((await terminated?.readState())?.detail).toContain(workflowId);
    await eventually(async () => (await handle.describe()).status.name === 'RUNNING');
  });
});

/** Listening sockets of the process and all its descendants, from /proc. */
function listeningPortsOf(root: number): readonly number[] {
  const inodes = new Set<string>();
  for (const pid of familyOf(root)) {
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      try {
        const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? [];
        if (inode !== undefined) inodes.add(inode);
      } catch {
        // It was closed meanwhile.
      }
    }
  }
  const ports = new Set<number>();
  for (const table of ['tcp', 'tcp6']) {
    for (const line of readFileSync(`/proc/net/${table}`, 'utf8').trim().split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      if (state === '0A' && inodes.has(inode)) ports.add(Number.parseInt(local.split(':')[1] ?? '', 16));
    }
  }
  return [...ports];
}

/** The process and all its descendants. */
function familyOf(root: number): ReadonlySet<number> {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // It ended meanwhile.
    }
  }
  const family = new Set([root]);
  for (let before = 0; before !== family.size; ) {
    before = family.size;
    for (const [pid, parent] of parents) if (family.has(parent)) family.add(pid);
  }
  return family;
}

/** status is null where the socket speaks no HTTP. */
function send(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ readonly status: number | null; readonly allowed?: string }> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, timeout: 5_000 }, (answer) => {
      answer.resume();
      const allowed = answer.headers['access-control-allow-origin'];
      resolve({ status: answer.statusCode ?? null, ...(allowed === undefined ? {} : { allowed }) });
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve({ status: null }));
    sent.end(method === 'POST' ? '{}' : undefined);
  });
}
