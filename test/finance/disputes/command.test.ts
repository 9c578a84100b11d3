import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openFolderArchive } from '../../../archive/folder-archive.ts';
import { anArchivedEvent } from '../../archive/an-event.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { anInvoice, aShipment, reportsFixture } from '../../support/reports-fixture.ts';
import { cellsOf, unzipped } from '../../support/tools/read-workbook.ts';

const twice = (tracking: string, carrier: string) =>
  Array.from({ length: 2 }, () => aShipment({ tracking, carrier, cost: '12.5' }));
const fixture = await reportsFixture([
  anInvoice([...twice('A', 'ups'), ...twice('B', 'ups'), ...twice('=C', 'fedex')]),
]);
afterAll(() => fixture.remove());

const disputes = (...args: string[]) => runCommand(['disputes', ...args, '--data-dir', fixture.folder]);
const json = async (...args: string[]) => JSON.parse((await disputes(...args, '--json')).stdout);

describe('billsync disputes', { shuffle: false }, () => {
  test('finds, opens, sends and follows claims with an audit entry each', async () => {
    expect(await disputes('list')).toMatchObject({
      exitCode: 0,
      stdout: '',
      stderr: 'No claim matches.\n',
    });
    expect(await json('find', 'duplicates', '--carrier', 'UPS')).toMatchObject([
      { tracking_number: 'A', billed: '12.5000', expected: '0.0000', claimed: '12.5000', hindrance: null },
      { tracking_number: 'B' },
    ]);
    const dry = await disputes('open', 'duplicates', '--all', '--dry-run');
    expect(dry).toMatchObject({ exitCode: 0, stderr: 'Nothing was opened.\n' });
    expect(await json('list')).toEqual([]);
    expect(await json('open', 'duplicates', '--tracking', 'A', '--note', 'ours')).toEqual([{ id: 'D-1' }]);
    const rest = await disputes('open', 'duplicates', '--all');
    expect(rest).toMatchObject({ exitCode: 0, stdout: 'D-2\nD-3\n' });
    expect(rest.stderr).toContain('Opened 2 claims; 1 line could not be claimed.');
    const again = await disputes('open', 'duplicates', '--all');
    expect(again).toMatchObject({ exitCode: 3, stdout: expect.stringContaining('claimed already, as D-1') });
    const sent = await disputes('state', 'sent', 'D-1', 'd-3', '--note', 'by mail');
    expect(sent).toMatchObject({ exitCode: 0, stderr: 'D-1 is sent, version 2; D-3 is sent, version 2.\n' });
    expect((await disputes('note', 'D-1', '--note', 'case 4711')).exitCode).toBe(0);
    const claim = await disputes('show', 'D-1');
    expect(claim.stdout).toMatch(/^D-1 is sent, version 3: A by ups\n/);
    expect(claim.stdout).toMatch(
      / {2}1 {2}.* open: ours\n {2}2 {2}.* sent: by mail\n {2}3 {2}.* note: case 4711/,
    );
    expect(await json('show', 'D-1')).toMatchObject({
      state: 'sent',
      claimed: '12.5000',
      recovered: '0.0000',
    });
    const listed = await disputes('list', '--carrier', 'UPS');
    expect(listed.stderr).toContain(
      'total 25.0000 USD claimed, 0.0000 recovered: 2 claims, partner partner-1',
    );
    const audit = await runCommand(['audit', 'list', '--json', '--data-dir', fixture.folder]);
    expect(JSON.parse(audit.stdout)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          action: 'disputes open',
          outcome: 'done',
          detail: 'Opened D-1.',
          reason: 'ours',
        }),
        expect.objectContaining({ action: 'disputes state', target: ['sent', 'D-1', 'd-3'] }),
      ]),
    );
  });

  test('writes the workbook that a carrier takes, of one carrier, and the CSV that adjustments reads', async () => {
    const path = join(fixture.folder, 'claims.xlsx');
    expect(await disputes('export', '--state', 'sent', '--output', path)).toMatchObject({
      exitCode: 0,
      stderr: `Wrote ${path}: 2 claims.\n`,
    });
    const [header, first] = cellsOf(await readFile(path));
    // As wide as the paper, whatever its size.
    const sheet = unzipped(await readFile(path), 'xl/worksheets/sheet1.xml');
    expect(sheet).toMatch(/<worksheet[^>]*><sheetPr><pageSetUpPr fitToPage="1"\/><\/sheetPr>/);
    expect(sheet).toMatch(/<pageSetup [^>]*orientation="landscape" fitToWidth="1" fitToHeight="0"/);
    expect(header).toEqual([
      ...['Our reference', 'Carrier', 'Tracking number', 'Invoice number', 'Ship date', 'Billed', 'Expected'],
      ...['Claimed', 'Currency', 'Reason'],
    ]);
    // 46083 days from the last but one of 1899 to 2 March 2026.
    expect(first).toEqual([
      ...['D-1', 'ups', 'A', expect.stringMatching(/^INV-/), '46083', '12.5', '0', '12.5', 'USD'],
      'Charged more than once',
    ]);
    const both = await disputes('export', 'D-1', 'D-2', '--output', path);
    expect(both).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('several carriers: fedex, ups'),
    });
    const csv = join(fixture.folder, 'claims.csv');
    const open = await disputes('export', '--carrier', 'fedex', '--output', csv);
    expect(open.stderr).toContain('When it is sent: billsync disputes state sent D-2');
    expect(await readFile(csv, 'utf8')).toContain("D-2,fedex,'=C,INV-");
    await disputes('export', '--state', 'sent', '--output', csv);
    const report = ['report', 'adjustments', '--disputes', csv, '--json', '--data-dir', fixture.folder];
    const rows = JSON.parse((await runCommand(report)).stdout);
    expect(rows.find((row: { tracking_number: string }) => row.tracking_number === 'A')).toMatchObject({
      disputed: '12.5000',
    });
    expect(await disputes('export', '--state', 'credited', '--output', csv)).toMatchObject({ exitCode: 2 });
  });

  test.each([
    [['show', 'D-99'], 3, 'there is no claim D-99'],
    [['state', 'lost', 'D-1'], 2, 'there is no state lost'],
    [['state', 'open', 'D-1'], 2, 'Claim D-1 is sent, so it cannot become open'],
    [['state', 'rejected', 'D-1', '--version', '1'], 1, 'Claim D-1 has changed'],
    [['state', 'rejected', 'D-1', 'D-3', '--version', '1'], 2, '--version needs a single claim'],
    [['note', 'D-1'], 2, 'The note is empty'],
    [['find', 'cost'], 2, 'there is no finding cost'],
    [['find', 'shipments'], 2, 'Name the tracking numbers'],
    [['open', 'duplicates'], 2, 'name tracking numbers with --tracking, or add --all'],
    [['find', 'duplicates', '--carrier', 'upps'], 2, 'upps'],
    [['find', 'duplicates', '--param', 'nosuch=1'], 2, 'no parameter "nosuch"'],
  ])('%j ends with %i: %s', async (args, exitCode, message) => {
    expect(await disputes(...args)).toMatchObject({ exitCode, stderr: expect.stringContaining(message) });
  });

  test('ends with 1 when a claim is overdue, and names the line of an invalid window', async () => {
    const windows = join(fixture.folder, 'user', 'claim-windows.yaml');
    await writeFile(windows, 'windows: [{ carrier: fedex, days: 1 }]');
    expect(await disputes('list')).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('it is overdue'),
    });
    await writeFile(windows, 'windows:\n  - { carrier: fedex, days: x }');
    expect(await disputes('list')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('line 2: days'),
    });
    await writeFile(windows, 'windows: []');
  });

  test('leaves claims as they are through a rebuild, and shows them before anything is published again', async () => {
    const folder = join(fixture.folder, 'restored');
    await mkdir(join(folder, 'user', 'disputes'), { recursive: true });
    const journal = await readFile(join(fixture.folder, 'user/disputes/journal.ndjson'));
    await writeFile(join(folder, 'user/disputes/journal.ndjson'), journal);
    const list = ['disputes', 'list', '--json', '--data-dir', folder];
    expect(JSON.parse((await runCommand(list)).stdout)).toMatchObject([
      { id: 'D-3', concerns: ['Its invoice is not published now.'] },
      { id: 'D-2' },
      { id: 'D-1', state: 'sent' },
    ]);
    const archive = await openFolderArchive(join(folder, 'archive'));
    await archive.putEvent(anArchivedEvent());
    await archive.close();
    const rebuilt = await runCommand(['rebuild', '--data-dir', folder]);
    expect(rebuilt).toMatchObject({ exitCode: 0 });
    expect(JSON.parse((await runCommand(list)).stdout)).toHaveLength(3);
    expect(await readFile(join(folder, 'user/disputes/journal.ndjson'))).toEqual(journal);
  });
});
