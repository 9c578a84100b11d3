import { BillingError, isBillingError } from './errors.ts';

export interface Turn {
  /** The key of a file, whose further attempts go behind first attempts of others. */
  readonly key: string;
  readonly signal: AbortSignal | undefined;
}

interface Waiting extends Turn {
  readonly attempt: number;
  readonly start: () => void;
}

interface Host {
  running: number;
  waiting: Waiting[];
  /** Files that were sent away before their first attempt, with the time until which their next request is expected. */
  readonly expected: Map<string, number>;
  /** Instants of the last transfers that were too slow, by `performance.now()`. */
  slowAt: readonly number[];
  isReported: boolean;
}

/** Concurrent downloads from one host share its bandwidth, so more of them would not be faster. */
export const DOWNLOADS_PER_HOST = 6;
/** A download that would wait longer returns, so that its activity slot works for other hosts. */
const PATIENCE_MS = 2_000;
const SECONDS_PER_TURN = 3;
const MAX_AWAY_SECONDS = 60;
const SLOW_WITHIN_MS = 5 * 60_000;
const SLOW_TRANSFERS = 3;
const MAX_REMEMBERED = 10_000;

export interface HostTurnsOptions {
  readonly onSlow: (host: string, isSlow: boolean) => void;
  readonly patienceMs?: number;
}

/** Slow files of a host must hold up neither its other files nor other hosts. */
export class HostTurns {
  readonly #options: HostTurnsOptions;
  readonly #hosts = new Map<string, Host>();
  /** How many transfers of a file were too slow. */
  readonly #attempts = new Map<string, number>();

  constructor(options: HostTurnsOptions) {
    this.#options = options;
  }

  /** @param work gets the number of earlier attempts @throws BillingError `host-busy` there is no turn soon */
  async run<T>(name: string, turn: Turn, work: (attempt: number) => Promise<T>): Promise<T> {
    const host = this.#host(name);
    const attempt = this.#attempts.get(turn.key) ?? 0;
    await this.#start(name, host, { ...turn, attempt });
    try {
      const result = await work(attempt);
      this.#attempts.delete(turn.key);
      this.#report(name, host);
      return result;
    } catch (error) {
      if (isBillingError(error, 'deadline-exceeded')) {
        host.slowAt = [...host.slowAt, performance.now()].slice(-SLOW_TRANSFERS);
        this.#attempts.set(turn.key, attempt + 1);
        const [oldest] = this.#attempts.keys();
        if (this.#attempts.size > MAX_REMEMBERED && oldest !== undefined) this.#attempts.delete(oldest);
      }
      this.#report(name, host);
      throw error;
    } finally {
      host.running -= 1;
      this.#startNext(host);
    }
  }

  async #start(name: string, host: Host, turn: Omit<Waiting, 'start'>): Promise<void> {
    const { key, signal, attempt } = turn;
    signal?.throwIfAborted();
    const nowMs = performance.now();
    for (const [file, untilMs] of host.expected) if (untilMs < nowMs) host.expected.delete(file);
    const goesBehind = attempt > 0 && host.expected.size > 0;
    host.expected.delete(key);
    if (host.running < DOWNLOADS_PER_HOST && host.waiting.length === 0 && !goesBehind) {
      host.running += 1;
      return;
    }
    const started = Promise.withResolvers<void>();
    const entry: Waiting = { ...turn, start: started.resolve };
    host.waiting = [...host.waiting, entry].sort((one, other) => one.attempt - other.attempt);
    const leave = (reason: unknown): void => {
      host.waiting = host.waiting.filter((each) => each !== entry);
      started.reject(reason);
    };
    const aborted = (): void => leave(signal?.reason);
    const timer = setTimeout(
      () => {
        const ahead = host.running + host.waiting.length + host.expected.size;
        const seconds = Math.min(Math.ceil(ahead / DOWNLOADS_PER_HOST) * SECONDS_PER_TURN, MAX_AWAY_SECONDS);
        if (attempt === 0) host.expected.set(key, performance.now() + 2_000 * seconds);
        leave(new BillingError('host-busy', [name, seconds], { retryAfterSeconds: seconds }));
      },
      isSlow(host) || goesBehind ? 0 : (this.#options.patienceMs ?? PATIENCE_MS),
    );
    signal?.addEventListener('abort', aborted, { once: true });
    try {
      await started.promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', aborted);
    }
  }

  #startNext(host: Host): void {
    const [next, ...others] = host.waiting;
    if (next === undefined || host.running >= DOWNLOADS_PER_HOST) return;
    host.waiting = others;
    host.running += 1;
    next.start();
  }

  #report(name: string, host: Host): void {
    const hasSlowOnes = recentlySlow(host) > 0;
    // A few fast transfers between slow ones do not end the alert.
    if (host.isReported ? hasSlowOnes : !isSlow(host)) return;
    host.isReported = !host.isReported;
    this.#options.onSlow(name, host.isReported);
  }

  #host(name: string): Host {
    const known = this.#hosts.get(name);
    if (known !== undefined) return known;
    const host: Host = { running: 0, waiting: [], expected: new Map(), slowAt: [], isReported: false };
    this.#hosts.set(name, host);
    return host;
  }
}

function isSlow(host: Host): boolean {
  return recentlySlow(host) >= SLOW_TRANSFERS;
}

function recentlySlow({ slowAt }: Host): number {
  return slowAt.filter((at) => performance.now() - at < SLOW_WITHIN_MS).length;
}
