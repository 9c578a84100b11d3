import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { encodingsIn } from '../lib/wire/api.ts';
import { BillingError } from './errors.ts';

type Bytes = AsyncIterable<Uint8Array>;
type Decoded = AsyncGenerator<Uint8Array>;

export interface DecodeLimits {
  readonly endpoint: string;
  readonly maxBytes: number;
}

const MAX_LAYERS = 3;
/** JSON and CSV compress to a hundredth at most; bombs to a thousandth per layer. */
const MAX_RATIO = 200;
const UNCHECKED_BYTES = 16 * 1024 * 1024;

/**
 * Gzip without a header is decoded, plain bytes with a gzip header pass unchanged: neither CSV nor JSON begins like gzip.
 * @throws BillingError `unexpected-answer`: an unknown encoding, bytes that cannot be decoded, or too many bytes
 */
export async function* decoded(body: Bytes, headers: IncomingHttpHeaders, limits: DecodeLimits): Decoded {
  const { endpoint, maxBytes } = limits;
  const encodings = encodingsIn(headers['content-encoding']).toReversed();
  if (encodings.length > MAX_LAYERS) {
    throw new BillingError('unexpected-answer', [
      endpoint,
      `the answer is encoded ${encodings.length} times.`,
    ]);
  }
  let wireBytes = 0;
  let bytes: Bytes = (async function* () {
    for await (const chunk of body) {
      wireBytes += chunk.length;
      yield chunk;
    }
  })();
  // The limit applies after each layer, because a huge layer may shrink again in the next one.
  for (const encoding of [...encodings, null]) {
    bytes = refuseBombs(withoutLayer(bytes, encoding, limits), () => wireBytes, endpoint);
  }
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) {
      throw new BillingError('unexpected-answer', [endpoint, `the answer is over ${maxBytes} bytes.`]);
    }
    yield chunk;
  }
}

async function* refuseBombs(bytes: Bytes, wireBytes: () => number, endpoint: string): Decoded {
  let sizeBytes = 0;
  for await (const chunk of bytes) {
    sizeBytes += chunk.length;
    if (sizeBytes > UNCHECKED_BYTES && sizeBytes > MAX_RATIO * wireBytes()) {
      const problem = `the answer unpacks to more than ${MAX_RATIO} times the ${wireBytes()} bytes that came.`;
      throw new BillingError('unexpected-answer', [endpoint, problem]);
    }
    yield chunk;
  }
}

/** @param encoding null means that no header names it, so only gzip is recognized */
async function* withoutLayer(body: Bytes, encoding: string | null, { endpoint }: DecodeLimits): Decoded {
  const all = body[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let head = Buffer.alloc(0);
  // Two bytes are needed, and a chunk may be a single byte.
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
  yield* decodedBy(rest, decoder, { endpoint, encoding: encoding ?? 'gzip' });
}

function decoderFor(encoding: string | null, head: Uint8Array, endpoint: string): zlib.Gunzip | null {
  const [one = 0, two = 0] = head;
  const isGzip = one === 0x1f && two === 0x8b;
  switch (encoding) {
    case null:
    case 'gzip':
      return isGzip ? zlib.createGunzip() : null;
    case 'deflate': {
      // RFC 9110 means zlib's envelope by `deflate`; many servers send the bare stream.
      const hasEnvelope = (one & 0x0f) === 8 && (one * 256 + two) % 31 === 0;
      return hasEnvelope ? zlib.createInflate() : zlib.createInflateRaw();
    }
    case 'br':
      return zlib.createBrotliDecompress();
    default:
      throw new BillingError('unexpected-answer', [
        endpoint,
        `the answer is encoded as ${encoding}, which is not known.`,
      ]);
  }
}

async function* decodedBy(
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
    throw new BillingError(
      'unexpected-answer',
      [endpoint, `the answer is not the ${encoding} that its header names.`],
      { cause: first },
    );
  } finally {
    source.destroy();
    decoder.destroy();
  }
}

function isOfZlib(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('Z_') || code.startsWith('ERR__');
}
