/**
 * Reads JSON of any length in bounded memory and keeps the parts around its long lists: the header of an invoice in
 * details with every shipment (spec 4.4).
 */

import { isLosslessNumber, LosslessNumber } from 'lossless-json';
import { getManyValues, isMany, none } from 'stream-chain/defs.js';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { wellFormed } from '../text.ts';
import { contradictionOf, isJsonObject, MAX_JSON_DEPTH, NotJsonError } from './json.ts';

const KEPT_DEPTH = 10;
const MAX_TEXT = 4_096;
const MAX_FIELDS = 500;
const MAX_TOTAL_FIELDS = 20_000;

type Fields = Record<string, unknown>;
type Container =
  | { readonly kind: 'object'; fields: Fields | null; key: string | null; count: number }
  | { readonly kind: 'list'; readonly elements: unknown[]; count: number };

export class JsonSkeleton {
  readonly #decoder: InstanceType<typeof TextDecoder>;
  readonly #parse = jsonParser({ packValues: false }) as (text: string | typeof none) => unknown;
  readonly #open: Container[] = [];
  #skippedDepth = 0;
  #fieldCount = 0;
  #text: string | null = '';
  #root: unknown;

  constructor(charset = 'utf-8') {
    // The decoder is lenient: the structure is ASCII, so a name in another charset does not prevent reading the status.
    this.#decoder = new TextDecoder(charset);
  }

  push(bytes: Uint8Array): void {
    this.#take(() => this.#decoder.decode(bytes, { stream: true }));
  }

  end(): unknown {
    this.#take(() => this.#decoder.decode());
    this.#take(() => none);
    if (this.#root === undefined || this.#open.length > 0 || this.#skippedDepth > 0)
      throw new NotJsonError('The body ends too early.');
    return this.#root;
  }

  #take(next: () => string | typeof none): void {
    let read: unknown;
    try {
      read = this.#parse(next());
    } catch (error) {
      throw new NotJsonError('The body is not JSON.', { cause: error });
    }
    if (isMany(read)) for (const token of getManyValues(read)) this.#applyToken(token as Token);
  }

  #applyToken(token: Token): void {
    switch (token.name) {
      case 'startObject':
        // The object has no prototype, so that `__proto__` is a name like any other.
        this.#enter({ kind: 'object', fields: Object.create(null) as Fields, key: null, count: 0 });
        break;
      case 'startArray':
        this.#enter({ kind: 'list', elements: [], count: 0 });
        break;
      case 'endObject':
      case 'endArray':
        this.#leave();
        break;
      case 'startKey':
      case 'startString':
      case 'startNumber':
        this.#text = this.#skippedDepth > 0 ? null : '';
        break;
      case 'stringChunk':
      case 'numberChunk':
        this.#grow(token.value);
        break;
      case 'endKey':
        this.#name();
        break;
      case 'endString':
        this.#keep(this.#text === null ? undefined : wellFormed(this.#text));
        break;
      case 'endNumber':
        this.#keep(this.#text === null ? undefined : new LosslessNumber(this.#text));
        break;
      case 'nullValue':
      case 'trueValue':
      case 'falseValue':
        this.#keep(token.value);
    }
  }

  #grow(chunk: string): void {
    if (this.#text === null) return;
    this.#text = this.#text.length + chunk.length > MAX_TEXT ? null : this.#text + chunk;
  }

  #enter(container: Container): void {
    if (this.#open.length + this.#skippedDepth >= MAX_JSON_DEPTH) {
      throw new NotJsonError(`The body nests objects or arrays more than ${MAX_JSON_DEPTH} deep.`);
    }
    const parent = this.#open.at(-1);
    const isOneOfMany = parent?.kind === 'list' ? parent.count > 0 : parent?.fields === null;
    if (this.#skippedDepth > 0 || isOneOfMany || this.#open.length >= KEPT_DEPTH) {
      if (this.#skippedDepth === 0) this.#keep(undefined);
      this.#skippedDepth += 1;
      return;
    }
    const before = container.kind === 'object' ? this.#fieldsBefore(parent) : null;
    if (before !== null) return void this.#open.push({ kind: 'object', fields: before, key: null, count: 0 });
    this.#keep(container.kind === 'object' ? container.fields : container.elements);
    this.#open.push(container);
  }

  #fieldsBefore(parent: Container | undefined): Fields | null {
    if (parent?.kind !== 'object' || parent.fields === null || parent.key === null) return null;
    const before = parent.fields[parent.key];
    return isJsonObject(before) ? (before as Fields) : null;
  }

  #leave(): void {
    if (this.#skippedDepth > 0) this.#skippedDepth -= 1;
    else this.#open.pop();
  }

  #name(): void {
    const object = this.#open.at(-1);
    if (this.#skippedDepth > 0 || object?.kind !== 'object') return;
    object.key = this.#text === null ? null : wellFormed(this.#text);
  }

  /** @param value undefined stands for a value that is there and is not kept */
  #keep(value: unknown): void {
    if (this.#skippedDepth > 0) return;
    const parent = this.#open.at(-1);
    if (parent === undefined) {
      this.#root = value ?? null;
    } else if (parent.kind === 'object') {
      this.#set(parent, value);
    } else {
      parent.count += 1;
      if (parent.count === 1) parent.elements.push(value);
      // A list of two elements wraps no single value, so its elements are dropped.
      else parent.elements.length = 0;
    }
  }

  #set(object: Container & { readonly kind: 'object' }, value: unknown): void {
    const { fields, key } = object;
    if (fields === null) return;
    object.count += 1;
    this.#fieldCount += 1;
    if (this.#fieldCount > MAX_TOTAL_FIELDS) throw new NotJsonError('The body has too many fields.');
    if (object.count > MAX_FIELDS) {
      for (const each of Object.keys(fields)) delete fields[each];
      object.fields = null;
      return;
    }
    if (key === null || value === undefined) return;
    fields[key] = key in fields && !isSame(fields[key], value) ? contradictionOf(fields[key], value) : value;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  if (isLosslessNumber(one) && isLosslessNumber(other)) return one.value === other.value;
  return one === other;
}
