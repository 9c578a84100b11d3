import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { CSV_HEADERS } from '../../lib/wire/csv-file.ts';
import { testFolder } from '../support/folders.ts';
import { billsync } from '../support/processes/billsync.ts';

const folder = testFolder();
const env = { BILLSYNC_DATA_DIR: join(folder, 'data') };
const form = join(folder, 'data', 'form');

beforeAll(async () => {
  const id = '7f3a0000-1111-4222-8333-444455556666';
  const cells = ['Acme', '2026-02-28', id, '2026-02-03', '00501', 'USD', '10.5', '2.5', 'LB'];
  const row = [...cells, '1Z999', 'UPS', '5', '2026-02-10', 'Ground'].join(',');
  writeFileSync(join(folder, 'one.csv'), `${CSV_HEADERS.join(',')}\r\n${row}\r\n`);
  expect((await billsync(['import', join(folder, 'one.csv')], { env })).exitCode).toBe(0);
});

test('refuses a folder of a newer version, with the way back', async () => {
  const before = readFileSync(form, 'utf8');
  writeFileSync(form, '2\n');
  for (const args of [['report', 'tenants'], ['verify'], ['webhook']]) {
    const { exitCode, stderr } = await billsync(args, { env });
    expect([exitCode, args[0]]).toEqual([2, args[0]]);
    expect(stderr).toMatch(
      /has format 2, this billsync knows up to 1\. Use the newer billsync, or restore the backup/,
    );
  }
  writeFileSync(form, before);
});

describe('a backup', () => {
  test('is restored by the documented commands with equal reports', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/install-backup.md'), 'utf8');
    const [, block = ''] = /<!-- tested -->\s+```sh\n([\s\S]*?)```/.exec(page) ?? [];
    const lines = block.trim().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    const restored = join(folder, 'restored');
    mkdirSync(restored, { mode: 0o700 });
    for (const name of ['archive', 'inbox', 'keys', 'user'].filter((each) =>
      existsSync(join(folder, 'data', each)),
    ))
      cpSync(join(folder, 'data', name), join(restored, name), { recursive: true });
    const answers = [];
    for (const line of lines) {
      const answer = await billsync(line.split(' ').slice(1), { env: { BILLSYNC_DATA_DIR: restored } });
      expect([line, answer.exitCode]).toEqual([line, 0]);
      answers.push(answer.stdout);
    }
    const { stdout } = await billsync(lines.at(-1)?.split(' ').slice(1) ?? [], { env });
    expect(answers.at(-1)).toBe(stdout);
    expect(stdout).toContain('10.5000');
  });

  test('is verified: damaged and missing files are named', async () => {
    const copy = join(folder, 'copy');
    cpSync(join(folder, 'data', 'archive'), copy, { recursive: true });
    const verify = (path: string) => billsync(['verify', '--archive', path, '--json']);
    const whole = await verify(copy);
    expect([whole.exitCode, JSON.parse(whole.stdout)]).toMatchObject([0, { files: 1, drift: [] }]);
    const [csv = ''] = readdirSync(join(copy, 'files'), { recursive: true, encoding: 'utf8' }).filter(
      (name) => /[0-9a-f]{64}(\.csv)?$/.test(name),
    );
    appendFileSync(join(copy, 'files', csv), 'x');
    const damaged = await verify(copy);
    expect([damaged.exitCode, JSON.parse(damaged.stdout)]).toMatchObject([1, { drift: [{ rule: 'hash' }] }]);
    rmSync(join(copy, 'files'), { recursive: true });
    const gone = await verify(copy);
    expect([gone.exitCode, JSON.parse(gone.stdout)]).toMatchObject([
      1,
      { drift: [{ rule: 'file-missing' }] },
    ]);
    expect((await verify(join(folder, 'misspelt'))).exitCode).toBe(3);
    expect(existsSync(join(folder, 'misspelt'))).toBe(false);
  });
});
