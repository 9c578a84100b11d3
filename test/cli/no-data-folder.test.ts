/** A command that only looks, or checks, makes no data folder where there is none, and takes an empty one for no proof. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv } from '../warehouse/support.ts';

const folder = mkdtempSync(join(tmpdir(), 'billsync-no-folder-'));
const dataDir = join(folder, 'misspelt');
const env = { BILLSYNC_DATA_DIR: dataDir };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('ends with 3 without a data folder and creates none', async () => {
  const csv = join(folder, 'invoice.csv');
  writeFileSync(csv, aCsv());
  const [snapshot, verify, rehearsed] = await Promise.all([
    runCommand(['snapshot'], { env }),
    runCommand(['verify'], { env }),
    runCommand(['import', csv, '--dry-run', '--json'], { env }),
  ]);
  for (const { exitCode, stderr } of [snapshot, verify]) {
    expect(stderr).toContain(`there is no data folder ${dataDir}`);
    expect(exitCode).toBe(3);
  }
  expect(rehearsed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('checked') });
  expect(existsSync(dataDir)).toBe(false);
});

test.each([
  { name: 'empty', holds: [] },
  { name: 'one-level-too-high', holds: ['billsync'] },
])(
  'verify and rebuild end with 3 in a folder that is $name, and make nothing in it',
  async ({ name, holds }) => {
    const restored = join(folder, name);
    for (const held of holds) mkdirSync(join(restored, held, 'archive', 'events'), { recursive: true });
    mkdirSync(restored, { recursive: true });
    for (const words of [['verify'], ['rebuild'], ['rebuild', '--dry-run'], ['snapshot']]) {
      const { exitCode, stdout, stderr } = await runCommand(words, { env: { BILLSYNC_DATA_DIR: restored } });
      expect({ words, exitCode, stdout }).toEqual({ words, exitCode: 3, stdout: '' });
      expect(stderr).toContain('there is neither an archive nor a warehouse');
      expect(stderr).toContain(`BILLSYNC_DATA_DIR, now ${restored}`);
    }
    // That somebody asked for a rebuild is written down all the same.
    expect(readdirSync(restored).filter((made) => made !== 'user')).toEqual(holds);
  },
);

test('ends with 3 for an empty archive', async () => {
  const restored = join(folder, 'emptied');
  const archive = join(restored, 'archive');
  for (const part of ['events', 'files', 'facts']) mkdirSync(join(archive, part), { recursive: true });
  const run = (...words: string[]) => runCommand(words, { env: { BILLSYNC_DATA_DIR: restored } });
  for (const words of [['rebuild'], ['verify', '--json'], ['rebuild', '--dry-run']]) {
    const { exitCode, stdout, stderr } = await run(...words);
    expect({ words, exitCode }).toEqual({ words, exitCode: 3 });
    expect(stdout + stderr).not.toContain('no drift');
    expect(stderr).toContain(`the archive is empty: no event, no file\n  ${archive}`);
  }
  const csv = join(folder, 'first.csv');
  writeFileSync(csv, aCsv());
  expect(await run('import', csv)).toMatchObject({ exitCode: 0 });
  expect(await run('verify')).toMatchObject({ exitCode: 0 });
});
