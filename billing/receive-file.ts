import { createHash } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { makeFolder, removeIfThere } from '../lib/files/durable-files.ts';
import { temporaryName } from '../lib/files/files.ts';
import { RESERVED_BY_DOWNLOADS_BYTES } from '../lib/health/free-space.ts';
import { messageOf, systemCode } from '../lib/system-errors.ts';
import { printable } from '../lib/text.ts';
import { encodingsIn } from '../lib/wire/api.ts';
import { CSV_HEADERS, type CsvScan } from '../lib/wire/csv-file.ts';
import { CsvScanner } from '../lib/wire/csv-scanner.ts';
import { formatOf } from '../lib/wire/file-format.ts';
import { decoded } from './decode-body.ts';
import { BillingError } from './errors.ts';
import { discardBody, type HttpStream, hostOf, toBillingError } from './http.ts';

/** A time limit between two chunks alone would not end a slow drip (hazard 35). */
export interface TransferLimits {
  readonly totalDeadlineMs: number;
  readonly minBytesPerSecond: number;
  readonly throughputWindowMs: number;
  readonly maxUnannouncedBytes: number;
}

/** The activity around a download times out after 15 minutes; ours ends first, and gives the reason. */
export const DOWNLOAD_LIMITS: TransferLimits = {
  totalDeadlineMs: 14 * 60_000,
  minBytesPerSecond: 8 * 1024,
  throughputWindowMs: 20_000,
  maxUnannouncedBytes: 20 * 1024 ** 3,
};

/** TLS delivers chunks of 16 KiB; larger blocks cost a third less to hash, scan and write. */
const BLOCK_BYTES = 512 * 1024;

export interface ReceivedFile {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly scan: CsvScan;
  /** Hash and size of the bytes before decoding; an announcement may be about these or about the decoded bytes. */
  readonly onTheWire: { readonly sha256: string; readonly sizeBytes: number };
}

export interface ReceiveRequest {
  readonly url: string;
  readonly open: (signal: AbortSignal) => Promise<HttpStream>;
  readonly expectedBytes: number | null;
  readonly tooLong: (bytesDone: number) => Error;
  readonly endpoint: string;
  readonly folder: string;
  readonly limits: TransferLimits;
  readonly signal: AbortSignal | undefined;
}

/** The part file does not outlive the call unless `keep` moves it. */
export async function receiveFile<T>(
  request: ReceiveRequest,
  keep: (path: string, file: ReceivedFile) => Promise<T>,
): Promise<T> {
  return transfer(request, async (watch, signal) => {
    const part = await createPartFile(request.folder, request.expectedBytes);
    try {
      const stream = await request.open(signal);
      try {
        const file = await copy(stream, { part, watch, request });
        return await keep(part.path, file);
      } catch (error) {
        discardBody(stream.body);
        throw error;
      }
    } finally {
      await part.discard();
    }
  });
}

/** The signal aborts with the request's, or when a limit is exceeded. @throws the reason of the abort, not the error it caused */
export async function transfer<T>(
  request: Pick<ReceiveRequest, 'url' | 'limits' | 'signal'>,
  work: (watch: TransferWatch, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = request;
  const watch = watchTransfer(request);
  try {
    return await work(watch, signal === undefined ? watch.signal : AbortSignal.any([signal, watch.signal]));
  } catch (error) {
    signal?.throwIfAborted();
    watch.signal.throwIfAborted();
    throw error;
  } finally {
    watch.stop();
  }
}

interface Copying {
  readonly part: PartFile;
  readonly watch: TransferWatch;
  readonly request: ReceiveRequest;
}

async function copy(stream: HttpStream, { part, watch, request }: Copying): Promise<ReceivedFile> {
  const hash = createHash('sha256');
  const wire = hashWireBytes(stream, { watch, request });
  const scanner = new CsvScanner();
  let sizeBytes = 0;
  let block: Uint8Array[] = [];
  let blockBytes = 0;

  async function writeBlock(): Promise<void> {
    const bytes = Buffer.concat(block, blockBytes);
    if (sizeBytes === 0) {
      const reason = notCsvReason(bytes.subarray(0, HEAD_BYTES), stream.headers['content-type']);
      if (reason !== null) throw new BillingError('not-csv', [request.endpoint, reason]);
    }
    sizeBytes += bytes.length;
    block = [];
    blockBytes = 0;
    // The disk writes while this thread hashes and scans.
    const written = part.write(bytes);
    written.catch(() => undefined);
    hash.update(bytes);
    scanner.push(bytes);
    await written;
  }

  const bounds = { endpoint: request.endpoint, maxBytes: maxDecodedBytes(request) };
  for await (const chunk of decoded(wire.bytes, stream.headers, bounds)) {
    block.push(chunk);
    blockBytes += chunk.length;
    if (blockBytes >= BLOCK_BYTES) await writeBlock();
  }
  await writeBlock();
  watch.isComplete = true;
  await part.finish();
  const sha256 = hash.digest('hex');
  return { sha256, sizeBytes, scan: scanner.end(), onTheWire: wire.digest() ?? { sha256, sizeBytes } };
}

/** The announced size may be that of the encoded file: text rarely compresses to less than a hundredth. */
function maxDecodedBytes({ expectedBytes, limits }: ReceiveRequest): number {
  return expectedBytes === null ? limits.maxUnannouncedBytes : Math.max(100 * expectedBytes, 1024 * 1024);
}

function hashWireBytes(stream: HttpStream, { watch, request }: Omit<Copying, 'part'>) {
  const hash = createHash('sha256');
  let isEncoded = encodingsIn(stream.headers['content-encoding']).length > 0;
  const maxBytes = request.expectedBytes ?? request.limits.maxUnannouncedBytes;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytesOf(stream, request)) {
      // A body that begins like gzip is decoded without a Content-Encoding header too (decode-body.ts).
      if (watch.bytesDone === 0) isEncoded ||= chunk[0] === 0x1f;
      watch.bytesDone += chunk.length;
      // An encoding adds a few bytes to incompressible data.
      if (watch.bytesDone > maxBytes + (isEncoded ? 1_024 : 0)) throw request.tooLong(watch.bytesDone);
      if (isEncoded) hash.update(chunk);
      yield chunk;
    }
  }
  const digest = () => (isEncoded ? { sha256: hash.digest('hex'), sizeBytes: watch.bytesDone } : null);
  return { bytes: bytes(), digest };
}

/** Maps transport errors only; errors of the disk and of the archive propagate unchanged. */
export async function* bytesOf(
  { body }: HttpStream,
  request: Pick<ReceiveRequest, 'url' | 'signal'>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw toBillingError(error, request);
  }
}

const HEAD_BYTES = 1_024;
const COLUMNS = new Set(CSV_HEADERS.map((name) => name.toLowerCase()));
/** This many known column names prove the header line of an invoice, with any content type. */
const PROVING_COLUMNS = 3;
const OTHER_TYPES =
  /^(?:text\/html|application\/(?:[\w.-]+\+)?(?:json|xml|pdf|zip)|text\/(?:xml|json)|image\/)/i;

/** Returns null for a CSV, whose rules the scanner checks. @param head decoded, at most `HEAD_BYTES` */
export function notCsvReason(head: Uint8Array, contentType: string | undefined): string | null {
  if (head.length === 0) return 'the answer is empty';
  const text = new TextDecoder().decode(head);
  const [line = ''] = text.split(/[\r\n]/, 1);
  const names = line.split(/[,;\t]/).map((name) => name.trim().replace(/^"|"$/g, '').toLowerCase());
  if (names.filter((name) => COLUMNS.has(name)).length >= PROVING_COLUMNS) return null;
  const [first = ''] = text.trimStart();
  if (first === '') return 'the answer is blank';
  if ('<{['.includes(first) || text.startsWith('%PDF')) {
    return `the answer begins with ${JSON.stringify(printable(text.trimStart(), 40))}`;
  }
  const format = formatOf(head);
  if (format !== null || head.includes(0)) return `the answer is ${format?.name ?? 'no text'}`;
  const type = contentType?.trim() ?? '';
  return OTHER_TYPES.test(type) ? `the answer is of the type ${printable(type, 60)}` : null;
}

type PartFile = Awaited<ReturnType<typeof createPartFile>>;

/** One per attempt: an attempt that was never cancelled cannot write into the next one's file. @throws BillingError `disk-full` */
export async function createPartFile(folder: string, expectedBytes: number | null) {
  await makeFolder(folder);
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  const needBytes = (expectedBytes ?? 0) + RESERVED_BY_DOWNLOADS_BYTES;
  if (freeBytes < needBytes) {
    const mib = (bytes: number): string => (bytes / 1024 ** 2).toFixed(0);
    throw new BillingError('disk-full', [
      folder,
      `: ${mib(freeBytes)} MiB are free, ${mib(needBytes)} MiB are needed`,
    ]);
  }
  const path = temporaryName(folder);
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    throw asDiskFullError(error, folder);
  });
  return {
    path,
    /** Writes one block at a time; the caller must not change the bytes meanwhile. @throws BillingError `disk-full` */
    async write(bytes: Uint8Array): Promise<void> {
      try {
        await file.writeFile(bytes);
      } catch (error) {
        throw asDiskFullError(error, folder);
      }
    },
    finish: () => file.close(),
    async discard(): Promise<void> {
      await file.close();
      await removeIfThere(path);
    },
  };
}

function asDiskFullError(error: unknown, folder: string): unknown {
  if (systemCode(error) !== 'ENOSPC' && systemCode(error) !== 'EDQUOT') return error;
  return new BillingError('disk-full', [folder, `: ${messageOf(error)}`], { cause: error });
}

export interface TransferWatch {
  bytesDone: number;
  /** True when all bytes have arrived: storing them in the archive has a time limit of its own. */
  isComplete: boolean;
  readonly signal: AbortSignal;
  stop(): void;
}

function watchTransfer({ url, limits }: Pick<ReceiveRequest, 'url' | 'limits'>): TransferWatch {
  const controller = new AbortController();
  const startedAtMs = performance.now();
  let windowStartMs = startedAtMs;
  let windowStartBytes = 0;
  const abort = (problem: string): void =>
    controller.abort(new BillingError('deadline-exceeded', [hostOf(url), problem]));
  const watch = {
    bytesDone: 0,
    isComplete: false,
    signal: controller.signal,
    stop: () => clearInterval(timer),
  };
  const tick = (): void => {
    const nowMs = performance.now();
    if (watch.isComplete) return;
    if (nowMs - startedAtMs > limits.totalDeadlineMs) {
      abort(`took longer than ${limits.totalDeadlineMs / 60_000} minutes`);
    }
    if (nowMs - windowStartMs < limits.throughputWindowMs) return;
    const bytesPerSecond = ((watch.bytesDone - windowStartBytes) * 1_000) / (nowMs - windowStartMs);
    if (bytesPerSecond < limits.minBytesPerSecond) {
      abort(
        `sent ${Math.round(bytesPerSecond)} bytes per second, the minimum is ${limits.minBytesPerSecond}`,
      );
    }
    windowStartMs = nowMs;
    windowStartBytes = watch.bytesDone;
  };
  const timer = setInterval(tick, Math.min(1_000, limits.throughputWindowMs, limits.totalDeadlineMs));
  return watch;
}
