/**
 * The thread that sends in a burst (see SenderThread). It knows connections and requests, and nothing of events,
 * faults or the journal.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type Destination, requestBytes } from './delivery-request.js';
import { PostLine } from './post-line.js';
import type { PostResult } from './post-once.js';

/** Bodies for one registration, many at a time since each message costs. */
export interface ToSend {
  readonly destination: Destination;
  /** When they were handed over, on the sandbox's own clock, in milliseconds since 1970. */
  readonly handedAtMs: number;
  /** One for each body; the attempt comes back under it. */
  readonly keys: readonly number[];
  readonly bodies: readonly string[];
}

export interface MadeAttempt extends PostResult {
  /** On the clock of `handedAtMs`. */
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Attempts that are over, field by field: objects would cost several times as much to pass on. */
export type MadeAttempts = { readonly [Field in keyof MadeAttempt]: MadeAttempt[Field][] } & {
  readonly keys: number[];
};

/** The thread says `up` first of all. */
export type FromSender = 'up' | MadeAttempts;

export interface SenderSettings {
  readonly timeoutMs: number;
}

const { timeoutMs } = workerData as SenderSettings;
const lines = new Map<string, PostLine>();
let over = noAttempts();

parentPort?.on('message', ({ destination, handedAtMs, keys, bodies }: ToSend) => {
  const line = lineTo(destination);
  const sinceMs = handedAtMs - performance.now();
  keys.forEach((key, index) => {
    line.send({
      request: () => requestBytes(destination.head, bodies[index] ?? ''),
      whenOver: (result, startedMs) => {
        const durationMs = Math.round(performance.now() - startedMs);
        tell(key, result, { startedAtMs: sinceMs + startedMs, durationMs });
      },
    });
  });
});
say('up');

function lineTo(destination: Destination): PostLine {
  let line = lines.get(destination.lineKey);
  if (line === undefined) {
    line = new PostLine(destination, timeoutMs);
    lines.set(destination.lineKey, line);
  }
  return line;
}

/** Attempts that end between two looks at the network are told of in one message. */
function tell(
  key: number,
  { status, error, responseBody }: PostResult,
  { startedAtMs, durationMs }: Omit<MadeAttempt, keyof PostResult>,
): void {
  const count = over.keys.push(key);
  over.startedAtMs.push(startedAtMs);
  over.durationMs.push(durationMs);
  over.status.push(status);
  over.error.push(error);
  over.responseBody.push(responseBody);
  if (count === 1) setImmediate(tellAll);
}

function tellAll(): void {
  say(over);
  over = noAttempts();
}

function noAttempts(): MadeAttempts {
  return { keys: [], startedAtMs: [], durationMs: [], status: [], error: [], responseBody: [] };
}

function say(message: FromSender): void {
  parentPort?.postMessage(message);
}
