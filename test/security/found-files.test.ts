import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attackEach } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { runCommand } from '../support/processes/run-command.ts';

const root = testFolder();
const isRoot = process.getuid?.() === 0;
const STRANGER = 4711;

let made = 0;
/** `outer/inner/billsync.yaml`, readable by its user only. */
function aPlace() {
  made += 1;
  const outer = join(root, `place-${made}`);
  const cwd = join(outer, 'inner');
  mkdirSync(cwd, { recursive: true, mode: 0o700 });
  const file = join(cwd, 'billsync.yaml');
  writeFileSync(file, 'base_url: https://found.example\n', { mode: 0o600 });
  return { outer, cwd, file };
}
type Place = ReturnType<typeof aPlace>;

const config = (cwd: string, ...args: readonly string[]) =>
  runCommand(['config', 'show', '--data-dir', join(root, 'data'), ...args], { cwd });

describe('a settings file that is found by its name', () => {
  type Planted = readonly [name: string, reason: string, plant: (place: Place) => void];
  const byStrangers: readonly Planted[] = [
    ['a file of a stranger', 'belongs to user 4711', ({ file }) => chownSync(file, STRANGER, STRANGER)],
    [
      'a file of a stranger in /tmp',
      'belongs to user 4711',
      ({ cwd, file }) => {
        chmodSync(cwd, 0o1777);
        chownSync(file, STRANGER, STRANGER);
      },
    ],
    ['a folder of a stranger', 'belongs to user 4711', ({ cwd }) => chownSync(cwd, STRANGER, 0)],
    [
      'a link of a stranger',
      'belongs to user 4711',
      ({ cwd }) => {
        symlinkSync('/etc/hostname', join(cwd, 'billsync.yaml.new'));
        lchownSync(join(cwd, 'billsync.yaml.new'), STRANGER, 0);
      },
    ],
  ];
  const planted: readonly Planted[] = [
    ['a file of a group', 'its group may write to', ({ file }) => chmodSync(file, 0o660)],
    ['a file of everybody', 'every user of this machine may write to', ({ file }) => chmodSync(file, 0o602)],
    ['a folder of a group', 'its group may write to', ({ cwd }) => chmodSync(cwd, 0o770)],
    ['a folder of everybody', 'every user of this machine may write to', ({ cwd }) => chmodSync(cwd, 0o707)],
    ['a folder above of everybody', 'every user of this machine', ({ outer }) => chmodSync(outer, 0o777)],
    [
      'a link into a folder of everybody',
      'every user of this machine',
      ({ cwd, outer }) => {
        const shared = join(outer, 'shared');
        mkdirSync(shared);
        writeFileSync(join(shared, 'real.yaml'), '', { mode: 0o600 });
        chmodSync(shared, 0o777);
        symlinkSync('../shared/real.yaml', join(cwd, 'link'));
        symlinkSync('link', join(cwd, 'billsync.yaml.new'));
      },
    ],
    ...(isRoot ? byStrangers : []),
  ];

  test('is refused with the one who may change it, unless it is named', async () => {
    await attackEach('a planted settings file', planted, async ([, reason, plant]) => {
      const place = aPlace();
      plant(place);
      if (existsSync(`${place.file}.new`)) renameSync(`${place.file}.new`, place.file);
      const found = await config(place.cwd);
      const named = await config(place.cwd, '--config', place.file);
      const isRefused =
        found.exitCode === 2 && found.stderr.includes(reason) && !found.stdout.includes('found.example');
      return isRefused && (named.exitCode === 0 || named.stderr.includes('must be a mapping'));
    });
  });

  test('is read in a folder like /tmp when it is ours, and named in the first line', async () => {
    const { cwd, file } = aPlace();
    chmodSync(dirname(cwd), 0o1777);
    const { stdout, exitCode } = await config(cwd);
    expect([exitCode, stdout.split('\n', 1)[0]]).toEqual([0, `Settings file: ${file}`]);
    const { stdout: doctor } = await runCommand(['doctor', '--data-dir', join(root, 'data')], { cwd });
    expect(doctor.split('\n', 1)[0]).toMatch(new RegExp(`settings file +${RegExp.escape(file)}$`));
  });
});

test('a .env file decides nothing', async () => {
  const { cwd, file } = aPlace();
  chmodSync(file, 0o600);
  writeFileSync(join(cwd, '.env'), 'BILLSYNC_BASE_URL=https://env.example\nNODE_OPTIONS=--inspect\n');
  expect((await config(cwd, '--json')).stdout).not.toContain('env.example');
});

test.runIf(isRoot)('a data folder, rules and views of another user are not used', async () => {
  const { cwd } = aPlace();
  mkdirSync(join(cwd, 'data', 'user'), { recursive: true, mode: 0o700 });
  const rules = join(cwd, 'data', 'user', 'cost-rules.yaml');
  writeFileSync(rules, 'rules: []\n', { mode: 0o600 });
  chownSync(rules, STRANGER, STRANGER);
  const shown = await runCommand(['user-files', 'show', 'cost-rules.yaml'], { cwd });
  expect([shown.exitCode, shown.stderr]).toEqual([2, expect.stringContaining('belongs to user 4711')]);
  chownSync(join(cwd, 'data'), STRANGER, STRANGER);
  const read = await runCommand(['report', 'tenants'], { cwd });
  expect([read.exitCode, read.stderr]).toEqual([2, expect.stringContaining('belongs to user 4711')]);
});

test('rules with nested aliases are refused with their file', async () => {
  const { cwd } = aPlace();
  const levels = Array.from({ length: 12 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}]`);
  const rules = join(cwd, 'rules.yaml');
  writeFileSync(rules, `a0: &a0 [x]\n${levels.join('\n')}\nrules: *a12\n`);
  const checked = await runCommand(['user-files', 'put', 'cost-rules.yaml', rules], { cwd });
  expect([checked.exitCode, checked.stderr]).toEqual([2, expect.stringContaining('alias')]);
});
