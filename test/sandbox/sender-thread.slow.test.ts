/** Bursts: what is sent by a thread of its own is sent and logged as everything else is (spec 4.6, 8). */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { eventually } from '../support/eventually.ts';
import { type Receiver, startReceiver } from './support.ts';

const TIMEOUT_MS = 2_000;
/** More than may wait for an endpoint before that is called a burst. */
const BURST = 240;
let dataDir: string;
let sandbox: Sandbox;
let receiver: Receiver;
let thread: Worker;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sandbox-thread-'));
  [sandbox, receiver] = await Promise.all([start(), startReceiver()]);
  register();
  await startThread();
});

beforeEach(() => {
  vi.restoreAllMocks();
  receiver.requests.length = 0;
  receiver.answer = () => ({ status: 200 });
});

afterAll(async () => {
  await sandbox.close();
  await receiver.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const start = () => startSandbox({ dataDir, retryDelayMs: 50, deliveryTimeoutMs: TIMEOUT_MS });

function register(): void {
  sandbox.registerWebhook({
    name: 'hook',
    url: receiver.url,
    caPem: receiver.caPem,
    headers: { Authorization: 'Basic abc', 'Content-Type': 'application/json' },
    active: true,
  });
}

/** An endpoint that does not answer at first makes a burst of a few invoices; resolves when the thread has sent it. */
async function startThread(): Promise<void> {
  const created = once(process, 'worker') as Promise<[Worker]>;
  receiver.answer = () => null;
  for (let count = 0; count < BURST; count += 1) await sandbox.createInvoice({ shipments: 1 });
  [thread] = await created;
  await once(thread, 'message');
  receiver.answer = () => ({ status: 200 });
  await sandbox.idle();
}

const latest = () => sandbox.deliveries().at(-1);

test('a burst is delivered in full, and so is what comes after it', async () => {
  expect(sandbox.deliveries()).toHaveLength(BURST);
  expect(sandbox.deliveries().filter(({ state }) => state === 'delivered')).toHaveLength(BURST);

  const before = new Date().toISOString();
  const handed = vi.spyOn(thread, 'postMessage');
  const { invoiceId } = await sandbox.createInvoice({ shipments: 1 });
  await sandbox.idle();
  const [request] = receiver.requests;
  expect(handed).toHaveBeenCalledTimes(1);
  expect(receiver.requests).toHaveLength(1);
  expect(request).toMatchObject({ method: 'POST', path: '/hooks', body: sandbox.events().at(-1)?.body });
  expect(request?.headers).toMatchObject({
    authorization: 'Basic abc',
    'content-type': 'application/json',
    'user-agent': 'billing-sandbox/1',
  });
  expect(latest()).toMatchObject({
    invoiceId,
    state: 'delivered',
    attempts: [{ number: 1, status: 200, error: null, responseBody: '{"status":"ok"}' }],
  });
  expect((latest()?.attempts[0]?.startedAt ?? '') >= before).toBe(true);
  expect((latest()?.attempts[0]?.startedAt ?? '') <= new Date().toISOString()).toBe(true);
});

test('spec 8: what the thread could not deliver is retried once, then logged and not requeued', async () => {
  receiver.answer = (number) => (number === 1 ? { status: 503 } : { status: 200 });
  await sandbox.createInvoice({ shipments: 1 });
  await sandbox.idle();
  expect(latest()).toMatchObject({
    state: 'delivered',
    attempts: [
      { number: 1, status: 503, error: 'The endpoint answered 503.' },
      { number: 2, status: 200 },
    ],
  });
  receiver.answer = () => null;
  await sandbox.createInvoice({ shipments: 1 });
  await sandbox.idle();
  const error = `No answer within ${TIMEOUT_MS / 1_000} s.`;
  expect(latest()).toMatchObject({ state: 'failed', attempts: [{ error }, { number: 2, error }] });
  expect(latest()?.attempts[0]?.durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 5);
});

test('a delivery that the thread had under way when the sandbox stopped is made again at the next start', async () => {
  receiver.answer = () => null;
  await sandbox.createInvoice({ shipments: 1 });
  await eventually(() => receiver.requests.length === 1);
  await sandbox.close();
  receiver.answer = () => ({ status: 200 });
  sandbox = await start();
  await sandbox.idle();
  expect(receiver.requests[1]?.body).toBe(receiver.requests[0]?.body);
  expect(latest()).toMatchObject({ state: 'delivered', attempts: [{ number: 1, status: 200 }] });
});

test('a reset stops the thread, and what it had under way is forgotten', async () => {
  await startThread();
  receiver.requests.length = 0;
  receiver.answer = () => null;
  await sandbox.createInvoice({ shipments: 1 });
  await eventually(() => receiver.requests.length === 1);
  await sandbox.reset();
  expect(sandbox.deliveries()).toEqual([]);
  register();
  receiver.answer = () => ({ status: 200 });
  await sandbox.createInvoice({ shipments: 1 });
  await sandbox.idle();
  expect(sandbox.deliveries()).toMatchObject([{ state: 'delivered', attempts: [{ number: 1 }] }]);
});
