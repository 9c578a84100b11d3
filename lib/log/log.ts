/** The one way a role speaks to its operator: structured lines on stderr, from which every secret was taken. */

import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';
import type pretty from 'pino-pretty';
import type { Settings } from '../config/settings.ts';
import { hasColors } from '../runtime.ts';
import { visible } from '../wire/text.ts';
import { createScrub } from './scrub.ts';

export type { Logger } from 'pino';

type LogSettings = Pick<Settings, 'service' | 'webhook' | 'admin' | 'encryptionKeys' | 'log' | 'environment'>;

/**
 * @param role `webhook`, `worker`, … stands in every line
 * @param destination where lines go; stderr unless a test wants to read them
 */
export function createLogger(
  settings: LogSettings,
  role: string,
  destination: { write(text: string): unknown } = process.stderr,
): Logger {
  const scrub = createScrub(settings);
  // The whole line is cleaned, not chosen fields: an error's cause or a library's message may carry anything.
  const clean: DestinationStream = { write: (line: string) => void destination.write(inAscii(scrub(line))) };
  const options = {
    level: settings.log.level,
    base: { role, environment: settings.environment },
    timestamp: () => `,"at":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (settings.log.format === 'json') return pino(options, clean);
  let stream: Writable | undefined;
  return pino(options, {
    write(line: string) {
      stream ??= prettyStream(asWritable(clean));
      stream.write(`${JSON.stringify(harmless(JSON.parse(line)))}\n`);
    },
  });
}

/** Read with the first line: most commands never log one. */
function prettyStream(destination: Writable): Writable {
  const create = createRequire(import.meta.url)('pino-pretty') as typeof pretty;
  return create({ ...PRETTY, destination });
}

/** What JSON may hold as it is though a terminal acts on it, or shows the line in another order. */
const UNSEEN_IN_JSON = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** The same JSON, and the same words on a terminal, without a character that is invisible. */
function inAscii(line: string): string {
  return line.replace(
    UNSEEN_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** What is printed without JSON's quotes can neither move a cursor nor begin a line of its own. */
function harmless(value: unknown, name = ''): unknown {
  if (typeof value === 'string') {
    // A stack has lines; what stands in them is as foreign as everything else.
    return name === 'stack' ? value.split('\n').map(visible).join('\n') : visible(value);
  }
  if (Array.isArray(value)) return value.map((each) => harmless(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [visible(key), harmless(each, key)]));
}

const PRETTY = {
  sync: true,
  colorize: hasColors(process.stderr),
  timestampKey: 'at',
  translateTime: 'HH:MM:ss',
  ignore: 'role,environment',
  messageFormat: '{role}: {msg}',
} as const;

function asWritable(stream: DestinationStream): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk: Buffer | string, _encoding, done) {
      stream.write(chunk.toString());
      done();
    },
  });
}

/** In every line. */
export const COMMON_LOG_FIELDS = {
  level: '`debug`, `info`, `warn`, `error` or `fatal`.',
  at: 'When, ISO 8601 UTC.',
  role: 'Which process: `up`, `webhook`, `worker`, `dashboard`, `temporal`, or the command.',
  environment: '`test` or `production`.',
  msg: 'What happened, in words; not a name to search by.',
} as const;

/** Where they say something. */
export const LOG_FIELDS = {
  address: 'Host and port: of Temporal, or of a sender that was refused.',
  aheadSeconds: 'How far the clock of an event is ahead of ours.',
  alert: 'An alert that was said: `state`, `key`, `title`, `detail`, `repeated`, `runbook`.',
  billingCost: 'Of a load, decimal text.',
  by: 'Who decided.',
  certificate: 'File of the certificate that the endpoint shows.',
  code: 'Why something was refused, as in `billsync quarantine list`.',
  component: 'Of a check that failed: what it looks at.',
  connections: 'How many connections were ended.',
  count: 'How many times it happened since it was last said.',
  currencyCode: 'Of the cost of a load.',
  detail: 'What is known of the cause.',
  drift: 'The first differences that `verify` found: `invoiceId`, `rule`, `expected`, `found`.',
  err: 'An error: `type`, `message`, `stack`.',
  eventId: 'Of the event.',
  events: 'How many events.',
  expiresInSeconds: 'Of a new access token.',
  failures: 'How many times in a row.',
  invoiceId: 'The service’s id of the invoice.',
  isHealthy: 'Whether what changed is well now.',
  key: 'Of an alert.',
  kind: 'Of what lies in quarantine: `delivery` or `file`.',
  loadId: 'Of a load.',
  loadIds: 'Of several loads.',
  loads: 'How many loads.',
  losses: 'The first of what the archive could not give back.',
  method: 'Of the HTTP request that was refused.',
  movedAside: 'Where the old warehouse lies.',
  part: 'Of a process: what did not close.',
  path: 'A file, an address of the dashboard, or of a delivery that was refused.',
  pid: 'Of a process.',
  pids: 'Of processes.',
  place: 'Where in the archive a record lies.',
  process: 'Of `up`: `endpoint` or `worker`.',
  quarantineId: 'Of a refused thing.',
  queues: 'Task queues of Temporal.',
  reason: 'Why, in words.',
  reasons: 'Why each channel did not take an alert.',
  removed: 'Write-ahead logs that lay beside the published file.',
  sequence: 'Of a publication.',
  setting: 'Name of a setting.',
  sha256: 'Of a file.',
  shipments: 'How many rows.',
  signal: 'Of the operating system.',
  statusCode: 'With which a delivery was refused.',
  stream: 'Of the archive: `events` or `facts`.',
  target: 'The workflow that a payload in Temporal was addressed to.',
  tookMs: 'How long it took, in milliseconds.',
  unread: 'Fields of a delivery that were not understood.',
  url: 'Where spans are sent.',
  version: 'Of an invoice’s file.',
  waitMs: 'When it is tried again, in milliseconds.',
  why: 'Why a record could not be ingested.',
} as const;
