/** The audit log takes entries from several processes at once, in one chain, and whatever was done to it afterwards is found. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { auditEntriesIn, verifyAudit } from '../../ops/audit-chain.ts';
import { type AuditNote, audited, openAuditLog } from '../../ops/audit-log.ts';
import { attack } from '../support/hostile/attack.ts';

const root = mkdtempSync(join(tmpdir(), 'billsync-audit-'));
afterAll(() => rmSync(root, { recursive: true }));

let folders = 0;
function aFolder(): string {
  folders += 1;
  return join(root, `audit-${folders}`);
}

const NOTE: AuditNote = {
  ...{ by: 'ann', via: 'command', action: 'invoices restore', target: ['INV-1'], reason: 'it stands' },
  ...{ outcome: 'begun', detail: '', began: null },
};

async function aChain(folder: string, length = 5): Promise<readonly string[]> {
  const log = openAuditLog(folder);
  for (let nth = 0; nth < length; nth += 1) await log.write({ ...NOTE, target: [`INV-${nth}`] });
  return readdirSync(folder).sort();
}

describe('the audit log', () => {
  test('numbers entries in one chain, however many write at once', async () => {
    const folder = aFolder();
    const logs = [openAuditLog(folder), openAuditLog(folder), openAuditLog(folder)];
    const written = await Promise.all(
      Array.from({ length: 30 }, (_, nth) => logs[nth % 3]?.write({ ...NOTE, target: [`INV-${nth}`] })),
    );
    expect(written.map((entry) => entry?.number).sort((a = 0, b = 0) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, at) => at + 1),
    );
    expect(await verifyAudit(auditEntriesIn(folder))).toMatchObject({ entries: 30, problems: [] });
    expect(statSync(join(folder, '000000001.json')).mode & 0o777).toBe(0o600);
    expect((await openAuditLog(folder).newest(2)).map(({ number }) => number)).toEqual([30, 29]);
  });

  test('notes an act before and after it, with what came of it', async () => {
    const log = openAuditLog(aFolder());
    const act = { by: 'ann', via: 'dashboard', action: 'snapshot', target: [], reason: null } as const;
    await audited(log, act, async () => ({ result: 1, detail: 'publication 7' }));
    await expect(audited(log, act, () => Promise.reject(new Error('Temporal is away')))).rejects.toThrow(
      'Temporal is away',
    );
    expect((await log.newest(9)).map(({ outcome, detail, began }) => [outcome, detail, began])).toEqual([
      ['failed', 'Temporal is away', 3],
      ['begun', '', null],
      ['done', 'publication 7', 1],
      ['begun', '', null],
    ]);
  });

  test('keeps no secret and no endless text', async () => {
    const log = openAuditLog(aFolder(), { scrub: (text) => text.replaceAll('secret', '***') });
    const note = {
      ...NOTE,
      target: ['a secret'],
      reason: 'my secret',
      detail: `secret ${'x'.repeat(9_000)}`,
    };
    const { target, reason, detail } = await log.write(note);
    expect([target, reason, detail.slice(0, 5), detail.length]).toEqual([
      ['a ***'],
      'my ***',
      '*** x',
      2_000,
    ]);
  });

  test('shows every change that was made to it afterwards', async () => {
    const names = await aChain(aFolder());
    const path = (folder: string, at: number): string => join(folder, names[at] ?? '');
    const changes: readonly ((folder: string) => void)[] = [
      (folder) => writeFileSync(path(folder, 2), readFileSync(path(folder, 2), 'utf8').replace('ann', 'bob')),
      (folder) =>
        writeFileSync(path(folder, 0), readFileSync(path(folder, 0), 'utf8').replace('INV-0', 'INV-9')),
      (folder) => rmSync(path(folder, 1)),
      (folder) => rmSync(path(folder, 0)),
      (folder) => writeFileSync(path(folder, 3), ''),
      (folder) => writeFileSync(path(folder, 3), '{}'),
      (folder) => writeFileSync(path(folder, 2), readFileSync(path(folder, 1))),
      (folder) => {
        const two = readFileSync(path(folder, 1));
        writeFileSync(path(folder, 1), readFileSync(path(folder, 2)));
        writeFileSync(path(folder, 2), two);
      },
      (folder) => writeFileSync(path(folder, 1), `${readFileSync(path(folder, 1), 'utf8')} `),
    ];
    let held = 0;
    for (const change of changes) {
      const folder = aFolder();
      await aChain(folder);
      change(folder);
      if ((await verifyAudit(auditEntriesIn(folder))).problems.length > 0) held += 1;
    }
    attack('audit log: changed afterwards', { tries: changes.length, held });
  });

  test('shows an end that was cut off to who kept a hash, and to nobody else', async () => {
    const folder = aFolder();
    await aChain(folder, 5);
    const { head } = await verifyAudit(auditEntriesIn(folder));
    expect(await verifyAudit(auditEntriesIn(folder), head)).toMatchObject({ problems: [] });
    rmSync(join(folder, '000000005.json'));
    expect((await verifyAudit(auditEntriesIn(folder))).problems).toEqual([]);
    expect((await verifyAudit(auditEntriesIn(folder), head)).problems).toEqual([
      expect.stringContaining('cut off'),
    ]);
  });

  test('goes on behind an entry that was damaged, and names it ever after', async () => {
    for (const bytes of ['x', '', '\u0000'.repeat(100), '{"number":"\\ud800"}', '['.repeat(5_000)]) {
      const folder = aFolder();
      const names = await aChain(folder, 2);
      writeFileSync(join(folder, names[1] ?? ''), bytes);
      const log = openAuditLog(folder);
      expect((await log.write(NOTE)).number).toBe(3);
      expect((await log.newest(9)).map(({ number }) => number)).toEqual([3, 1]);
      expect((await verifyAudit(auditEntriesIn(folder))).problems).toEqual([
        'Entry 2 is none: it was changed.',
      ]);
    }
  });
});
