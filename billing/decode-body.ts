/** Undoes what HTTP did to a body on its way (Content-Encoding), in bounded memory, and sees through a header that lies. */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { encodingsIn } from '../lib/wire/api.ts';
import { UnexpectedAnswerError } from './errors.ts';
import type { HttpAnswer } from './http.ts';

type Bytes = AsyncIterable<Uint8Array>;
type Decoded = AsyncGenerator<Uint8Array>;

export interface DecodeLimits {
  /** What a person calls the sender. */
  readonly endpoint: string;
  /** Of decoded bytes: a few kilobytes can stand for gigabytes. */
  readonly maxBytes: number;
}

/** More layers than any server applies. */
const MOST_LAYERS = 3;
/** JSON and CSV shrink to a tenth, the dullest of them to a hundredth; bombs to a thousandth for each layer. */
const MOST_TIMES = 200;
/** So much may be unpacked from whatever came. */
const FREE_BYTES = 16 * 1024 * 1024;

/**
 * The bytes as they were meant. Bytes that are gzip though no header says so are unpacked as well, and bytes that are
 * plain though a header says gzip are left alone: neither CSV nor JSON begins as gzip does.
 *
 * @throws UnexpectedAnswerError an encoding that is not known, bytes that do not decode, too many of them
 */
export async function* decoded(body: Bytes, headers: HttpAnswer['headers'], limits: DecodeLimits): Decoded {
  const { endpoint, maxBytes } = limits;
  const encodings = encodingsIn(headers['content-encoding']).toReversed();
  if (encodings.length > MOST_LAYERS) {
    throw new UnexpectedAnswerError(endpoint, `the answer is encoded ${encodings.length} times.`);
  }
  let wireBytes = 0;
  let bytes: Bytes = (async function* () {
    for await (const chunk of body) {
      wireBytes += chunk.length;
      yield chunk;
    }
  })();
  // After each layer: one that swells may shrink again in the next, and cost a core for minutes.
  for (const encoding of [...encodings, null]) {
    bytes = inProportion(undone(bytes, encoding, limits), () => wireBytes, endpoint);
  }
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) {
      throw new UnexpectedAnswerError(endpoint, `the answer is over ${maxBytes} bytes.`);
    }
    yield chunk;
  }
}

/** @throws UnexpectedAnswerError what is unpacked is out of all proportion to what came */
async function* inProportion(bytes: Bytes, wireBytes: () => number, endpoint: string): Decoded {
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    sizeBytes += chunk.length;
    if (sizeBytes > FREE_BYTES && sizeBytes > MOST_TIMES * wireBytes()) {
      const what = `the answer unpacks to more than ${MOST_TIMES} times the ${wireBytes()} bytes that came.`;
      throw new UnexpectedAnswerError(endpoint, what);
    }
    yield chunk;
  }
}

/** One layer less. @param encoding null: none was named, so only what is plainly gzip is undone */
async function* undone(body: Bytes, encoding: string | null, { endpoint }: DecodeLimits): Decoded {
  const all = body[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let head = Buffer.alloc(0);
  // A chunk may be a single byte.
  while (head.length < 2) {
    const { value, done } = await all.next();
    if (done === true) break;
    first.push(value);
    head = Buffer.concat([head, value]);
  }
  const rest: Bytes = (async function* () {
    yield* first;
    yield* { [Symbol.asyncIterator]: () => all };
  })();
  const decoder = decoderFor(encoding, head, endpoint);
  if (decoder === null) {
    yield* rest;
    return;
  }
  yield* through(rest, decoder, { endpoint, encoding: encoding ?? 'gzip' });
}

function decoderFor(encoding: string | null, head: Uint8Array, endpoint: string): zlib.Gunzip | null {
  const [one = 0, two = 0] = head;
  const isGzip = one === 0x1f && two === 0x8b;
  switch (encoding) {
    case null:
    case 'gzip':
      return isGzip ? zlib.createGunzip() : null;
    case 'deflate': {
      // The RFC means zlib's envelope, many servers send the bare stream.
      const hasEnvelope = (one & 0x0f) === 8 && (one * 256 + two) % 31 === 0;
      return hasEnvelope ? zlib.createInflate() : zlib.createInflateRaw();
    }
    case 'br':
      return zlib.createBrotliDecompress();
    default:
      throw new UnexpectedAnswerError(endpoint, `the answer is encoded as ${encoding}, which is not known.`);
  }
}

async function* through(
  bytes: Bytes,
  decoder: zlib.Gunzip,
  { endpoint, encoding }: { readonly endpoint: string; readonly encoding: string },
): Decoded {
  const source = Readable.from(bytes, { objectMode: false });
  let cause: unknown = null;
  const running = pipeline(source, decoder).catch((error: unknown) => {
    cause = error;
  });
  try {
    yield* decoder as AsyncIterable<Uint8Array>;
    await running;
  } catch (error) {
    await running;
    const first = cause ?? error;
    if (!isOfZlib(first)) throw first;
    throw new UnexpectedAnswerError(endpoint, `the answer is not the ${encoding} that it says it is.`, first);
  } finally {
    source.destroy();
    decoder.destroy();
  }
}

function isOfZlib(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('Z_') || code.startsWith('ERR__');
}
