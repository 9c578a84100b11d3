import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { afterAll, describe, expect, test } from 'vitest';
import { makeCertificates } from '../support/foreign-billing.ts';
import { listen } from '../support/listen.ts';
import { billsync } from '../support/processes/billsync.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv, anEvent, aWarehouse, INVOICE, loadCsv, sha256 } from '../warehouse/support.ts';

const GENUINE = aCsv([{ 'Billing Cost': '4' }, { 'Billing Cost': '6' }]);
/** Count and sum are those of the genuine file. */
const COPY = aCsv([{ 'Billing Cost': '9' }, { 'Billing Cost': '1' }]);
const OTHER = '22222222-2222-4222-8222-222222222222';

const run = (...args: readonly string[]) => runCommand(args, { env: { BILLSYNC_DATA_DIR: t.dataDir } });
const file = (name: string, bytes: Buffer): string => {
  const path = join(t.dataDir, name);
  writeFileSync(path, bytes);
  return path;
};

const { caPem, certPem, keyPem } = await makeCertificates();
const t = await aWarehouse({ now: () => new Date() });
const header = { invoiceTotalAmount: '10', totalTransactionCount: 2, currencyCode: 'USD' };
await t.record([
  anEvent('invoice_finalized', { header, fileHashSha256: sha256(GENUINE), fileSizeBytes: GENUINE.length }),
]);
await loadCsv(t, GENUINE);
await t.warehouse.publish();
await t.warehouse.close();
afterAll(() => t.close());

describe('files to import', () => {
  test('are those of a folder and of a list, in the order of their names, each once', async () => {
    const folder = join(t.dataDir, 'Exports 2026');
    mkdirSync(join(folder, 'March.csv'), { recursive: true });
    const ids = [1, 2, 3].map((n) => `33333333-3333-4333-8333-33333333333${n}`);
    const names = ['Z.CSV', 'ä.csv', 'March.csv/1.csv'].map((name) => join(folder, name));
    names.forEach((name, at) => {
      writeFileSync(name, aCsv([{}], ids[at]));
    });
    for (const name of ['._Z.csv', 'notes.txt']) writeFileSync(join(folder, name), 'no invoice');
    const importFiles = async (args: readonly string[], input: string) => {
      const env = { BILLSYNC_DATA_DIR: t.dataDir };
      const { stdout } = await billsync(['import', '--dry-run', '--json', ...args], { env, input });
      return JSON.parse(stdout).map(({ file }: { readonly file: string }) => file);
    };
    const [z = '', umlaut = '', march = ''] = names;
    const inOrder = [march, z, umlaut];
    expect(await importFiles([folder], '')).toEqual(inOrder);
    expect(await importFiles(['--files-from', '-'], `${z}\r\n\n${folder}\n`)).toEqual([z, march, umlaut]);
    expect(await importFiles([umlaut, '--files-from', file('list', Buffer.from(z))], '')).toEqual([
      umlaut,
      z,
    ]);
    for (const args of [[], ['--files-from', '/dev/null']])
      expect(await run('import', ...args)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('--files-from LIST'),
      });
  });
});

describe('a file that is imported', () => {
  test('is refused over a file with a stronger proof, with both hashes and the command', async () => {
    const refused = await run('import', file('copy.csv', COPY));
    expect(refused.exitCode).toBe(7);
    for (const hash of [sha256(GENUINE), sha256(COPY)]) expect(refused.stderr).toContain(hash);
    const command = /`billsync (invoices use-version \S+ 2) --reason WHY`/.exec(refused.stderr)?.[1] ?? '';
    expect(command).toBe(`invoices use-version ${INVOICE} 2`);
    const invoice = async () => JSON.parse((await run('invoices', 'show', INVOICE, '--json')).stdout);
    expect(await invoice()).toMatchObject({ version: 1, discrepancies: [] });
    const chosen = await run(...command.split(' '), '--reason', 'confirmed by phone', '--yes');
    expect([chosen.exitCode, chosen.stderr]).toEqual([0, expect.stringContaining('version 2 counts')]);
    expect((await invoice()).version).toBe(2);
    const genuine = await run('import', file('genuine.csv', GENUINE));
    expect([genuine.exitCode, genuine.stderr]).toEqual([
      7,
      expect.stringContaining('because a person chose it'),
    ]);
    const { stdout } = await run('audit', 'list', '--json');
    expect(stdout).toContain('confirmed by phone');
  });

  test('is refused after a spreadsheet changed it, and loaded on request', async () => {
    const path = file('saved.csv', aCsv([{ 'Tracking Number': '1.77E+15' }], OTHER));
    const refused = await run('import', path);
    expect([refused.exitCode, refused.stderr]).toEqual([
      7,
      expect.stringContaining('download the file again and do not save it from a spreadsheet'),
    ]);
    const accepted = await run('import', path, '--accept-spreadsheet', '--json');
    expect(JSON.parse(accepted.stdout)).toMatchObject([{ outcome: 'loaded', proof: 'accepted' }]);
  });

  test('is refused for a bad cell with the rule and who corrects it', async () => {
    const rows: readonly (readonly [NonNullable<Parameters<typeof aCsv>[0]>[number], string])[] = [
      [{ Tenant: '\r\n' }, 'Tenant must be a text (blanks and line breaks alone are no value)'],
      [
        { 'Carrier Invoice Date': '\n' },
        'Carrier Invoice Date must be a day of the calendar, YYYY-MM-DD, or',
      ],
      [{ 'Billable Weight Unit': '' }, 'Billable Weight Unit must be LB or KG wherever there is a weight'],
    ];
    for (const [row, advice] of rows) {
      const refused = await run('import', file('cell.csv', aCsv([row], OTHER)), '--dry-run');
      expect([refused.exitCode, refused.stderr]).toEqual([7, expect.stringContaining(advice)]);
      expect(refused.stderr).toContain('no BILLSYNC_CSV_TOLERATE accepts this');
    }
  });

  test('is loaded although the configured service cannot be reached', async () => {
    const env = {
      ...{ BILLSYNC_DATA_DIR: t.dataDir, BILLSYNC_BASE_URL: 'https://127.0.0.1:9', BILLSYNC_API_KEY: 'key' },
      ...{ BILLSYNC_PARTNER_ID: 'partner-1', BILLSYNC_ALLOW_PRIVATE_HOSTS: 'true' },
    };
    const id = '33333333-3333-4333-8333-333333333333';
    const path = file('offline.csv', aCsv([{ 'Invoice ID': id, 'Billing Cost': '4' }]));
    const { exitCode, stderr, stdout } = await runCommand(['import', path], { env });
    expect(stderr).toContain('The billing service cannot be reached');
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/ loaded /)]);
  });

  test.each([
    [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}\r\n\r\n{}`, 6, 'exceed 64 KiB'],
    ['200 fine\r\n\r\n', 6, 'breaks the rules of HTTP'],
    ['', 5, 'cannot be reached'],
  ])('is not loaded when the answer of the service is not understood: %#', async (answer, code, reason) => {
    const server = createServer({ key: keyPem, cert: certPem }, (socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(answer));
    });
    const caFile = join(t.dataDir, 'ca.pem');
    writeFileSync(caFile, caPem);
    const env = {
      ...{ BILLSYNC_DATA_DIR: t.dataDir, BILLSYNC_BASE_URL: `https://127.0.0.1:${await listen(server)}` },
      ...{ BILLSYNC_API_KEY: 'key', BILLSYNC_PARTNER_ID: 'partner-1', BILLSYNC_ALLOW_PRIVATE_HOSTS: 'true' },
      BILLSYNC_CA_FILE: caFile,
    };
    const path = file('asked.csv', aCsv([{ 'Invoice ID': '44444444-4444-4444-8444-444444444444' }]));
    const { exitCode, stderr, stdout } = await runCommand(['import', path], { env });
    server.close();
    expect([exitCode, stdout, stderr]).toEqual([code, '', expect.stringContaining(reason)]);
  });
});
