/** The store: state in memory, changes in a journal. */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { FaultRule } from '../faults/faults.ts';
import type { ApiKey, BillingEvent, Delivery, Invoice, Registration, Schedule, Tenant } from '../model.ts';

/** A line of the journal: an object as it is, what changed of it, or, with neither, its end. */
export interface Line {
  readonly kind: Kind;
  readonly id: string;
  readonly value?: object;
  readonly change?: object;
}

/**
 * A whole object. The body of an event follows after a tab, as it is: it is JSON without line breaks already, and to
 * escape it once more would cost more than the rest of the line.
 */
export function lineOf(kind: Kind, id: string, value: object): string {
  if (kind !== 'event') return JSON.stringify({ kind, id, value });
  const { body } = value as BillingEvent;
  return `${JSON.stringify({ kind, id, value: { ...value, body: undefined } })}\t${body}`;
}

export function readLine(text: string): Line {
  const tab = text.indexOf('\t');
  if (tab < 0) return JSON.parse(text) as Line;
  const line = JSON.parse(text.slice(0, tab)) as Line;
  return { ...line, value: { ...line.value, body: text.slice(tab + 1) } };
}

/** In UTF-8, of those that `length` counts. */
const MAX_BYTES_OF_A_CHARACTER = 3;
/** For texts of a usual length, so that nothing is set aside for each. */
const scratch = Buffer.allocUnsafeSlow(256 * 1024);

export function writeAll(file: number, text: string): void {
  const fits = text.length * MAX_BYTES_OF_A_CHARACTER <= scratch.length;
  const bytes = fits ? scratch.subarray(0, scratch.write(text)) : Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

/** The fields that are another value than before; null when one is gone, which only the whole object can show. */
export function changedFields(before: object, after: object): object | null {
  const old = before as Readonly<Record<string, unknown>>;
  const current = after as Readonly<Record<string, unknown>>;
  const changed: Record<string, unknown> = {};
  for (const name in old) if (current[name] === undefined) return null;
  for (const name in current) if (current[name] !== old[name]) changed[name] = current[name];
  return changed;
}

// The state in memory and in an append-only journal, so that a restart, even after kill -9, continues from the last call. A change appends one line: the
// whole object at first, later the changed fields. Opening compacts the journal when most of it is history.

/** Everything that is kept, by kind. */
export interface Kinds {
  tenant: Tenant;
  invoice: Invoice;
  registration: Registration;
  schedule: Schedule;
  event: BillingEvent;
  delivery: Delivery;
  fault: FaultRule;
  apiKey: ApiKey;
  /** Small values by name: counters, the seed that was used, when tokens were revoked. */
  note: { readonly value: number | string };
}

export type Kind = keyof Kinds;
type Collections = { readonly [K in Kind]: Map<string, Kinds[K]> };

const COMPACT_FROM_LINES = 2_000;

export class Store {
  readonly #all: Collections = {
    tenant: new Map(),
    invoice: new Map(),
    registration: new Map(),
    schedule: new Map(),
    event: new Map(),
    delivery: new Map(),
    fault: new Map(),
    apiKey: new Map(),
    note: new Map(),
  };
  readonly #path: string;
  #file: number;
  #pending = '';
  #flushQueued = false;
  #lateFlushQueued = false;
  /** How many calls of `together` are under way. */
  #calls = 0;
  #appended = 0;
  #written = 0;

  /** @param dir an existing folder, which this store has for itself */
  constructor(dir: string) {
    this.#path = join(dir, 'journal.ndjson');
    const lines = this.#replay();
    this.#file = openSync(this.#path, 'a', 0o600);
    const size = Object.values(this.#all).reduce((sum, objects) => sum + objects.size, 0);
    if (lines > COMPACT_FROM_LINES && lines > 2 * size) this.#rewrite();
  }

  /** All objects of a kind, in the order they were first put. */
  all<K extends Kind>(kind: K): ReadonlyMap<string, Kinds[K]> {
    return this.#all[kind];
  }

  get<K extends Kind>(kind: K, id: string): Kinds[K] | undefined {
    return this.#all[kind].get(id);
  }

  /**
   * Written before whoever called gets to go on.
   *
   * @param change the fields that are another value than before; left out, they are looked for
   */
  put<K extends Kind>(kind: K, id: string, value: Kinds[K], change?: Partial<Kinds[K]>): void {
    this.putSoon(kind, id, value, change);
    this.#flushBeforeOthersGoOn();
  }

  /** Lets changes of one call be written together; the caller flushes before it tells of them. */
  async together<T>(work: () => Promise<T>): Promise<T> {
    this.#calls += 1;
    try {
      return await work();
    } finally {
      this.#calls -= 1;
    }
  }

  /** Written with what else comes about at the moment: for what nobody was told of, like the end of a delivery. */
  putSoon<K extends Kind>(kind: K, id: string, value: Kinds[K], known?: Partial<Kinds[K]>): void {
    const before = this.#all[kind].get(id);
    this.#all[kind].set(id, value);
    const change = before === undefined ? null : (known ?? changedFields(before, value));
    this.#append(change === null ? lineOf(kind, id, value) : JSON.stringify({ kind, id, change }));
  }

  remove(kind: Kind, id: string): void {
    if (!this.#all[kind].delete(id)) return;
    this.#append(JSON.stringify({ kind, id }));
    this.#flushBeforeOthersGoOn();
  }

  /** Forgets everything. */
  clear(): void {
    for (const objects of Object.values(this.#all)) objects.clear();
    this.#rewrite();
  }

  /** The next whole number under a name, from 1. */
  count(name: string): number {
    const last = this.#all.note.get(name)?.value;
    const value = (typeof last === 'number' ? last : 0) + 1;
    this.put('note', name, { value });
    return value;
  }

  /** How many changes there were; `flush` takes it to know what has to be written. */
  get position(): number {
    return this.#appended;
  }

  /**
   * Hands every change to the operating system, which keeps it even when this process is killed.
   *
   * @param upTo nothing is done when the change at this position has been written already
   */
  flush(upTo = this.#appended): void {
    if (upTo <= this.#written) return;
    const text = this.#pending;
    this.#pending = '';
    this.#written = this.#appended;
    writeAll(this.#file, text);
  }

  close(): void {
    this.flush();
    fsyncSync(this.#file);
    closeSync(this.#file);
  }

  #flushBeforeOthersGoOn(): void {
    if (this.#flushQueued || this.#calls > 0) return;
    this.#flushQueued = true;
    queueMicrotask(() => {
      this.#flushQueued = false;
      this.flush();
    });
  }

  #append(line: string): void {
    this.#pending += `${line}\n`;
    this.#appended += 1;
    if (this.#lateFlushQueued) return;
    this.#lateFlushQueued = true;
    setImmediate(() => {
      this.#lateFlushQueued = false;
      this.flush();
    });
  }

  /** Reads the journal; a last line that a kill cut short is left out and cut off. */
  #replay(): number {
    if (!existsSync(this.#path)) return 0;
    const text = readFileSync(this.#path, 'utf8');
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    const lines = complete.split('\n').filter((line) => line !== '');
    for (const line of lines) {
      const { kind, id, value, change } = readLine(line);
      const objects: Map<string, object> = this.#all[kind];
      if (value !== undefined) objects.set(id, value);
      else if (change !== undefined) objects.set(id, { ...objects.get(id), ...change });
      else objects.delete(id);
    }
    if (complete.length < text.length) this.#replaceFile();
    return lines.length;
  }

  #rewrite(): void {
    this.#pending = '';
    this.#written = this.#appended;
    closeSync(this.#file);
    this.#replaceFile();
    this.#file = openSync(this.#path, 'a', 0o600);
  }

  #replaceFile(): void {
    const next = `${this.#path}.next`;
    const file = openSync(next, 'w', 0o600);
    for (const kind of Object.keys(this.#all) as Kind[]) {
      for (const [id, value] of this.#all[kind]) writeAll(file, `${lineOf(kind, id, value)}\n`);
    }
    fsyncSync(file);
    closeSync(file);
    renameSync(next, this.#path);
  }
}
