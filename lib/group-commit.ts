/** Items that arrive while a group is processed form the next group. An idle GroupCommit starts immediately. */

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (answer: R) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupLimits<T> {
  readonly maxItems?: number;
  readonly weigh?: (item: T) => number;
  readonly maxWeight?: number;
  /** With true, which is the default, the halves of a failed group are tried again, because one item can make its group fail. */
  readonly splitsOnFailure?: boolean;
  readonly lingerMs?: number;
}

/** A group of this size starts without lingering: in it an invoice costs a sixth of what it does alone (ADR 15). */
const ENOUGH = 16;

export class GroupCommit<T, R> {
  readonly #commit: (item: readonly T[]) => Promise<readonly R[]>;
  readonly #limits: Required<GroupLimits<T>>;
  readonly #waiting: Waiting<T, R>[] = [];
  #isRunning = false;
  #endLinger: () => void = () => undefined;

  /** @param commit returns a result for each item, in order; when it throws, nothing of the group was committed */
  constructor(commit: (item: readonly T[]) => Promise<readonly R[]>, limits: GroupLimits<T> = {}) {
    this.#commit = commit;
    this.#limits = {
      ...{ maxItems: 200, weigh: () => 0, maxWeight: 0, splitsOnFailure: true, lingerMs: 0 },
      ...limits,
    };
  }

  /** @throws what `commit` throws for this item alone */
  do(item: T): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isRunning) void this.#run();
      else if (this.#waiting.length >= this.#enough) this.#endLinger();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const group = this.#next();
      await this.#settle(group);
      const isUnderLoad = this.#waiting.length > 0 || group.length > 1;
      if (this.#limits.lingerMs > 0 && isUnderLoad && this.#waiting.length < this.#enough)
        await this.#linger();
    }
    this.#isRunning = false;
  }

  get #enough(): number {
    return Math.min(this.#limits.maxItems, ENOUGH);
  }

  #linger(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#limits.lingerMs);
      this.#endLinger = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #next(): readonly Waiting<T, R>[] {
    const { maxItems, weigh, maxWeight } = this.#limits;
    let weight = 0;
    const end = this.#waiting.findIndex(({ item }, index) => {
      weight += weigh(item);
      return index > 0 && (index >= maxItems || weight > maxWeight);
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #settle(group: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const answers = await this.#commit(group.map(({ item }) => item));
      for (const [i, { resolve }] of group.entries()) resolve(answers[i] as R);
    } catch (error) {
      if (group.length === 1 || !this.#limits.splitsOnFailure) {
        for (const { reject } of group) reject(error);
        return;
      }
      const half = Math.ceil(group.length / 2);
      await this.#settle(group.slice(0, half));
      await this.#settle(group.slice(half));
    }
  }
}
