/** Sorted streams of marks as one. */

import type { Entries } from './mark-file.ts';

const BLOCK = 8_192;

/** @param streams the smallest first: what is read of it passes through each of the others */
export function mergeEntries(streams: readonly AsyncIterable<Entries>[]): AsyncIterable<Entries> {
  const [first = noEntries(), ...others] = streams;
  return others.reduce(mergeTwo, first);
}

async function* mergeTwo(a: AsyncIterable<Entries>, b: AsyncIterable<Entries>): AsyncGenerator<Entries> {
  const [left, right] = [new Cursor(a), new Cursor(b)];
  // Whoever takes a block has done with it when the next one is asked for.
  const block = new Block();
  try {
    await left.next();
    await right.next();
    while (!left.isAtEnd && !right.isAtEnd) {
      block.take(left, right);
      if (block.isFull) yield block.give();
      await left.next();
      await right.next();
    }
    yield block.give();
    for (const rest of [left, right]) {
      while (!rest.isAtEnd) {
        yield rest.takeRest();
        await rest.next();
      }
    }
  } finally {
    await left.close();
    await right.close();
  }
}

class Block {
  readonly #marks = new Uint32Array(BLOCK);
  readonly #loads = new Uint32Array(BLOCK);
  readonly #rows = new Uint32Array(BLOCK);
  #filled = 0;

  get isFull(): boolean {
    return this.#filled === BLOCK;
  }

  /** The lowest of both, until one of them is to be read on or the block is full. */
  take(left: Cursor, right: Cursor): void {
    const [a, b] = [left.entries, right.entries];
    let [i, j, filled] = [left.at, right.at, this.#filled];
    while (filled < BLOCK && i < a.marks.length && j < b.marks.length) {
      const isLeft = (a.marks[i] ?? 0) <= (b.marks[j] ?? 0);
      const from = isLeft ? a : b;
      const at = isLeft ? i++ : j++;
      this.#marks[filled] = from.marks[at] ?? 0;
      this.#loads[filled] = from.loads[at] ?? 0;
      this.#rows[filled] = from.rows[at] ?? 0;
      filled += 1;
    }
    [left.at, right.at, this.#filled] = [i, j, filled];
  }

  give(): Entries {
    const filled = this.#filled;
    this.#filled = 0;
    return {
      marks: this.#marks.subarray(0, filled),
      loads: this.#loads.subarray(0, filled),
      rows: this.#rows.subarray(0, filled),
    };
  }
}

class Cursor {
  readonly #blocks: AsyncIterator<Entries>;
  entries: Entries = { marks: new Uint32Array(), loads: new Uint32Array(), rows: new Uint32Array() };
  at = 0;
  isAtEnd = false;

  constructor(stream: AsyncIterable<Entries>) {
    this.#blocks = stream[Symbol.asyncIterator]();
  }

  /** Reads on once everything is taken. */
  async next(): Promise<void> {
    while (!this.isAtEnd && this.at === this.entries.marks.length) {
      const { done, value } = await this.#blocks.next();
      if (done === true) this.isAtEnd = true;
      else [this.entries, this.at] = [value, 0];
    }
  }

  takeRest(): Entries {
    const { marks, loads, rows } = this.entries;
    const from = this.at;
    this.at = marks.length;
    return { marks: marks.subarray(from), loads: loads.subarray(from), rows: rows.subarray(from) };
  }

  /** One that was not read to its end lets its file go. */
  async close(): Promise<void> {
    await this.#blocks.return?.();
  }
}

async function* noEntries(): AsyncGenerator<Entries> {}
