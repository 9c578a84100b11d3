import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../sandbox/service.ts';
import { DataDirLockedError } from '../../sandbox/state/data-folder.ts';
import { eventually } from '../support/eventually.ts';
import { testFolder } from '../support/folders.ts';
import { envelope, SpecClient, startReceiver } from './support.ts';

let dataDir: string;
const running = new Set<Sandbox>();

beforeEach(() => {
  dataDir = testFolder();
});

afterEach(async () => {
  for (const sandbox of running) await sandbox.close();
  running.clear();
});

async function start(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ dataDir, retryDelayMs: 20, ...options });
  running.add(sandbox);
  return sandbox;
}

async function stop(sandbox: Sandbox): Promise<void> {
  await sandbox.close();
  running.delete(sandbox);
}

function everything(sandbox: Sandbox) {
  return {
    tenants: sandbox.tenants(),
    invoices: sandbox.invoices(),
    webhooks: sandbox.webhooks(),
    schedules: sandbox.schedules.list(),
    faults: sandbox.faults.list(),
    apiKeys: sandbox.apiKeys.list(),
    events: sandbox.events(),
    deliveries: sandbox.deliveries(),
  };
}

const journalPath = () => join(dataDir, 'test', 'journal.ndjson');

test('restores state, addresses, credentials, URLs and tokens after a restart', async () => {
  const first = await start();
  first.registerWebhook({
    name: 'unreachable',
    url: 'https://127.0.0.1:1/',
    headers: { A: 'b' },
    active: true,
  });
  first.schedules.add({ name: 'weekly', autoApprove: true });
  first.faults.add({ name: 'drop', count: 1 });
  first.apiKeys.add('nightly');
  await first.seedInvoices(7);
  await first.idle();
  const before = everything(first);
  const token = await new SpecClient(first).token();
  const payloads = first.events().map((event) => envelope(event).payload);
  const url = String(payloads.find(({ presignedUrl }) => presignedUrl !== undefined)?.presignedUrl);
  await stop(first);

  const second = await start();
  expect(everything(second)).toEqual(before);
  expect([second.baseUrl, second.storageUrl, second.caPem]).toEqual([
    first.baseUrl,
    first.storageUrl,
    first.caPem,
  ]);
  const client = new SpecClient(second);
  expect((await client.ping({ authorization: `Bearer ${token}` })).status).toBe(200);
  expect((await client.send(url)).status).toBe(200);
  await client.close();
});

test('makes a scheduled retry after the restart', async () => {
  const receiver = await startReceiver();
  receiver.answer = (number) => ({ status: number === 1 ? 500 : 200 });
  const first = await start({ retryDelayMs: 60_000 });
  first.registerWebhook({ name: 'hook', url: receiver.url, caPem: receiver.caPem, active: true });
  await first.createInvoice();
  await eventually(() => first.deliveries()[0]?.attempts.length === 1);
  await stop(first);
  const second = await start();
  await second.idle();
  expect(second.deliveries()[0]).toMatchObject({
    state: 'delivered',
    attempts: [{ status: 500 }, { status: 200 }],
  });
  await receiver.close();
});

test('delivers after the restart what waited for a connection', async () => {
  const receiver = await startReceiver();
  receiver.answer = () => null;
  const first = await start();
  first.registerWebhook({ name: 'hook', url: receiver.url, caPem: receiver.caPem, active: true });
  for (let count = 0; count < 40; count += 1) await first.createInvoice({ shipments: 1 });
  await eventually(() => receiver.requests.length > 0);
  await stop(first);
  expect(receiver.requests.length).toBeLessThan(40);
  receiver.answer = () => ({ status: 200 });
  const second = await start();
  await second.idle();
  expect(second.deliveries().map(({ state }) => state)).toEqual(
    Array.from({ length: 40 }, () => 'delivered'),
  );
  expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(40);
  await receiver.close();
});

test('keeps everything it answered through kill -9 and a truncated journal', async () => {
  const script = `
    const { startSandbox } = await import(${JSON.stringify(new URL('../../sandbox/service.ts', import.meta.url).href)});
    const sandbox = await startSandbox({ dataDir: ${JSON.stringify(dataDir)} });
    for (;;) {
      const { invoiceId } = await sandbox.createInvoice({ shipments: 2 });
      await sandbox.finalize(invoiceId);
      process.stdout.write(invoiceId + '\\n');
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script]);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await expect.poll(() => output.split('\n').length).toBeGreaterThan(20);
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('close', resolve));
  appendFileSync(journalPath(), '{"kind":"invoice","id":"cut sho');

  const sandbox = await start();
  const acknowledged = output.split('\n').slice(0, -1);
  expect(acknowledged.map((id) => sandbox.invoice(id).status)).toEqual(acknowledged.map(() => 'APPROVED'));
  const finalized = sandbox.events().filter(({ eventType }) => eventType === 'invoice_finalized');
  expect(finalized.map(({ invoiceId }) => invoiceId)).toEqual(expect.arrayContaining(acknowledged));
});

test('reset keeps credentials and tenants only', async () => {
  const sandbox = await start();
  const [tenants, apiKey] = [sandbox.tenants(), sandbox.apiKey];
  const { invoiceId } = await sandbox.createInvoice();
  sandbox.faults.add({ name: 'drop' });
  await sandbox.reset();
  expect(everything(sandbox)).toMatchObject({ tenants, invoices: [], webhooks: [], faults: [], events: [] });
  expect(sandbox.apiKeys.list().map(({ key }) => key)).toEqual([apiKey]);
  expect((await sandbox.createInvoice()).invoiceId).toBe(invoiceId);
});

test('derives ids, credentials, amounts and texts from the seed', async () => {
  const now = () => new Date('2026-03-01T08:00:00Z');
  const story = async (seed: number) => {
    const sandbox = await startSandbox({ seed, now });
    await sandbox.seedInvoices(6);
    await sandbox.idle();
    const rows = await Array.fromAsync(sandbox.billedShipments());
    const result = { invoices: sandbox.invoices(), rows, id: sandbox.clientId, secret: sandbox.clientSecret };
    await sandbox.close();
    return result;
  };
  const [one, same, other] = [await story(5), await story(5), await story(6)];
  expect(same).toEqual(one);
  expect(other.rows[0]?.billingCost).not.toBe(one.rows[0]?.billingCost);
  expect(other.secret).not.toBe(one.secret);
});

test('compacts a journal that is mostly history', async () => {
  const first = await start();
  const { registrationId } = first.registerWebhook({ name: 'a', url: 'https://127.0.0.1:1/' });
  const shipments = Array.from({ length: 1_000 }, (_, index) => ({ trackingNumber: `€${index}` }));
  await first.createInvoice({ shipments });
  for (let turn = 0; turn < 1_500; turn += 1) {
    first.enableWebhook(registrationId);
    first.disableWebhook(registrationId);
  }
  const before = everything(first);
  await stop(first);
  const size = statSync(journalPath()).size;
  const second = await start();
  expect(readFileSync(journalPath(), 'utf8').split('\n').length).toBeLessThan(50);
  expect(statSync(journalPath()).size).toBeLessThan(size);
  expect(everything(second)).toEqual(before);
  await stop(second);
  expect(everything(await start())).toEqual(before);
});

test('refuses a second sandbox on one folder and names its process', async () => {
  await start();
  await expect(startSandbox({ dataDir })).rejects.toThrow(DataDirLockedError);
  await expect(startSandbox({ dataDir })).rejects.toThrow(String(process.pid));
});

test('removes its temporary folder when it closes', async () => {
  const sandbox = await startSandbox();
  expect(readFileSync(sandbox.caFile, 'utf8')).toContain('BEGIN CERTIFICATE');
  await sandbox.close();
  expect(() => statSync(sandbox.dataDir)).toThrow();
});
