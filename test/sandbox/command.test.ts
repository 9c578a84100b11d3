import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { sandboxCommand } from '../../sandbox/commands/command.ts';
import { testFolder } from '../support/folders.ts';

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

/** Runs a command in this process, which saves a start of Node, and captures its output. */
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

async function runJson(...args: string[]) {
  const { code, stdout, stderr } = await run(...args, '--data', dataDir, '--json');
  expect(stderr).toBe('');
  // biome-ignore lint/suspicious/noExplicitAny: answers have many shapes.
  return { code, body: JSON.parse(stdout) as any };
}

beforeAll(async () => {
  dataDir = testFolder();
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
});

test('serve --json prints one line with all addresses and credentials', () => {
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

test('webhooks edit changes the named settings only', async () => {
  const url = 'https://127.0.0.1:1/y';
  const added = await runJson(
    'webhooks',
    'add',
    '--url',
    url,
    '--event-type',
    'invoice_created,invoice_voided',
  );
  expect(added.body.event_types).toEqual(['invoice_created', 'invoice_voided']);
  const id = added.body.registration_id;
  const edited = await runJson('webhooks', 'edit', id, '--tenant', '000417', '--event', 'invoice_finalized');
  expect(edited.body).toMatchObject({ name: url, url, event_types: ['invoice_finalized'] });
  expect(edited.body.tenants).toHaveLength(1);
  expect((await runJson('test-event')).body).toMatchObject([{ registration_id: id, test_event: true }]);
  expect((await run('webhooks', 'delete', id, '--data', dataDir, '--yes')).code).toBe(0);
});

test('trigger, cancel and lists use the sandbox of the folder', async () => {
  const { body } = await runJson(
    'trigger',
    'invoice_finalized',
    '--shipments',
    '3',
    '--set',
    'currencyCode=CHF',
  );
  expect(body).toMatchObject([{ status: 'APPROVED', currency_code: 'CHF', shipment_count: 3 }]);
  expect((await runJson('cancel', body[0].invoice_id)).body).toMatchObject({ status: 'CANCELED' });
  const canceled = (await runJson('invoices', 'list', '--status', 'CANCELED')).body;
  expect(canceled).toContainEqual(expect.objectContaining({ invoice_id: body[0].invoice_id }));
  expect(new Set(canceled.map(({ status }: { status: string }) => status))).toEqual(new Set(['CANCELED']));
});

test('--dry-run prints the request without sending it', async () => {
  await runJson('trigger', 'invoice_created');
  const before = (await runJson('invoices', 'list')).body.length;
  const { body } = await runJson('trigger', 'invoice_created', '--dry-run');
  expect(body).toMatchObject({ dry_run: true, method: 'POST', path: '/trigger' });
  expect((await runJson('invoices', 'list')).body).toHaveLength(before);
});

test.each([
  ['an unknown invoice', ['approve', '123'], 3, /no invoice/],
  ['a refused transition', ['cancel', 'CANCELED'], 6, /CANCELED is final/],
  ['a setting without =', ['trigger', 'invoice_created', '--set', 'x'], 2, /field=value/],
  ['an unknown setting', ['trigger', 'invoice_created', '--set', 'x=1'], 2, /cannot be set/],
])('%s ends with the right code and at most three lines', async (_, args, code, message) => {
  const canceled = (await runJson('trigger', 'invoice_voided')).body[0].invoice_id;
  const given = args.map((arg) => (arg === 'CANCELED' ? canceled : arg));
  const result = await run(...given, '--data', dataDir);
  expect(result).toMatchObject({ code, stdout: '' });
  expect(result.stderr).toMatch(message);
  expect(result.stderr.trim().split('\n').length).toBeLessThanOrEqual(3);
});

test('a misspelt verb ends the process with 2 and a suggestion', async () => {
  const { code, stderr } = await runAsProcess('triger', 'invoice_created');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/did you mean trigger/i)]);
});

test('ends with 5 without a sandbox and with 8 for a folder in use', async () => {
  const unreachable = await run('seed', '--data', join(dataDir, 'nothing'));
  expect([unreachable.code, unreachable.stderr]).toEqual([5, expect.stringContaining('sandbox serve')]);
  const taken = await run('serve', '--data', dataDir);
  expect([taken.code, taken.stderr]).toEqual([8, expect.stringContaining(String(server.pid))]);
});
