/**
 * Sends deliveries from a thread of its own, so that a burst is sent while the rest of it is still being approved.
 * The thread has its own heap and libraries, so it comes with a burst and goes when there is nothing to send any more.
 */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Registration } from '../model.ts';
import type { FromSender, MadeAttempt, SenderSettings, ToSend } from './sender.ts';

/** null when the thread was stopped before the attempt was over. */
export type WhenOver = (attempt: MadeAttempt | null) => void;

export interface SenderThreadOptions extends SenderSettings {
  readonly now: () => Date;
  /** Called before anything is handed to the thread. */
  readonly beforeSending: () => void;
  /** The thread is stopped when it has had nothing to do for so long. */
  readonly restMs: number;
}

interface Batch {
  readonly keys: number[];
  readonly bodies: string[];
}

export class SenderThread {
  readonly #options: SenderThreadOptions;
  #worker: Worker | null = null;
  #isUp = false;
  #rest: NodeJS.Timeout | undefined;
  #lastKey = 0;
  readonly #underWay = new Map<number, WhenOver>();
  /** Deliveries for the next turn of the event loop, in one message per registration. */
  readonly #batches = new Map<Registration, Batch>();

  constructor(options: SenderThreadOptions) {
    this.#options = options;
  }

  /** Whether it can be given something to send: some time after the start. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Does nothing when it has been started. An error inside the thread is a defect and ends the process. */
  start(): void {
    if (this.#worker !== null) return;
    const program = new URL(`./sender${extname(import.meta.filename)}`, import.meta.url);
    const worker = new Worker(program, {
      workerData: { timeoutMs: this.#options.timeoutMs } satisfies SenderSettings,
    });
    worker.unref();
    worker.on('message', (message: FromSender) => {
      if (worker === this.#worker) this.#heard(message);
    });
    this.#worker = worker;
    this.#rest = setTimeout(() => this.#stopWhenIdle(), this.#options.restMs).unref();
  }

  /** Makes one attempt as soon as there is a free connection; never calls back before the caller is through. */
  post(registration: Registration, body: string, whenOver: WhenOver): void {
    if (this.#batches.size === 0) setImmediate(() => this.#handOver());
    let batch = this.#batches.get(registration);
    if (batch === undefined) {
      batch = { keys: [], bodies: [] };
      this.#batches.set(registration, batch);
    }
    this.#lastKey += 1;
    this.#underWay.set(this.#lastKey, whenOver);
    batch.keys.push(this.#lastKey);
    batch.bodies.push(body);
  }

  /** Breaks every connection and forgets what waits for one. The next start makes another thread. */
  async close(): Promise<void> {
    const worker = this.#worker;
    const stopped = [...this.#underWay.values()];
    clearTimeout(this.#rest);
    this.#worker = null;
    this.#isUp = false;
    this.#batches.clear();
    this.#underWay.clear();
    await worker?.terminate();
    for (const whenOver of stopped) whenOver(null);
  }

  #stopWhenIdle(): void {
    if (this.#underWay.size > 0) this.#rest?.refresh();
    else void this.close();
  }

  #handOver(): void {
    if (this.#batches.size === 0) return;
    this.#options.beforeSending();
    const handedAtMs = this.#options.now().getTime();
    for (const [registration, batch] of this.#batches) {
      this.#worker?.postMessage({ registration, handedAtMs, ...batch } satisfies ToSend);
    }
    this.#batches.clear();
  }

  #heard(message: FromSender): void {
    if (message === 'up') {
      this.#isUp = true;
      return;
    }
    this.#rest?.refresh();
    for (const [key, attempt] of message) {
      const whenOver = this.#underWay.get(key);
      this.#underWay.delete(key);
      whenOver?.(attempt);
    }
  }
}
