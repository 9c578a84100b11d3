/**
 * Does for many callers at once what costs nearly as much for one: what is asked for while one group is at work goes
 * into the next. Who finds nobody at work begins at once. Only who came while a group was at work, or shortly after a group of
 * several, may wait a moment longer for company, where the callers of this group allow it (`restMs`).
 */

interface Waiting<T, R> {
  readonly asked: T;
  readonly resolve: (answer: R) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupLimits<T> {
  /** A group larger than this would keep its callers waiting for no further gain; 200 by default. */
  readonly most?: number;
  readonly weigh?: (asked: T) => number;
  /** Of all that a group is asked for; one that is heavier is a group by itself. */
  readonly heaviest?: number;
  /** Whether one of a group can make it fail, so that its halves are tried; else all of it has failed. True by default. */
  readonly isSplit?: boolean;
  /** How long after a group the next one is gathered, when it was one of several or somebody waits already, and until enough do; 0 by default. */
  readonly restMs?: number;
}

/** A group of so many waits for no more: in it an invoice costs a sixth of what it does alone (ADR 15). */
const ENOUGH = 16;

export class GroupCommit<T, R> {
  readonly #commit: (asked: readonly T[]) => Promise<readonly R[]>;
  readonly #limits: Required<GroupLimits<T>>;
  readonly #waiting: Waiting<T, R>[] = [];
  #isAtWork = false;
  #endRest: () => void = () => undefined;

  /** @param commit answers each of what was asked, in its order; when it throws, nothing of the group was done */
  constructor(commit: (asked: readonly T[]) => Promise<readonly R[]>, limits: GroupLimits<T> = {}) {
    this.#commit = commit;
    this.#limits = { most: 200, weigh: () => 0, heaviest: 0, isSplit: true, restMs: 0, ...limits };
  }

  /** @throws what `commit` throws for this member alone; a failing member does not fail the rest of its group */
  do(asked: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject });
      if (!this.#isAtWork) void this.#work();
      else if (this.#waiting.length >= this.#enough) this.#endRest();
    });
  }

  async #work(): Promise<void> {
    this.#isAtWork = true;
    while (this.#waiting.length > 0) {
      const group = this.#next();
      await this.#settle(group);
      const isUnderLoad = this.#waiting.length > 0 || group.length > 1;
      if (this.#limits.restMs > 0 && isUnderLoad && this.#waiting.length < this.#enough) await this.#rest();
    }
    this.#isAtWork = false;
  }

  get #enough(): number {
    return Math.min(this.#limits.most, ENOUGH);
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#limits.restMs);
      this.#endRest = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #next(): readonly Waiting<T, R>[] {
    const { most, weigh, heaviest } = this.#limits;
    let weight = 0;
    const end = this.#waiting.findIndex(({ asked }, index) => {
      weight += weigh(asked);
      return index > 0 && (index >= most || weight > heaviest);
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #settle(group: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const answers = await this.#commit(group.map(({ asked }) => asked));
      for (const [i, { resolve }] of group.entries()) resolve(answers[i] as R);
    } catch (error) {
      if (group.length === 1 || !this.#limits.isSplit) {
        for (const { reject } of group) reject(error);
        return;
      }
      const half = Math.ceil(group.length / 2);
      await this.#settle(group.slice(0, half));
      await this.#settle(group.slice(half));
    }
  }
}
