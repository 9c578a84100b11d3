/** Objects in memory, changes in an append-only journal: a restart, even after kill -9, continues from the last call. */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  ApiKey,
  BillingEvent,
  Delivery,
  FaultRule,
  Invoice,
  Registration,
  Schedule,
  Tenant,
} from '../model.ts';

export interface Kinds {
  tenant: Tenant;
  invoice: Invoice;
  registration: Registration;
  schedule: Schedule;
  event: BillingEvent;
  delivery: Delivery;
  fault: FaultRule;
  apiKey: ApiKey;
  /** Counters, and the instant up to which tokens were revoked. */
  value: { readonly value: number | string };
}

export type Kind = keyof Kinds;
type Collections = { readonly [K in Kind]: Map<string, Kinds[K]> };

/** A line has a whole object, or its changed fields; with neither, the object is removed. */
interface Line {
  readonly kind: Kind;
  readonly id: string;
  readonly value?: object;
  readonly change?: object;
}

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
    value: new Map(),
  };
  readonly #path: string;
  #file: number;
  #pending: string[] = [];

  /** @param dir an existing folder that no other store uses */
  constructor(dir: string) {
    this.#path = join(dir, 'journal.ndjson');
    const lines = this.#replay();
    this.#file = openSync(this.#path, 'a', 0o600);
    const size = Object.values(this.#all).reduce((sum, objects) => sum + objects.size, 0);
    if (lines > COMPACT_FROM_LINES && lines > 2 * size) this.#rewrite();
  }

  /** Objects are in the order in which they were first put. */
  all<K extends Kind>(kind: K): ReadonlyMap<string, Kinds[K]> {
    return this.#all[kind];
  }

  get<K extends Kind>(kind: K, id: string): Kinds[K] | undefined {
    return this.#all[kind].get(id);
  }

  /** Changes of one synchronous call are written together, before its caller continues from an `await`. */
  put<K extends Kind>(kind: K, id: string, value: Kinds[K]): void {
    const before = this.#all[kind].get(id);
    this.#all[kind].set(id, value);
    const change = before === undefined ? null : changedFields(before, value);
    this.#append(change === null ? { kind, id, value } : { kind, id, change });
  }

  remove(kind: Kind, id: string): void {
    if (this.#all[kind].delete(id)) this.#append({ kind, id });
  }

  clear(): void {
    for (const objects of Object.values(this.#all)) objects.clear();
    this.#rewrite();
  }

  /** Returns the next number of this name, from 1. */
  count(name: string): number {
    const last = this.#all.value.get(name)?.value;
    const value = (typeof last === 'number' ? last : 0) + 1;
    this.put('value', name, { value });
    return value;
  }

  /** Hands the changes to the operating system, which keeps them even when this process is killed. */
  flush(): void {
    if (this.#pending.length === 0) return;
    const text = this.#pending.join('');
    this.#pending = [];
    writeFileSync(this.#file, text);
  }

  close(): void {
    this.flush();
    fsyncSync(this.#file);
    closeSync(this.#file);
  }

  #append(line: Line): void {
    if (this.#pending.length === 0) queueMicrotask(() => this.flush());
    this.#pending.push(`${JSON.stringify(line)}\n`);
  }

  /** A last line that a kill cut short is removed. */
  #replay(): number {
    if (!existsSync(this.#path)) return 0;
    const text = readFileSync(this.#path, 'utf8');
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    const lines = complete.split('\n').filter((line) => line !== '');
    for (const line of lines) {
      const { kind, id, value, change } = JSON.parse(line) as Line;
      const objects: Map<string, object> = this.#all[kind];
      if (value !== undefined) objects.set(id, value);
      else if (change !== undefined) objects.set(id, { ...objects.get(id), ...change });
      else objects.delete(id);
    }
    if (complete.length < text.length) this.#replaceFile();
    return lines.length;
  }

  #rewrite(): void {
    this.#pending = [];
    closeSync(this.#file);
    this.#replaceFile();
    this.#file = openSync(this.#path, 'a', 0o600);
  }

  #replaceFile(): void {
    const next = `${this.#path}.next`;
    const file = openSync(next, 'w', 0o600);
    for (const kind of Object.keys(this.#all) as Kind[]) {
      for (const [id, value] of this.#all[kind]) {
        writeFileSync(file, `${JSON.stringify({ kind, id, value } satisfies Line)}\n`);
      }
    }
    fsyncSync(file);
    closeSync(file);
    renameSync(next, this.#path);
  }
}

/** Returns null when a field was removed, because only the whole object can express a removal. */
function changedFields(before: object, after: object): object | null {
  const current = after as Readonly<Record<string, unknown>>;
  if (Object.keys(before).some((name) => current[name] === undefined)) return null;
  const old = before as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(current).filter(([name, value]) => value !== old[name]));
}
