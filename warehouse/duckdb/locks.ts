import { type LockFile, type LockRequest, takeLock } from '../../lib/files/lock-file.ts';
import { warehouseLocked } from '../errors.ts';

/** The lock is given in the order of the calls, so that an exclusive caller does not starve. */
export class ReadWriteLock {
  #shared = 0;
  #exclusive = false;
  readonly #queue: { readonly exclusive: boolean; readonly enter: () => void }[] = [];

  async shared<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter(false);
    try {
      return await work();
    } finally {
      this.#shared -= 1;
      this.#next();
    }
  }

  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter(true);
    try {
      return await work();
    } finally {
      this.#exclusive = false;
      this.#next();
    }
  }

  #enter(exclusive: boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#queue.push({ exclusive, enter: resolve });
      this.#next();
    });
  }

  #next(): void {
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      if (this.#exclusive || (first.exclusive && this.#shared > 0)) return;
      this.#queue.shift();
      if (first.exclusive) this.#exclusive = true;
      else this.#shared += 1;
      first.enter();
    }
  }
}

export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const { promise: tail, resolve: done } = Promise.withResolvers<void>();
    this.#tails.set(key, tail);
    await before;
    try {
      return await work();
    } finally {
      done();
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  runAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const sorted = [...new Set(keys)].sort();
    const nest = (index: number): Promise<T> => {
      const key = sorted[index];
      return key === undefined ? work() : this.run(key, () => nest(index + 1));
    };
    return nest(0);
  }
}

/** DuckDB's own lock does not name its owner, and is lost when the same process closes a second handle. @throws warehouse-locked */
export function lockWarehouse(path: string, request: Omit<LockRequest, 'refusal'>): Promise<LockFile> {
  return takeLock(path, { ...request, refusal: (of, owner) => warehouseLocked(of, owner) });
}
