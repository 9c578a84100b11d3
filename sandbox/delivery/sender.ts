/**
 * The thread that sends in a burst (see SenderThread). It knows connections and requests, and nothing of events,
 * faults or the journal.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Registration } from '../model.ts';
import { type PostResult, ReceiverPool } from './receiver-pool.ts';

/** Bodies for one registration, many at a time since each message costs. */
export interface ToSend {
  readonly registration: Registration;
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

/** Attempts that are over, each under its key; the thread says `up` first of all. */
export type FromSender = 'up' | readonly (readonly [key: number, attempt: MadeAttempt])[];

export interface SenderSettings {
  readonly timeoutMs: number;
}

const { timeoutMs } = workerData as SenderSettings;
const pool = new ReceiverPool(timeoutMs);
let over: (readonly [number, MadeAttempt])[] = [];

parentPort?.on('message', ({ registration, handedAtMs, keys, bodies }: ToSend) => {
  const handed = performance.now();
  keys.forEach((key, index) => {
    const body = bodies[index] ?? '';
    pool.whenFree(registration, async (release) => {
      const start = performance.now();
      const result = await pool.post(registration, { body, cutOff: false, reset: false });
      release();
      const durationMs = Math.round(performance.now() - start);
      tell(key, { startedAtMs: handedAtMs + (start - handed), durationMs, ...result });
    });
  });
});
say('up');

/** Attempts that end between two looks at the network are told of in one message. */
function tell(key: number, attempt: MadeAttempt): void {
  over.push([key, attempt]);
  if (over.length > 1) return;
  setImmediate(() => {
    say(over);
    over = [];
  });
}

function say(message: FromSender): void {
  parentPort?.postMessage(message);
}
