import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { renderInvoice } from '../../cli/commands/invoices.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv, INVOICE } from '../warehouse/support.ts';

const folder = mkdtempSync(join(tmpdir(), 'billsync-invoice-'));
const env = { BILLSYNC_DATA_DIR: join(folder, 'data') };
beforeAll(async () => {
  const file = join(folder, 'invoice.csv');
  writeFileSync(file, aCsv());
  expect(await runCommand(['import', file], { env })).toMatchObject({ exitCode: 0 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('does not show a file of a voided invoice as counting', () => {
  const files = [
    { file_sha256: 'b'.repeat(64), version: 2, is_current: true },
    { file_sha256: 'a'.repeat(64), version: 1, is_current: false },
  ];
  const counts = (voided_at: string | null): string[] =>
    renderInvoice({
      invoice: { invoice_id: INVOICE, invoice_number: null, state: 'any', voided_at, reason: null },
      ...{ amounts: [], events: [], words: [], files, discrepancies: [] },
    })
      .split('\n')
      .flatMap((line) => /^ +[ab]{16} .* {2}(\S.*)$/.exec(line)?.[1] ?? []);
  expect(counts(null)).toEqual(['yes', 'no']);
  expect(counts('2026-03-01T00:00:00Z')).toEqual(['no: voided', 'no']);
});

test('does not show an unproved file as proved', async () => {
  const { stdout } = await runCommand(['explain', '1Z0'], { env });
  expect(stdout).toMatch(/ bytes, unproved: neither its hash nor its count and sum were announced$/m);
});

test('explains what would make a second version', async () => {
  const { exitCode, stdout, stderr } = await runCommand(['invoices', 'show', INVOICE, '--diff'], { env });
  expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: '' });
  expect(stderr).toContain(`invoice ${INVOICE} has only one version, so there is nothing to compare`);
  expect(stderr).toContain('→ another file of it makes another version');
});
