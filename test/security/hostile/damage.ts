import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { brokenRecord } from '../../archive/broken-records.ts';
import type { Product } from '../../support/processes/product.ts';
import type { Random } from '../../support/random.ts';
import type { HostileInput } from './world.ts';

/** None of these takes anything from anybody: `verify` still ends with 0. */
export const DAMAGE_BESIDE_THE_ARCHIVE: readonly HostileInput[] = [
  put('inbox/pending: broken entries', ({ random, below }) => [
    [below('inbox/pending', random.uuid()), broken(random, ENTRY)],
    [below('inbox/pending', `refused.${random.uuid()}`), broken(random, ENTRY)],
  ]),
  put('inbox/pending: foreign files', ({ below }) => [
    [below('inbox/pending', '.DS_Store'), Buffer.alloc(99)],
  ]),
  put('quarantine: broken descriptions', ({ random, below }) => [
    [below('inbox/quarantine', `d-${random.uuid().replaceAll('-', '').slice(0, 16)}`), broken(random, THING)],
    [below('inbox/quarantine', 'notes.txt'), Buffer.from('not ours')],
  ]),
  put('user: the open alerts', ({ random, below }) => [
    [below('user', 'alerts.json'), broken(random, ALERT)],
  ]),
  {
    name: 'inbox and quarantine: links that lead nowhere, to themselves and to folders',
    async play({ product, random }) {
      const id = () => random.uuid().replaceAll('-', '').slice(0, 16);
      for (const path of [
        `inbox/pending/${random.uuid()}`,
        `inbox/pending/test.${random.uuid()}`,
        `inbox/quarantine/d-${id()}`,
        `inbox/quarantine/f-${id()}`,
      ]) {
        const link = join(product.dataDir, path);
        mkdirSync(dirname(link), { recursive: true });
        symlinkSync(random.pick([link, '/nowhere/at/all', tmpdir(), '/etc/hostname']), link);
      }
    },
  },
  put('run/load-attempts: foreign files', ({ below }) => [
    [below('run/load-attempts', 'x'), Buffer.from('...')],
  ]),
  {
    name: 'reports.duckdb: cut short',
    async play({ product, random }) {
      truncateSync(join(product.dataDir, 'reports.duckdb'), random.between(0, 20_000));
    },
  },
];

/** Something is gone or no record any more: `verify` ends with 1 and names it by one of `DAMAGE_RULES`. */
export const DAMAGE_IN_THE_ARCHIVE: readonly HostileInput[] = [
  {
    name: 'archive/events: a broken event, with its line in the journal',
    async play({ product, random }) {
      const id = random.uuid();
      const path = join(product.dataDir, 'archive/events', id.slice(0, 2), `${id}.json`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, broken(random, anEventOf(product)));
      appendFileSync(join(product.dataDir, 'archive/events/journal'), `2026-03-01T00:00:00.000Z ${id}\n`);
    },
  },
  append('archive/events: a broken line in the journal', 'archive/events/journal', ({ random }) =>
    Buffer.concat([
      Buffer.from('\n'),
      random.pick([Buffer.alloc(64), Buffer.from('x y z'), Buffer.from('"')]),
      Buffer.from('\n'),
    ]),
  ),
  append('archive/facts: a broken line', 'archive/facts/journal.ndjson', ({ random, product }) =>
    Buffer.concat([Buffer.from('\n'), broken(random, aFactOf(product)), Buffer.from('\n')]),
  ),
  append('archive/facts: a torn line', 'archive/facts/journal.ndjson', ({ random, product }) => {
    const line = Buffer.from(aFactOf(product));
    return Buffer.concat([Buffer.from('\n'), line.subarray(0, random.between(1, line.length - 1))]);
  }),
  {
    name: 'archive/files: foreign files, and a broken description',
    async play({ product, random }) {
      const files = join(product.dataDir, 'archive/files');
      writeFileSync(join(files, '.DS_Store'), Buffer.alloc(99));
      const hash = `${random.uuid()}${random.uuid()}`.replaceAll('-', '').slice(0, 64).padEnd(64, '0');
      mkdirSync(join(files, hash.slice(0, 2)), { recursive: true });
      writeFileSync(
        join(files, hash.slice(0, 2), `${hash}.json`),
        broken(random, '{"sha256":"x","sizeBytes":1}'),
      );
    },
  },
];

export const DAMAGE_RULES = new Set([
  'record-set-aside',
  'event-unreadable',
  'event-missing',
  'fact-unreadable',
  'fact-missing',
]);

interface Place {
  readonly product: Product;
  readonly random: Random;
  below(...names: readonly string[]): string;
}

function put(
  name: string,
  files: (place: Place) => readonly (readonly [path: string, bytes: Buffer])[],
): HostileInput {
  return {
    name,
    async play({ product, random }) {
      const below = (...names: readonly string[]): string => join(product.dataDir, ...names);
      for (const [path, bytes] of files({ product, random, below })) {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, bytes, { mode: 0o600 });
      }
    },
  };
}

function append(
  name: string,
  file: string,
  bytes: (place: Pick<Place, 'product' | 'random'>) => Buffer,
): HostileInput {
  return {
    name,
    async play({ product, random }) {
      appendFileSync(join(product.dataDir, file), bytes({ product, random }));
    },
  };
}

function broken(random: Random, json: string): Buffer {
  const [bytes] = fc.sample(brokenRecord(json), { seed: random.between(0, 2 ** 31 - 1), numRuns: 1 });
  return bytes ?? Buffer.alloc(0);
}

function anEventOf({ dataDir }: Product): string {
  const events = join(dataDir, 'archive/events');
  const shards = readdirSync(events, { recursive: true, encoding: 'utf8' });
  const sound = shards.find((name) => /^..\/[0-9a-f-]{36}\.json$/.test(name));
  if (sound === undefined) throw new Error('No event was archived yet.');
  return readFileSync(join(events, sound), 'utf8').trim();
}

function aFactOf({ dataDir }: Product): string {
  const lines = readFileSync(join(dataDir, 'archive/facts/journal.ndjson'), 'utf8').split('\n');
  const sound = lines.find((line) => line.startsWith('{"kind":"load"'));
  if (sound === undefined) throw new Error('No load was archived yet.');
  return sound;
}

const ENTRY =
  '{"kind":"event","eventId":"11111111-1111-4111-8111-111111111111","receivedAt":"2026-03-01T00:00:00.000Z","invoiceId":null,"code":null,"sequence":1}';
const THING =
  '{"quarantineId":"d-0123456789abcdef","kind":"delivery","at":"2026-03-01T00:00:00.000Z","code":"not-json","reason":"x","invoiceId":null,"eventId":null,"sha256":null,"findings":[],"findingCount":0,"sizeBytes":1}';
const ALERT = '{"open":[{"key":"a/b","title":"x","noticeMs":1,"repeated":0}],"quiet":{}}';
