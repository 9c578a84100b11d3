/**
 * Counts the attempts to load a file that ended with the process: one whose reading or writing kills it would kill it
 * again after every restart, and with it everybody else's loads.
 *
 * A mark lies beside the warehouse from before an attempt until there is an answer, an error too: what is left there was cut
 * short. It is a byte more per attempt in a file of its own, which a kill -9 cannot take back; it is not flushed, since
 * after a power cut nobody suspects a file.
 */

import { appendFileSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { KeyedMutex } from '../duckdb/read-write-lock.ts';
import type { Rejection } from '../warehouse.ts';

/** Attempts that may end with the process before the file is left alone. */
export const MAX_CRASHES = 3;

/** The rule that stands in the finding of a file that is left alone. */
export const CRASH_RULE = 'ends-the-process';

interface Attempted {
  /** In lower case. */
  readonly invoiceId: string;
  readonly sha256: string;
}

const SUSPECTS = 'suspects';

export class LoadAttempts {
  readonly #folder: string;
  /** When a process ends, whatever it loaded is suspected; one at a time they show which of them it was. */
  readonly #oneAtATime = new KeyedMutex();

  /** @param dataDir of this machine; where several load, each counts its own crashes */
  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'load-attempts');
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /**
   * Does the work, or answers why it is not tried again.
   *
   * @param work is told whether the file is suspected: then it shares its attempt with no other
   * @throws what the work throws, or the system's error
   */
  async around<T>(attempted: Attempted, work: (isSuspected: boolean) => Promise<T>): Promise<T | Rejection> {
    const mark = join(this.#folder, `${attempted.invoiceId}.${attempted.sha256}`);
    const crashes = statSync(mark, { throwIfNoEntry: false })?.size ?? 0;
    if (crashes >= MAX_CRASHES) return leftAlone(crashes);
    const attempt = async (): Promise<T> => {
      appendFileSync(mark, '.', { mode: 0o600 });
      try {
        return await work(crashes > 0);
      } finally {
        rmSync(mark, { force: true });
      }
    };
    return crashes === 0 ? attempt() : this.#oneAtATime.run(SUSPECTS, attempt);
  }

  /** Somebody wants the invoice's files tried again. */
  forget(invoiceId: string): void {
    for (const name of readdirSync(this.#folder)) {
      if (name.startsWith(`${invoiceId.toLowerCase()}.`)) rmSync(join(this.#folder, name), { force: true });
    }
  }
}

function leftAlone(crashes: number): Rejection {
  const value = `billsync ended ${crashes} times while it loaded the file`;
  const finding = { line: null, row: null, column: null, rule: CRASH_RULE, value };
  return { outcome: 'rejected', findings: [finding], findingCount: 1 };
}
