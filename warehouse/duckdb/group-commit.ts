/**
 * Does for many callers at once what costs nearly as much for one: what is asked for while one group is at work goes
 * into the next. Nobody waits for company: who finds nobody at work begins at once.
 */

interface Waiting<T, R> {
  readonly asked: T;
  readonly resolve: (answer: R) => void;
  readonly reject: (error: unknown) => void;
}

/** A group larger than this would keep its callers waiting for no further gain. */
const MOST = 200;

export class GroupCommit<T, R> {
  readonly #commit: (asked: readonly T[]) => Promise<readonly R[]>;
  readonly #waiting: Waiting<T, R>[] = [];
  #isAtWork = false;

  /** @param commit answers each of what was asked, in its order; when it throws, nothing of the group was done */
  constructor(commit: (asked: readonly T[]) => Promise<readonly R[]>) {
    this.#commit = commit;
  }

  /** @throws what `commit` throws for this one alone: nobody fails for another's sake */
  do(asked: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject });
      if (!this.#isAtWork) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isAtWork = true;
    while (this.#waiting.length > 0) await this.#settle(this.#waiting.splice(0, MOST));
    this.#isAtWork = false;
  }

  async #settle(group: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const answers = await this.#commit(group.map(({ asked }) => asked));
      for (const [i, { resolve }] of group.entries()) resolve(answers[i] as R);
    } catch (error) {
      if (group.length === 1) group[0]?.reject(error);
      else for (const one of group) await this.#settle([one]);
    }
  }
}
