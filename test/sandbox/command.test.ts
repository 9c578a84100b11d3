/** The verbs of `sandbox` as people use them, against one that serves in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { sandboxCommand } from '../../sandbox/commands/command.ts';

const ENTRY = `
  const { sandboxCommand } = await import(${JSON.stringify(new URL('../../sandbox/commands/command.ts', import.meta.url).href)});
  await sandboxCommand().parseAsync(process.argv.slice(1), { from: 'user' });`;

let dataDir: string;
let server: ChildProcess;
let ready: Record<string, string>;

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function launch(args: readonly string[]): ChildProcess {
  const node = ['--input-type=module', '--eval', ENTRY, '--', ...args];
  return spawn(process.execPath, node, { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Runs a verb in this process, which saves a start of Node for each, and catches what it prints. */
async function run(...args: string[]): Promise<Result> {
  const printed = { stdout: '', stderr: '' };
  const writers = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      printed[stream] += String(text);
      return true;
    }),
  );
  try {
    await sandboxCommand().parseAsync(args, { from: 'user' });
    return { ...printed, code: Number(process.exitCode ?? 0) };
  } finally {
    process.exitCode = undefined;
    for (const writer of writers) writer.mockRestore();
  }
}

async function runAsProcess(...args: string[]): Promise<Result> {
  const child = launch(args);
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}

/** A verb against the sandbox that serves, with its JSON. */
async function ask(...args: string[]) {
  const { code, stdout, stderr } = await run(...args, '--data', dataDir, '--json');
  expect(stderr).toBe('');
  // biome-ignore lint/suspicious/noExplicitAny: answers have many shapes.
  return { code, body: JSON.parse(stdout) as any };
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sandbox-command-'));
  server = launch(['serve', '--data', dataDir, '--port', '0', '--seed', '7', '--json']);
  ready = JSON.parse(
    await new Promise<string>((resolve) =>
      server.stdout?.once('data', (chunk: Buffer) => resolve(String(chunk))),
    ),
  ) as Record<string, string>;
});

afterAll(async () => {
  const closed = new Promise<number | null>((resolve) => server.once('close', resolve));
  server.kill('SIGTERM');
  expect(await closed).toBe(0);
  rmSync(dataDir, { recursive: true, force: true });
});

test('serve --json prints one line with every address and credential', () => {
  expect(Object.keys(ready)).toEqual([
    'base_url',
    'auth_url',
    'storage_url',
    'admin_url',
    'page_url',
    'ca_file',
    'client_id',
    'client_secret',
    'api_key',
    'partner_id',
    'production',
  ]);
  const production = ready.production as unknown as Record<string, string>;
  expect(production.base_url).toBe(`${ready.base_url}/production`);
  expect(production.client_secret).not.toBe(ready.client_secret);
});

test('connection tells what the ready line told, for either account', async () => {
  const { production, ...test } = ready;
  expect((await ask('connection')).body).toEqual(test);
  expect((await ask('connection', '--production')).body).toEqual(production);
});

test('status, tenants and events say what a person wants to know first', async () => {
  expect((await ask('status')).body).toMatchObject({ environment: 'test', partner: { kind: '3pl' } });
  expect((await ask('tenants', 'list')).body).toHaveLength(6);
  const [{ invoice_id: id }] = (await ask('trigger', 'invoice_created')).body;
  expect((await ask('events', 'list', '--invoice', id)).body).toMatchObject([
    { event_type: 'invoice_created' },
  ]);
});

test('submit and approve take one invoice or all that are ready', async () => {
  const drafts = (await ask('trigger', 'invoice_created', '--times', '3')).body;
  expect((await ask('submit', drafts[0].invoice_id)).body).toMatchObject({ status: 'PENDING_APPROVAL' });
  expect((await ask('approve', '--all')).body).toMatchObject([{ invoice_id: drafts[0].invoice_id }]);
  expect((await ask('submit', '--all')).body.length).toBeGreaterThanOrEqual(2);
  expect((await run('approve', '--data', dataDir)).code).toBe(2);
});

test('webhooks edit changes what is named; event types come with commas; test-event needs no id', async () => {
  const url = 'https://127.0.0.1:1/y';
  const added = await ask('webhooks', 'add', '--url', url, '--event-type', 'invoice_created,invoice_voided');
  expect(added.body.event_types).toEqual(['invoice_created', 'invoice_voided']);
  const id = added.body.registration_id;
  const edited = await ask('webhooks', 'edit', id, '--tenant', '000417', '--event', 'invoice_finalized');
  expect(edited.body).toMatchObject({ name: url, url, event_types: ['invoice_finalized'] });
  expect(edited.body.tenants).toHaveLength(1);
  expect((await ask('test-event')).body).toMatchObject([{ registration_id: id, test_event: true }]);
  expect((await run('webhooks', 'delete', id, '--data', dataDir, '--yes')).code).toBe(0);
});

test('trigger, cancel and the lists find the sandbox through its folder and speak snake_case', async () => {
  const { body } = await ask('trigger', 'invoice_finalized', '--shipments', '3', '--set', 'currencyCode=CHF');
  expect(body).toMatchObject([{ status: 'APPROVED', currency_code: 'CHF', shipment_count: 3 }]);
  expect((await ask('cancel', body[0].invoice_id)).body).toMatchObject({ status: 'CANCELED' });
  expect((await ask('invoices', 'list', '--status', 'CANCELED')).body).toHaveLength(1);
});

test('trigger --file takes an invoice from JSON, options win', async () => {
  const file = join(dataDir, 'invoice.json');
  writeFileSync(file, JSON.stringify({ tenant: 'ZOE-1', shipments: 9, set: { invoiceNumber: 'F-1' } }));
  const { body } = await ask('trigger', 'invoice_created', '--file', file, '--set', 'partnerInvoiceId=null');
  expect(body).toMatchObject([{ invoice_number: 'F-1', partner_invoice_id: null, shipment_count: 9 }]);
});

test('webhooks add, list and delete; deleting needs --yes where nobody can be asked', async () => {
  const added = await ask('webhooks', 'add', '--url', 'https://127.0.0.1:1/x', '--header', 'X-Route: a');
  expect(added.body).toMatchObject({ active: false, headers: { 'X-Route': '•••' } });
  const id = added.body.registration_id;
  const refused = await run('webhooks', 'delete', id, '--data', dataDir);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  expect((await run('webhooks', 'delete', id, '--data', dataDir, '--yes')).code).toBe(0);
});

test('fault add and list', async () => {
  const { body } = await ask(
    'fault',
    'add',
    'slow-drip',
    '--count',
    '1',
    '--endpoint',
    'storage',
    '--set',
    'bytes=5',
  );
  expect(body).toMatchObject({ name: 'slow-drip', count: 1, params: { bytes: '5' } });
  expect((await ask('fault', 'list')).body).toHaveLength(1);
});

test('--dry-run says what would be asked and asks nothing', async () => {
  const before = (await ask('invoices', 'list')).body.length;
  const { body } = await ask('trigger', 'invoice_created', '--dry-run');
  expect(body).toMatchObject({ dry_run: true, method: 'POST', path: '/trigger' });
  expect((await ask('invoices', 'list')).body).toHaveLength(before);
});

test.each([
  ['an unknown invoice', ['approve', '123'], 3, /no invoice/],
  ['a refused transition', ['cancel', 'CANCELED'], 6, /CANCELED is final/],
  ['a word that is no pair', ['trigger', 'invoice_created', '--set', 'x'], 2, /field=value/],
  ['a setting that there is not', ['trigger', 'invoice_created', '--set', 'x=1'], 2, /cannot be set/],
])('%s ends with the right code and at most three lines', async (_, args, code, message) => {
  const canceled = (await ask('trigger', 'invoice_voided')).body[0].invoice_id;
  const words = args.map((word) => (word === 'CANCELED' ? canceled : word));
  const result = await run(...words, '--data', dataDir);
  expect(result).toMatchObject({ code, stdout: '' });
  expect(result.stderr).toMatch(message);
  expect(result.stderr.trim().split('\n').length).toBeLessThanOrEqual(3);
});

test('a misspelt verb ends the process with 2 and a suggestion', async () => {
  const { code, stderr } = await runAsProcess('triger', 'invoice_created');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/did you mean trigger/i)]);
});

test('nobody at the folder is 5, a folder in use is 8', async () => {
  const nobody = await run('seed', '--data', join(dataDir, 'nothing'));
  expect([nobody.code, nobody.stderr]).toEqual([5, expect.stringContaining('sandbox serve')]);
  const taken = await run('serve', '--data', dataDir);
  expect([taken.code, taken.stderr]).toEqual([8, expect.stringContaining(String(server.pid))]);
});

test('every verb’s help shows an example', () => {
  const withoutExample: string[] = [];
  const visit = (command: Command, path: string) => {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    if (!help.includes(`Example:\n  billsync ${path}`)) withoutExample.push(path);
    for (const below of command.commands) visit(below, `${path} ${below.name()}`);
  };
  visit(sandboxCommand(), 'sandbox');
  expect(withoutExample).toEqual([]);
});
