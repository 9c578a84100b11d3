/** The one way a role speaks to its operator: structured lines on stderr, from which every secret was taken. */

import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';
import type pretty from 'pino-pretty';
import type { Settings } from '../config/settings.ts';
import { hasColors } from '../has-colors.ts';
import { visible } from '../wire/printable.ts';
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
