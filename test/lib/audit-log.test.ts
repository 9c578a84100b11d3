import { execFile } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type AuditNote, audited, openAuditLog } from '../../lib/audit-log.ts';
import { attack } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';

const root = testFolder();

let folders = 0;
function aFolder(): string {
  folders += 1;
  return join(root, `audit-${folders}`);
}

const NOTE: AuditNote = {
  ...{ by: 'ann', via: 'command', action: 'invoices restore', target: ['INV-1'], reason: 'it is right' },
  ...{ outcome: 'begun', detail: '', began: null },
};

const fileOf = (folder: string): string => join(folder, 'user', 'audit', 'log.ndjson');

async function aChain(folder: string, length = 5): Promise<void> {
  const log = openAuditLog(folder);
  for (let nth = 0; nth < length; nth += 1) await log.write({ ...NOTE, target: [`INV-${nth}`] });
}

async function writeElsewhere(folder: string, count: number): Promise<void> {
  const module = new URL('../../lib/audit-log.ts', import.meta.url).href;
  const program = `
    const { openAuditLog } = await import(${JSON.stringify(module)});
    const log = openAuditLog(${JSON.stringify(folder)});
    for (let nth = 0; nth < ${count}; nth += 1) await log.write(${JSON.stringify(NOTE)});`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
}

describe('the audit log', () => {
  test('numbers entries of concurrent processes in one chain', async () => {
    const folder = aFolder();
    const logs = [openAuditLog(folder), openAuditLog(folder)];
    const here = Array.from({ length: 20 }, (_, nth) => logs[nth % 2]?.write(NOTE));
    await Promise.all([writeElsewhere(folder, 10), writeElsewhere(folder, 10), ...here]);
    const log = openAuditLog(folder);
    expect(await log.verify()).toMatchObject({ entries: 40, problems: [] });
    expect((await log.newest(2)).map(({ number }) => number)).toEqual([40, 39]);
    expect(statSync(fileOf(folder)).mode & 0o777).toBe(0o600);
  });

  test('records an action before and after it with its result', async () => {
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

  test('keeps no secret and no unlimited text', async () => {
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

  test('detects every change, removal and insertion', async () => {
    const edited =
      (edit: (lines: readonly string[]) => readonly string[]) =>
      (text: string): string =>
        `${edit(text.trimEnd().split('\n')).join('\n')}\n`;
    const changes: readonly ((text: string) => string)[] = [
      (text) => text.replace('ann', 'bob'),
      (text) => text.replace('INV-3', 'INV-9'),
      (text) => text.replace('}\n', '} \n'),
      edited((lines) => lines.toSpliced(1, 1)),
      edited((lines) => lines.toSpliced(0, 1)),
      edited((lines) => lines.with(3, '')),
      edited((lines) => lines.with(3, '{}')),
      edited((lines) => lines.with(2, lines[1] ?? '')),
      edited((lines) => lines.with(1, lines[2] ?? '').with(2, lines[1] ?? '')),
      edited((lines) => lines.toSpliced(2, 0, lines[1] ?? '')),
      edited((lines) => lines.toSpliced(2, 0, '{"number":3,')),
      // Cut off between whole entries and at the end.
      edited((lines) => lines.with(2, lines[2]?.slice(0, 40) ?? '')),
      edited((lines) => lines.with(4, lines[4]?.slice(0, 40) ?? '')),
    ];
    let held = 0;
    for (const change of changes) {
      const folder = aFolder();
      await aChain(folder);
      writeFileSync(fileOf(folder), change(readFileSync(fileOf(folder), 'utf8')));
      if ((await openAuditLog(folder).verify()).problems.length > 0) held += 1;
    }
    attack('audit log: changed afterwards', { tries: changes.length, held });
  });

  test('detects a truncated end with a kept hash only', async () => {
    const folder = aFolder();
    await aChain(folder, 5);
    const log = openAuditLog(folder);
    const { head } = await log.verify();
    expect(await log.verify(head?.toUpperCase())).toMatchObject({ problems: [] });
    await log.write(NOTE);
    expect(await log.verify(head)).toMatchObject({ problems: [] });
    const text = readFileSync(fileOf(folder), 'utf8').split('\n');
    writeFileSync(fileOf(folder), `${text.slice(0, 4).join('\n')}\n`);
    expect((await log.verify()).problems).toEqual([]);
    expect((await log.verify(head)).problems).toEqual([expect.stringContaining('cut off')]);
  });

  test('replaces an entry that a power cut left without its end', async () => {
    const folder = aFolder();
    await aChain(folder, 2);
    const log = openAuditLog(folder);
    appendFileSync(fileOf(folder), '{"number":3,"at":"20');
    expect(await log.verify()).toMatchObject({ entries: 2, problems: [] });
    expect((await log.write(NOTE)).number).toBe(3);
    expect(await log.verify()).toMatchObject({ entries: 3, problems: [] });
  });

  test('writes nothing when the log is unreadable', async () => {
    const folder = aFolder();
    await aChain(folder, 1);
    rmSync(fileOf(folder));
    mkdirSync(fileOf(folder));
    let hasStarted = false;
    const act = audited(openAuditLog(folder), NOTE, async () => {
      hasStarted = true;
      return { result: 1, detail: '' };
    });
    await expect(act).rejects.toMatchObject({ code: 'EISDIR', path: fileOf(folder) });
    expect(hasStarted).toBe(false);
  });
});
