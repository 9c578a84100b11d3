/** Takes the bytes of a CSV off the wire in one pass: hashed, scanned and written, with memory that does not grow. */

import { createHash } from 'node:crypto';
import { encodingsIn } from '../lib/wire/api.ts';
import type { CsvScan } from '../lib/wire/csv-file.ts';
import { CsvScanner } from '../lib/wire/csv-scanner.ts';
import type { DownloadProgress } from './billing-service.ts';
import { decoded } from './decode-body.ts';
import { NotCsvError } from './errors.ts';
import { asBillingError, type HttpStream } from './http.ts';
import { HEAD_BYTES, whyNoCsv } from './looks-like-csv.ts';
import { createPartFile, type PartFile } from './part-file.ts';
import { type TransferLimits, type TransferWatch, watchTransfer } from './transfer-watch.ts';

/** Chunks come off TLS in 16 KiB; gathered they cost a third less to hash, scan and write. */
const BLOCK_BYTES = 512 * 1024;

export interface ReceivedFile {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly scan: CsvScan;
  /** Of the bytes on the wire, when HTTP had encoded them: what was announced may be either. */
  readonly onTheWire: { readonly sha256: string; readonly sizeBytes: number };
}

export interface ReceiveRequest {
  readonly url: string;
  /** Opens the answer and checks its head; its signal ends the transfer too. */
  readonly open: (signal: AbortSignal) => Promise<HttpStream>;
  /** null when the size was not announced. */
  readonly expectedBytes: number | null;
  /** What to throw for a byte too many on the wire. */
  readonly tooLong: (bytesDone: number) => Error;
  /** What a person calls the sender. */
  readonly endpoint: string;
  readonly folder: string;
  readonly limits: TransferLimits;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: DownloadProgress) => void) | undefined;
}

/** Reads the whole file, then hands it to `keep` while it lies in the part file; the part file never outlives the call. */
export async function receiveFile<T>(
  request: ReceiveRequest,
  keep: (path: string, file: ReceivedFile) => Promise<T>,
): Promise<T> {
  const { signal } = request;
  const watch = watchTransfer(request);
  const rule = signal === undefined ? watch.signal : AbortSignal.any([signal, watch.signal]);
  let part: PartFile | null = null;
  try {
    // Before anything is asked for: a full disk is found out without a byte on the wire.
    part = await createPartFile(request.folder, request.expectedBytes);
    const stream = await request.open(rule);
    try {
      const file = await copy(stream, { part, watch, request });
      return await keep(part.path, file);
    } catch (error) {
      stream.body.on('error', ignored).destroy();
      throw error;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (watch.signal.aborted) throw watch.signal.reason;
    throw error;
  } finally {
    watch.stop();
    await part?.discard();
  }
}

interface Copying {
  readonly part: PartFile;
  readonly watch: TransferWatch;
  readonly request: ReceiveRequest;
}

async function copy(stream: HttpStream, { part, watch, request }: Copying): Promise<ReceivedFile> {
  const hash = createHash('sha256');
  const wire = wireOf(stream, { watch, request });
  const scanner = new CsvScanner();
  let sizeBytes = 0;
  let block: Uint8Array[] = [];
  let blockBytes = 0;

  async function take(): Promise<void> {
    const bytes = Buffer.concat(block, blockBytes);
    if (sizeBytes === 0) checkHead(bytes, stream, request);
    sizeBytes += bytes.length;
    block = [];
    blockBytes = 0;
    // The disk works while this thread hashes and scans.
    const written = part.write(bytes);
    written.catch(ignored);
    hash.update(bytes);
    scanner.push(bytes);
    await written;
  }

  const { endpoint, limits } = request;
  for await (const chunk of decoded(wire.bytes, stream.headers, {
    endpoint,
    maxBytes: mostBytes(request, limits),
  })) {
    block.push(chunk);
    blockBytes += chunk.length;
    if (blockBytes >= BLOCK_BYTES) await take();
  }
  await take();
  watch.isComplete = true;
  await part.finish();
  const sha256 = hash.digest('hex');
  return { sha256, sizeBytes, scan: scanner.end(), onTheWire: wire.digest() ?? { sha256, sizeBytes } };
}

/** What was announced may be the size of the encoded file: text rarely shrinks to less than a hundredth. */
function mostBytes({ expectedBytes }: ReceiveRequest, { maxUnannouncedBytes }: TransferLimits): number {
  return expectedBytes === null ? maxUnannouncedBytes : Math.max(100 * expectedBytes, 1024 * 1024);
}

/** The bytes as they come, counted; hashed as well when they are not yet the file's. */
function wireOf(stream: HttpStream, { watch, request }: Omit<Copying, 'part'>) {
  const hash = createHash('sha256');
  let isEncoded = encodingsIn(stream.headers['content-encoding']).length > 0;
  const mostOnTheWire = request.expectedBytes ?? request.limits.maxUnannouncedBytes;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytesOf(stream.body, request)) {
      // Gzip without a Content-Encoding header, see decode-body.ts.
      if (watch.bytesDone === 0) isEncoded ||= chunk[0] === 0x1f;
      watch.bytesDone += chunk.length;
      // An encoding adds a few bytes to what does not shrink.
      if (watch.bytesDone > mostOnTheWire + (isEncoded ? 1_024 : 0)) throw request.tooLong(watch.bytesDone);
      if (isEncoded) hash.update(chunk);
      yield chunk;
    }
  }
  const digest = () => (isEncoded ? { sha256: hash.digest('hex'), sizeBytes: watch.bytesDone } : null);
  return { bytes: bytes(), digest };
}

/** Only a CSV becomes evidence: what a service sends in its place is refused before anything is kept. */
function checkHead(bytes: Uint8Array, { headers }: HttpStream, { endpoint }: ReceiveRequest): void {
  const problem = whyNoCsv(bytes.subarray(0, HEAD_BYTES), headers['content-type']);
  if (problem !== null) throw new NotCsvError(endpoint, problem);
}

/** Only what the wire does is the network's fault: errors of the disk and the archive pass as they are. */
async function* bytesOf(body: HttpStream['body'], request: ReceiveRequest): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw asBillingError(error, request);
  }
}

function ignored(): void {
  // What is heard here was or will be heard where it is waited for.
}
