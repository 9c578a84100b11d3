/**
 * Reads one answer of HTTP/1.1 as it comes in, strictly: where it is not certain how it goes on, that is an error
 * (RFC 9112). It keeps no headers, since of an answer only the status and the first part of the body are logged.
 */
import { READ_RESPONSE_BYTES } from './post-once.js';

export interface Answer {
  readonly status: number;
  /** Without its framing; of a long one only what was read before it was given up. */
  readonly body: Buffer;
  /** For how long the connection may be used again, in milliseconds; 0 when it may not. */
  readonly reusableMs: number;
}

/** What its head tells of an answer. */
interface Head {
  readonly status: number;
  /** Bytes of the body, or what its end is told by. */
  readonly framing: number | 'chunks' | 'close';
  readonly reusableMs: number;
}

const MOST_HEAD_CHARACTERS = 16 * 1024;
const MOST_CHUNK_LINE_CHARACTERS = 1_024;
/** Unless the endpoint says for how long it keeps a connection. */
const USUALLY_REUSABLE_MS = 4_000;
/** An endpoint that is about to close a connection is not sent anything on it. */
const CLOSING_MS = 2_000;

const HEAD =
  /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [^\r\n]*)?((?:\r\n[!#$%&'*+\-.^_`|~\w]+:[\t\x20-\x7e\x80-\xff]*)*)$/;
const FRAMING_FIELD =
  /\r\n(content-length|transfer-encoding|connection|keep-alive):[\t ]*([^\r]*?)[\t ]*(?=\r|$)/gi;
const CHUNK_SIZE = /^([\da-f]{1,8})[\t ]*(?:;.*)?$/i;

export class AnswerReader {
  /** What has come and was not read yet, a character for each byte. */
  #text = '';
  #body = '';
  #head: Head | null = null;
  #chunkLeft = 0;
  #nextLine: 'size' | 'end of chunk' | 'trailer' = 'size';

  /** @param bytes a character for each @returns the answer once it is over @throws Error when it is none */
  push(bytes: string): Answer | null {
    this.#text += bytes;
    this.#head ??= this.#readHead();
    if (this.#head === null) return null;
    const isWhole = this.#head.framing === 'chunks' ? this.#readChunks() : this.#readBody(this.#head.framing);
    if (!isWhole && this.#body.length <= READ_RESPONSE_BYTES) return null;
    return this.#answer(this.#head, isWhole && this.#text === '');
  }

  /** @returns the answer that the end of the connection is the end of; null when it is none */
  end(): Answer | null {
    return this.#head?.framing === 'close' ? this.#answer(this.#head, false) : null;
  }

  #answer({ status, reusableMs }: Head, isClean: boolean): Answer {
    return { status, body: Buffer.from(this.#body, 'latin1'), reusableMs: isClean ? reusableMs : 0 };
  }

  /** Interim answers are passed over: they say nothing that matters here. */
  #readHead(): Head | null {
    for (;;) {
      const end = this.#text.indexOf('\r\n\r\n');
      if ((end < 0 ? this.#text.length : end) > MOST_HEAD_CHARACTERS) {
        throw new Error(`The answer's headers are longer than ${MOST_HEAD_CHARACTERS} bytes.`);
      }
      if (end < 0) return null;
      const head = headOf(this.#text.slice(0, end));
      this.#text = this.#text.slice(end + 4);
      if (head.status >= 200) return head;
    }
  }

  #readBody(framing: number | 'close'): boolean {
    if (framing === 'close') this.#take(this.#text.length);
    else this.#take(framing - this.#body.length);
    return this.#body.length === framing;
  }

  #readChunks(): boolean {
    for (;;) {
      this.#chunkLeft -= this.#take(this.#chunkLeft);
      const end = this.#chunkLeft > 0 ? -1 : this.#text.indexOf('\r\n');
      if (end < 0 && this.#text.length > MOST_CHUNK_LINE_CHARACTERS) throw malformed('the line of a chunk');
      if (end < 0) return false;
      const line = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 2);
      if (this.#nextLine === 'trailer') {
        if (line === '') return true;
      } else if (this.#nextLine === 'end of chunk') {
        if (line !== '') throw malformed('the end of a chunk');
        this.#nextLine = 'size';
      } else {
        const digits = CHUNK_SIZE.exec(line)?.[1];
        if (digits === undefined) throw malformed('the size of a chunk');
        this.#chunkLeft = Number.parseInt(digits, 16);
        this.#nextLine = this.#chunkLeft === 0 ? 'trailer' : 'end of chunk';
      }
    }
  }

  /** @returns how many bytes there were of those wanted */
  #take(wanted: number): number {
    if (wanted <= 0) return 0;
    const taken = this.#text.slice(0, wanted);
    this.#body += taken;
    this.#text = this.#text.slice(wanted);
    return taken.length;
  }
}

/** In a burst one answer begins as the other, to the second in its date. */
let last: { readonly text: string; readonly head: Head } | null = null;

function headOf(text: string): Head {
  if (last?.text !== text) last = { text, head: parseHead(text) };
  return last.head;
}

function parseHead(text: string): Head {
  const [, minor, digits, fields = ''] = HEAD.exec(text) ?? [];
  const status = Number(digits);
  if (minor === undefined || status === 101) throw malformed('the head');
  const found = new Map<string, string>();
  for (const [, name = '', value = ''] of fields.matchAll(FRAMING_FIELD)) {
    const key = name.toLowerCase();
    found.set(key, found.has(key) ? `${found.get(key)}, ${value}` : value);
  }
  const framing = status < 200 || status === 204 || status === 304 ? 0 : framingOf(found);
  const options = (found.get('connection') ?? '').toLowerCase().split(/[\t ]*,[\t ]*/);
  const isKept = minor === '1' ? !options.includes('close') : options.includes('keep-alive');
  const announced = /\btimeout=(\d{1,9})\b/i.exec(found.get('keep-alive') ?? '')?.[1];
  const keptMs = announced === undefined ? USUALLY_REUSABLE_MS : Number(announced) * 1_000 - CLOSING_MS;
  return { status, framing, reusableMs: isKept && framing !== 'close' ? Math.max(keptMs, 0) : 0 };
}

function framingOf(found: ReadonlyMap<string, string>): Head['framing'] {
  const length = found.get('content-length');
  const encoding = found.get('transfer-encoding');
  if (encoding !== undefined) {
    if (length !== undefined || encoding.toLowerCase() !== 'chunked')
      throw malformed('the length of the body');
    return 'chunks';
  }
  if (length === undefined) return 'close';
  if (!/^\d{1,15}$/.test(length)) throw malformed('the length of the body');
  return Number(length);
}

function malformed(what: string): Error {
  return new Error(`The endpoint's answer is not HTTP as it should be: ${what}.`);
}
