/** Files and folders that the operating system refuses: the message names the file, the reason and the remedy. */

import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testFolder } from '../support/folders.ts';
import { BILLSYNC, cleanEnvironment } from '../support/processes/billsync.ts';
import type { CommandResult, CommandRun } from '../support/processes/command-runner.ts';
import { testProgram } from '../support/processes/test-program.ts';
import { anInvoice, aShipment, type ReportsFixture, reportsFixture } from '../support/reports-fixture.ts';

const folder = testFolder();
const root = join(folder, 'places');
let fixture: ReportsFixture;

type Places = Partial<Record<Refusal, string>>;

const READ: Places = {
  missing: 'none',
  folder: 'folder',
  locked: 'locked',
  below: 'file/x',
  circle: 'circle',
};
/** Places where a folder cannot be created, and where a file cannot be written. */
const UNMADE: Places = {
  ...{ locked: 'sealed/x', below: 'file/x', circle: 'circle/x', full: 'full/x', readonly: 'readonly/x' },
};
const WRITTEN: Places = { missing: 'none/x', folder: 'folder', ...UNMADE };
const UNREAD: Places = { locked: 'sealed', below: 'file', circle: 'circle' };
const FOLDERS: Places = { ...UNREAD, full: 'full/data', readonly: 'readonly/data' };

interface Walk {
  readonly places: Places;
  readonly play: (path: string) => Pick<CommandRun, 'args'> & Partial<Pick<CommandRun, 'env'>>;
  readonly named?: string;
  readonly inside?: RegExp;
  readonly isFinding?: boolean;
  readonly messages?: Partial<Record<Refusal, RegExp>>;
}

const good = join(folder, 'good.csv');

const reading = (args: (path: string) => readonly string[], more: Partial<Walk> = {}): Walk => ({
  places: READ,
  play: (path) => ({ args: args(path) }),
  ...more,
});
const setting = (name: string, args: readonly string[], env = {}, more: Partial<Walk> = {}): Walk => ({
  places: READ,
  play: (path) => ({ args, env: { ...env, [name]: path } }),
  named: name,
  ...more,
});
const writing = (args: (path: string) => readonly string[], more: Partial<Walk> = {}): Walk => ({
  places: WRITTEN,
  play: (path) => ({ args: args(path) }),
  ...more,
});

const READING = ['invoices list', 'events list', 'quarantine list'].map((line) => line.split(' '));
const WRITING = [...['verify', 'snapshot', 'rebuild', 'temporal', 'webhook --port 0']].map((line) =>
  line.split(' '),
);
const nameOf = (args: readonly string[]): string => args.slice(0, 2).join(' ').replace(good, 'FILE');
const dataFolder = (args: readonly string[], places: Walk['places']): Walk => ({
  places,
  play: (path) => ({ args, env: { BILLSYNC_DATA_DIR: path, BILLSYNC_ADMIN_PORT: '0' } }),
});
const { missing: _missing, full: _full, ...ALERTED } = WRITTEN;

const WALKS: Readonly<Record<string, Walk>> = {
  'the settings file of --config': reading((path) => ['config', 'show', '--config', path]),
  'a secret in a file': setting('BILLSYNC_CLIENT_SECRET_FILE', ['config', 'show']),
  'a key of encryption in a file': setting('BILLSYNC_ENCRYPTION_KEY_FILE', ['schedule', 'show']),
  'the key of the endpoint': setting('BILLSYNC_WEBHOOK_TLS_KEY', ['webhook', '--port', '0'], {
    BILLSYNC_WEBHOOK_TLS_CERT: good,
  }),
  'a file to import': reading((path) => ['import', path], { messages: { folder: /is a folder/ } }),
  'a file of ids': reading((path) => ['backfill', '--ids', path]),
  'the rates of a report': reading((path) => ['report', 'rate-variance', '--rates', path], {
    named: 'rates',
  }),
  'a report written as parquet': writing((path) => [
    ...['report', 'tenants', '--format', 'parquet', '--output', path],
  ]),
  'an export': writing((path) => ['export', '--output', path], {
    places: UNMADE,
    messages: { below: /it is no folder/ },
  }),
  'new settings': writing((path) => ['init', '--config', path, '--yes']),
  ...Object.fromEntries(
    READING.map((args) => [`the data folder of ${nameOf(args)}`, dataFolder(args, UNREAD)]),
  ),
  ...Object.fromEntries(
    [...WRITING, ['import', good]].map((args) => [
      `the data folder of ${nameOf(args)}`,
      dataFolder(args, FOLDERS),
    ]),
  ),
  'the published file': {
    places: { locked: 'locked', circle: 'circle', folder: 'folder' },
    play: (path) => ({
      args: ['report', 'tenants'],
      env: { BILLSYNC_DATA_DIR: join(folder, `published-${basename(path)}`) },
    }),
    inside: /published-\w+\/reports\.duckdb/,
  },
  // Beside an existing warehouse, a missing archive is not created.
  'the archive': setting(
    'BILLSYNC_ARCHIVE',
    ['import', good],
    { BILLSYNC_DATA_DIR: folder },
    {
      named: '',
      places: { ...UNREAD, readonly: 'readonly/x' },
      messages: { below: /a folder is needed where something else is/ },
    },
  ),
  'the file for alerts': setting('BILLSYNC_ALERT_FILE', ['doctor'], {}, { places: ALERTED, isFinding: true }),
};

/** With so few open files, any step of the command may be refused. */
const CROWDED: readonly Step[] = [0, 1].flatMap((openFiles) =>
  [
    ['report', 'rate-variance', '--rates', good],
    ['backfill', '--ids', good],
    ['import', good],
    ['verify'],
  ].map((args) => ({
    ...{ what: `${nameOf(args)} with ${openFiles} more files`, place: 'crowded', path: '', args, env: {} },
    ...{ openFiles, walk: { places: {}, play: () => ({ args }) } },
  })),
);

interface Step extends CommandRun {
  readonly what: string;
  readonly place: Refusal;
  readonly path: string;
  readonly walk: Walk;
}
const STEPS: readonly Step[] = [
  ...Object.entries(WALKS).flatMap(([what, walk]) =>
    Object.entries(walk.places).flatMap(([place, name]) => {
      if (name === undefined) return [];
      // A separate path for each step, where something could be created.
      const path = join(root, name.replace(/x$/, `x-${Object.keys(WALKS).indexOf(what)}`));
      const { args, env = {} } = walk.play(path);
      return [{ what, place: place as Refusal, path, walk, args, env }];
    }),
  ),
  // Last: a module that could not be read stays unread.
  ...CROWDED,
];

let played: readonly CommandResult[];
beforeAll(async () => {
  writeFileSync(good, 'x\r\n');
  fixture = await reportsFixture([anInvoice([aShipment()])]);
  for (const place of ['locked', 'circle', 'folder']) mkdirSync(join(folder, `published-${place}`));
  const published = (place: string) => join(folder, `published-${place}`, 'reports.duckdb');
  copyFileSync(join(fixture.folder, 'reports.duckdb'), published('locked'));
  chmodSync(published('locked'), 0o000);
  symlinkSync('reports.duckdb', published('circle'));
  mkdirSync(published('folder'));
  played = await playAmongRefusals(
    root,
    STEPS.map(({ args, env, openFiles }) => ({
      ...(openFiles === undefined ? {} : { openFiles }),
      args,
      env: { BILLSYNC_DATA_DIR: fixture.folder, ...env },
    })),
  );
});
afterAll(() => fixture.remove());

describe('billsync', () => {
  test.each(STEPS.map((step, index) => ({ ...step, index })))(
    'names the place, the reason and the remedy of $what: $place',
    ({ place, path, walk, index }) => {
      const { exitCode, stdout, stderr } = played[index] as CommandResult;
      const message = walk.isFinding === true ? findingOf(stdout) : stderr;
      expect(message).toMatch(walk.messages?.[place] ?? MESSAGES[place]);
      expect(message).toMatch(walk.inside ?? new RegExp(RegExp.escape(path.replace(/\/x-\d+$/, ''))));
      expect(message).toContain(walk.named ?? '');
      expect(message).toMatch(/^ +→ \S/m);
      expect(message.trim().split('\n').length).toBeLessThanOrEqual(3);
      expect(message).not.toMatch(/^\s+at |should not happen|Error:|\bE[A-Z]{4,}\b/m);
      expect(exitCode).toBe(walk.isFinding === true ? 1 : ['full', 'crowded'].includes(place) ? 1 : 2);
    },
  );
});

function findingOf(stdout: string): string {
  const lines = stdout.split('\n');
  const at = lines.findIndex((line) => line.startsWith('✗ alerts'));
  return lines.slice(at, at + 2).join('\n');
}

const COMMAND_RUNNER = testProgram('support/processes/command-runner.ts');

const MESSAGES = {
  missing: 'there is no such file or folder',
  folder: 'it is a folder',
  locked: 'this user may not read or write it',
  below: 'a part of its path is not a folder',
  circle: 'its symbolic links lead round in a circle',
  full: 'the disk is full',
  readonly: 'the file system is read-only',
  crowded: 'too many files are open at once',
} as const;
type Refusal = keyof typeof MESSAGES;

/** `$1` is the folder of the places. */
const MAKE = `set -eu
cd "$1"
mkdir folder sealed full readonly
touch file locked sealed/file
ln -s circle circle
mount -t tmpfs -o size=64k tmpfs full
mkdir -p full/data/archive
cat /dev/zero >full/zero 2>/dev/null || true
mount -t tmpfs -o size=64k tmpfs readonly
mkdir -p readonly/data/archive
mount -o remount,bind,ro readonly
chmod 000 locked sealed
shift
ulimit -n 256
exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"`;

/** Runs the commands in a namespace with the places. @param root an empty folder */
async function playAmongRefusals(
  root: string,
  plays: readonly CommandRun[],
): Promise<readonly CommandResult[]> {
  mkdirSync(root, { recursive: true });
  const [into, from] = [join(root, 'played.json'), join(root, 'plays.json')];
  writeFileSync(from, JSON.stringify(plays));
  const namespace = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  await promisify(execFile)(
    'unshare',
    [
      ...[...namespace, 'sh', '-c', MAKE, 'sh', root],
      ...['sh', '-c', 'exec "$@" <"$0"', from, process.execPath, COMMAND_RUNNER, BILLSYNC, into],
    ],
    { env: cleanEnvironment(), maxBuffer: 1 << 26 },
  );
  // So that the folder can be removed by a user who is not root.
  chmodSync(join(root, 'sealed'), 0o700);
  return JSON.parse(readFileSync(into, 'utf8')) as readonly CommandResult[];
}
