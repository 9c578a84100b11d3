/**
 * With how many threads DuckDB works: with one, unless somebody does what gains by more.
 *
 * DuckDB offers each part of the smallest statement to all threads and asks, until it is done, again and again whether it is: with two
 * threads a small invoice takes up to half as much processor time again as with one (docs/performance-log.md).
 */

import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

export class Threads {
  readonly #instance: DuckDBInstance;
  #known: { readonly connection: DuckDBConnection; readonly all: number; now: number } | null = null;
  #using = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(instance: DuckDBInstance) {
    this.#instance = instance;
  }

  /** All threads until `work` has ended, and as long as any other such work goes on. */
  async all<T>(work: () => Promise<T>): Promise<T> {
    await this.#change(1);
    try {
      return await work();
    } finally {
      await this.#change(-1);
    }
  }

  close(): void {
    this.#known?.connection.closeSync();
  }

  /** In turn, each as it is when its turn comes: two that were sent at once might arrive in either order. */
  #change(by: 1 | -1): Promise<void> {
    this.#using += by;
    // A database that was closed meanwhile, or cannot go on, says so to the work itself.
    this.#turn = this.#turn.then(() => this.#set()).catch(() => undefined);
    return this.#turn;
  }

  async #set(): Promise<void> {
    this.#known ??= await this.#look();
    const wanted = this.#using > 0 ? this.#known.all : 1;
    if (wanted === this.#known.now) return;
    await this.#known.connection.run(`set threads = ${wanted}`);
    this.#known.now = wanted;
  }

  async #look() {
    const connection = await this.#instance.connect();
    const read = await connection.runAndReadAll("select current_setting('threads')::integer");
    const all = Number(read.getRows()[0]?.[0]);
    return { connection, all, now: all };
  }
}
