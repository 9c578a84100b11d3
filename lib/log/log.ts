import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';
import type pretty from 'pino-pretty';
import type { Settings } from '../config/settings.ts';
import { hasColors } from '../runtime.ts';
import { visible } from '../text.ts';
import { createScrub } from './scrub.ts';

export type { Logger } from 'pino';

type LogSettings = Pick<Settings, 'service' | 'webhook' | 'admin' | 'encryptionKeys' | 'log' | 'environment'>;

export function createLogger(
  settings: LogSettings,
  role: string,
  destination: { write(text: string): unknown } = process.stderr,
): Logger {
  const scrub = createScrub(settings);
  // The whole line is scrubbed, because the cause of an error or the message of a library may contain a secret.
  const clean: DestinationStream = {
    write: (line: string) => void destination.write(escapedJson(scrub(line))),
  };
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
      stream.write(`${JSON.stringify(withoutControls(JSON.parse(line)))}\n`);
    },
  });
}

function prettyStream(destination: Writable): Writable {
  const create = createRequire(import.meta.url)('pino-pretty') as typeof pretty;
  return create({ ...PRETTY, destination });
}

/** Characters that JSON may contain but a terminal acts on or that reorder a line. */
const UNSEEN_IN_JSON = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

function escapedJson(line: string): string {
  return line.replace(
    UNSEEN_IN_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Text without JSON's quotes must not move the cursor or begin a line. */
function withoutControls(value: unknown, name = ''): unknown {
  if (typeof value === 'string') {
    // A stack keeps its lines, whose text is foreign.
    return name === 'stack' ? value.split('\n').map(visible).join('\n') : visible(value);
  }
  if (Array.isArray(value)) return value.map((each) => withoutControls(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [visible(key), withoutControls(each, key)]),
  );
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

export const COMMON_LOG_FIELDS = {
  level: '`debug`, `info`, `warn`, `error` or `fatal`.',
  at: 'When, ISO 8601 UTC.',
  role: 'Which process: `up`, `webhook`, `worker`, `dashboard`, `temporal`, or the command.',
  environment: '`test` or `production`.',
  msg: 'What happened; the text may change.',
} as const;

/** docs/reference/logs.md is generated from this table. */
export const LOG_FIELDS = {
  address: 'Host and port: of Temporal, or of a sender that was refused.',
  aheadSeconds: 'How far the clock of an event is ahead of ours.',
  alert: 'A notice of an alert: `state`, `key`, `title`, `detail`, `repeated`, `runbook`.',
  billingCost: 'Cost of a load, decimal text.',
  by: 'The user who decided.',
  certificate: 'File of the certificate that the endpoint shows.',
  code: 'Why something was refused, as in `billsync quarantine list`.',
  component: 'Of a check that failed: what it looks at.',
  count: 'How many times it happened since the last line about it.',
  currencyCode: 'Of the cost of a load.',
  detail: 'Known details of the cause.',
  drift: 'The first differences that `verify` found: `invoiceId`, `rule`, `expected`, `found`.',
  err: 'An error: `type`, `message`, `stack`.',
  eventId: 'Of the event.',
  events: 'How many events.',
  expiresInSeconds: 'Of a new access token.',
  failures: 'How many times in a row.',
  invoiceId: 'The service’s id of the invoice.',
  isHealthy: 'Whether it is healthy now.',
  key: 'Of an alert.',
  kind: 'Of an item in quarantine: `delivery` or `file`.',
  loadId: 'Of a load.',
  loads: 'How many loads.',
  losses: 'The first losses of a rebuild.',
  method: 'Of the HTTP request that was refused.',
  movedAside: 'Path of the old warehouse.',
  path: 'A file, an address of the dashboard, or of a delivery that was refused.',
  pid: 'Of a process.',
  place: 'Place of a record in the archive.',
  process: 'Of `up`: `endpoint` or `worker`.',
  quarantineId: 'Of an item in quarantine.',
  queues: 'Task queues of Temporal.',
  reason: 'Why, in a sentence.',
  reasons: 'Why each channel failed to send an alert.',
  removed: 'Write-ahead logs that were removed beside the published file.',
  sequence: 'Of a publication.',
  setting: 'Name of a setting.',
  sha256: 'Of a file.',
  shipments: 'How many rows.',
  signal: 'Of the operating system.',
  statusCode: 'HTTP status with which a delivery was refused.',
  stream: 'Of the archive: `events` or `facts`.',
  target: 'The workflow that a payload in Temporal was addressed to.',
  tookMs: 'How long it took, in milliseconds.',
  unread: 'Fields of a delivery that could not be read.',
  url: 'Address to which spans are sent.',
  version: 'Of an invoice’s file.',
  waitMs: 'Time until the next attempt, in milliseconds.',
  why: 'Why a record could not be ingested.',
} as const;
