import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { statementPages } from '../../../finance/statements/page/statement-pages.ts';
import { userStore } from '../../../lib/user-store.ts';
import { writeStatements } from '../../../worker/scheduled-reports.ts';
import { cleanEnvironment } from '../../support/processes/billsync.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { testProgram } from '../../support/processes/test-program.ts';
import { anInvoice, aShipment, reportsFixture } from '../../support/reports-fixture.ts';
import { unzipped } from '../../support/tools/read-workbook.ts';

const line = (tenant: string, cost: string) =>
  aShipment({ tenant, cost, shipDate: '2026-10-02', invoiceDate: '2026-10-10', service: '=1+1' });
const fixture = await reportsFixture([
  anInvoice([line('Acme', '12.3456'), line('Acme', '-2')], { tenant: 'Acme', date: '2026-10-10' }),
  anInvoice([line('Łódź & Söhne <b>', '7')], { tenant: 'Łódź & Söhne <b>', date: '2026-10-10' }),
]);
let out: string;
beforeEach(() => {
  out = join(fixture.folder, randomUUID());
});
afterAll(() => fixture.remove());

const statement = (...args: string[]) =>
  runCommand(['statement', '--period', '2026-10', ...args, '--data-dir', fixture.folder]);
const written = (): Promise<string[]> => readdir(out).catch(() => []);

describe('billsync statement', () => {
  test.each([
    [['--format', 'csv'], 2, 'a statement needs --tenant or --all-tenants'],
    [['--tenant', 'Acme'], 2, 'a statement needs --format'],
    [['--tenant', 'Acme', '--all-tenants', '--format', 'csv'], 2, '--all-tenants means every tenant'],
    [['--tenant', 'Acne', '--format', 'csv'], 3, 'nearest is Acme'],
    [['--tenant', 'Acme', '--format', 'csv', '--period', '2026-1'], 2, '"2026-1" is not a period'],
    [['--tenant', 'Acme', '--format', 'csv', '--period', '2026-Q4'], 2, 'A statement covers one month'],
    [['--all-tenants', '--format', 'csv', '--period', '2025-01'], 3, 'there is no statement for 2025-01'],
    [['--tenant', 'Acme', '--format', 'csv', '--final'], 2, 'add --yes'],
  ])('refuses %j with exit code %i', async (args, exitCode, message) => {
    const refused = await statement(...args, '--output', out);
    expect([refused.exitCode, refused.stderr]).toEqual([exitCode, expect.stringContaining(message)]);
    expect(await written()).toEqual([]);
  });

  test.each([
    ['a4', '9'],
    ['letter', '1'],
  ])('as a workbook prints on %s, and its lines can be filtered', async (paper, number) => {
    await statement('--tenant', 'Acme', '--format', 'xlsx', '--output', out, '--paper', paper);
    const [name = ''] = await written();
    const bytes = await readFile(join(out, name));
    for (const sheet of ['sheet1', 'sheet2'])
      expect(
        unzipped(bytes, `xl/worksheets/${sheet}.xml`)
          .match(/<pageSetup [^>]*>/)?.[0]
          .match(/paperSize="\d+"/g),
      ).toEqual([`paperSize="${number}"`]);
    expect(unzipped(bytes, 'xl/worksheets/sheet2.xml')).toContain('<autoFilter ref="A1:');
  });

  test('prints JSON with amounts as text and keeps nothing of a draft or a dry run', async () => {
    const draft = await statement('--tenant', 'Acme', '--json');
    expect(JSON.parse(draft.stdout)).toMatchObject({
      ...{ tenant: 'Acme', period: '2026-10', sent_at: null },
      totals: [{ currency_code: 'USD', charges: '12.3456', credits: '-2.0000', total: '10.3456' }],
    });
    const dry = await statement('--all-tenants', '--format', 'pdf', '--output', out, '--final', '--dry-run');
    expect([dry.exitCode, dry.stderr]).toEqual([
      0,
      expect.stringContaining('would write statement-2026-10-acme'),
    ]);
    const store = await userStore(fixture.folder);
    expect([await written(), await store.list('sent-statements')]).toEqual([[], []]);
  });

  test('is the same file again after a kill -9 between keeping a statement and writing it', async () => {
    const folder = join(fixture.folder, 'killed');
    const killed = spawnSync(
      process.execPath,
      [testProgram('finance/statements/send-and-die.ts'), fixture.path, folder, '2026-09'],
      { env: cleanEnvironment(), encoding: 'utf8' },
    );
    expect([killed.signal, killed.stderr]).toEqual(['SIGKILL', '']);
    const store = await userStore(folder);
    const [sent = ''] = (await store.list('sent-statements')).filter((path) => path.endsWith('/0001.json'));
    const before = await store.read(sent);
    await writeFile(join(folder, 'reports.duckdb'), await readFile(fixture.path));
    const args = ['statement', '--tenant', 'Acme', '--format', 'csv', '--output', out, '--final', '--yes'];
    const again = await runCommand([...args, '--period', '2026-09', '--data-dir', folder]);
    expect([again.exitCode, again.stderr]).toEqual([0, expect.stringContaining('as it was sent')]);
    const next = await runCommand([...args, '--period', '2026-10', '--data-dir', folder]);
    expect([next.exitCode, next.stderr]).toEqual([0, expect.stringContaining('10.3456 USD; kept as sent')]);
    expect(await store.read(sent)).toEqual(before);
    expect(await store.list(dirname(sent))).toContain(sent.replace('0001', '0002'));
    const audit = await runCommand(['audit', 'list', '--json', '--data-dir', folder]);
    expect(audit.stdout).toContain('1 statement of 2026-10 sent.');
  });
});

describe('a statement on paper', () => {
  test.each([
    ['a4', '595.28 841.89'],
    ['letter', '612 792'],
  ])('of the size %s is one PDF beside its lines, the same bytes each time', async (paper, size) => {
    const folder = join(out, paper);
    for (const place of ['one', 'two'])
      await statement('--all-tenants', '--format', 'pdf', '--paper', paper, '--output', join(folder, place));
    const names = await readdir(join(folder, 'one'));
    expect(names.filter((name) => name.endsWith('.pdf'))).toHaveLength(2);
    for (const name of names) {
      const bytes = await readFile(join(folder, 'one', name));
      expect(bytes.equals(await readFile(join(folder, 'two', name)))).toBe(true);
      if (name.endsWith('.pdf')) expect(bytes.toString('latin1')).toContain(`/MediaBox [0 0 ${size}]`);
    }
  });
});

describe('scheduled statements', () => {
  test('of the month before are put into a folder of that month, and sent once', async () => {
    const folder = join(fixture.folder, 'scheduled');
    const sources = {
      ...{ databasePath: fixture.path, dataDir: folder },
      now: new Date('2026-11-01T05:00:00Z'),
    };
    const scheduled = {
      ...{ name: 'statements', report: 'tenant-statements', format: 'xlsx', period: 'last-month' },
      ...{ filters: { tenants: [], partners: [] }, tables: {}, folder: join(folder, 'out') },
      parameters: { paper: 'a4', final: 'yes', shipments: 'yes' },
    };
    const first = await writeStatements(scheduled, sources);
    expect(first).toMatchObject({
      ...{ path: join(folder, 'out/2026-10'), rows: 2 },
      about: '2 statements of 2026-10 · 17.3456 USD',
    });
    const bytes = await Promise.all(
      (await readdir(first.path)).map((name) => readFile(join(first.path, name))),
    );
    expect(bytes).toHaveLength(2);
    await writeStatements(scheduled, { ...sources, now: new Date('2026-11-01T06:00:00Z') });
    const sent = await (await userStore(folder)).list('sent-statements');
    expect(sent.filter((path) => path.endsWith('/0001.json'))).toHaveLength(2);
    expect(sent.filter((path) => path.endsWith('/0002.json'))).toEqual([]);
    await expect(writeStatements({ ...scheduled, format: 'parquet' }, sources)).rejects.toThrow('no format');
  });
});

describe('the page of statements', () => {
  let app: FastifyInstance;
  beforeAll(() => {
    app = fastify();
    const pages = statementPages({
      ...{ databasePath: fixture.path, dataDir: fixture.folder, timeLimitMs: 60_000 },
      now: () => new Date('2026-11-02T00:00:00Z'),
    });
    pages.register(app, {
      ...{
        operators: null,
        noOperator: '',
        isForPrograms: () => true,
        periodMenu: () => ({ html: '' }),
      },
      send: async (reply, { html }) => reply.type('text/html').send(html),
      answered: (_reply, _refusals, answer) => answer(),
    });
  });
  afterAll(() => app.close());
  const page = async (query: string) => app.inject(`/statements${query}`);

  test('lists the tenants, and shows one of the last month with its files', async () => {
    expect((await page('')).body).toContain(
      'tenant=tenant-Acme&amp;period=2026-10&amp;by=ship-date">Acme</a>',
    );
    const content = await page('?tenant=tenant-Acme');
    expect(content.body).toContain('10.3456');
    const [, address = ''] = /href="([^"]*format=shipments[^"]*)"/.exec(content.body) ?? [];
    const file = await app.inject(address.replaceAll('&amp;', '&'));
    expect(file.headers['content-disposition']).toMatch(/statement-2026-10-acme-.*-draft-shipments\.csv/);
    expect(file.body).toContain("'=1+1");
    const pdf = await page('?tenant=tenant-Acme&format=pdf&paper=letter');
    expect(pdf.rawPayload.subarray(0, 5).toString()).toBe('%PDF-');
  });

  test.each([
    ['?tenant=unknown', 404, 'No tenant is'],
    ['?tenant=tenant-Acme&period=2026-99', 400, 'is not a period'],
    ['?tenant=tenant-Acme&format=doc', 400, 'There is no format'],
    ['?tenant=tenant-Acme&format=pdf&paper=a5', 400, 'There is no such paper'],
  ])('answers %s with status %i', async (query, status, message) => {
    const answer = await page(query);
    expect([answer.statusCode, answer.body]).toEqual([status, expect.stringContaining(message)]);
  });
});
