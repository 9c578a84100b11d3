/** Takes the bytes of a CSV off the wire in one pass: hashed, scanned and written, with memory that does not grow. */

import { createHash } from 'node:crypto';
import type { CsvScan } from '../contract/csv-file.js';
import { CsvScanner } from '../contract/csv-scanner.js';
import type { DownloadProgress } from './billing-service.js';
import { DeadlineExceededError } from './errors.js';
import { asBillingError, type HttpStream, hostOf } from './http.js';
import { createPartFile, type PartFile } from './part-file.js';

/** How long a download may take; a drip that never stops would outlive every timeout between two chunks (hazard 35). */
export interface DownloadLimits {
  readonly totalDeadlineMs: number;
  /** Fewer bytes than this within the window mean that the server drips. */
  readonly leastBytesPerSecond: number;
  readonly throughputWindowMs: number;
  /** Of a file whose size nobody announced. */
  readonly maxUnannouncedBytes: number;
}

/** The activity around a download ends at 15 minutes; ours comes first, and says why. */
export const DOWNLOAD_LIMITS: DownloadLimits = {
  totalDeadlineMs: 14 * 60_000,
  leastBytesPerSecond: 8 * 1024,
  throughputWindowMs: 20_000,
  maxUnannouncedBytes: 20 * 1024 ** 3,
};

/** Chunks come off TLS in 16 KiB; gathered they cost a third less to hash, scan and write. */
const BLOCK_BYTES = 512 * 1024;

export interface ReceivedFile {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly scan: CsvScan;
}

export interface ReceiveRequest {
  readonly url: string;
  /** Opens the answer and judges its head; its signal ends the transfer too. */
  readonly open: (signal: AbortSignal) => Promise<HttpStream>;
  /** null when the size was not announced. */
  readonly expectedBytes: number | null;
  /** What to throw for a byte too many. */
  readonly tooLong: (bytesDone: number) => Error;
  readonly folder: string;
  readonly limits: DownloadLimits;
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
    const { body } = await request.open(rule);
    try {
      const file = await copy(body, { part, watch, request });
      return await keep(part.path, file);
    } catch (error) {
      body.on('error', ignored).destroy();
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

async function copy(
  body: HttpStream['body'],
  {
    part,
    watch,
    request,
  }: { readonly part: PartFile; readonly watch: TransferWatch; readonly request: ReceiveRequest },
): Promise<ReceivedFile> {
  const hash = createHash('sha256');
  const scanner = new CsvScanner();
  const mostBytes = request.expectedBytes ?? request.limits.maxUnannouncedBytes;
  let block: Uint8Array[] = [];
  let blockBytes = 0;

  async function take(): Promise<void> {
    const bytes = Buffer.concat(block, blockBytes);
    block = [];
    blockBytes = 0;
    // The disk works while this thread hashes and scans.
    const written = part.write(bytes);
    written.catch(ignored);
    hash.update(bytes);
    scanner.push(bytes);
    await written;
  }

  for await (const chunk of bytesOf(body, request)) {
    watch.bytesDone += chunk.length;
    if (watch.bytesDone > mostBytes) throw request.tooLong(watch.bytesDone);
    block.push(chunk);
    blockBytes += chunk.length;
    if (blockBytes >= BLOCK_BYTES) await take();
  }
  await take();
  watch.isComplete = true;
  await part.finish();
  return { sha256: hash.digest('hex'), sizeBytes: watch.bytesDone, scan: scanner.end() };
}

interface TransferWatch {
  bytesDone: number;
  /** Nothing more is to come; what follows is the archive's time. */
  isComplete: boolean;
  readonly signal: AbortSignal;
  stop(): void;
}

/** Ends a transfer that takes too long or too little, and tells of progress once a second even when none is made. */
function watchTransfer({ url, expectedBytes, limits, onProgress }: ReceiveRequest): TransferWatch {
  const controller = new AbortController();
  const startedAtMs = performance.now();
  let windowStartMs = startedAtMs;
  let windowStartBytes = 0;
  const watch = {
    bytesDone: 0,
    isComplete: false,
    signal: controller.signal,
    stop: () => clearInterval(timer),
  };
  const tick = (): void => {
    const nowMs = performance.now();
    onProgress?.({ bytesDone: watch.bytesDone, bytesTotal: expectedBytes });
    if (watch.isComplete) return;
    if (nowMs - startedAtMs > limits.totalDeadlineMs) {
      const minutes = limits.totalDeadlineMs / 60_000;
      controller.abort(
        new DeadlineExceededError(hostOf(url), `took longer than ${minutes} minutes for the file`),
      );
    }
    if (nowMs - windowStartMs < limits.throughputWindowMs) return;
    const bytesPerSecond = ((watch.bytesDone - windowStartBytes) * 1_000) / (nowMs - windowStartMs);
    if (bytesPerSecond < limits.leastBytesPerSecond) {
      const rate = `sent ${Math.round(bytesPerSecond)} bytes a second, at least ${limits.leastBytesPerSecond} are asked for`;
      controller.abort(new DeadlineExceededError(hostOf(url), rate));
    }
    windowStartMs = nowMs;
    windowStartBytes = watch.bytesDone;
  };
  const timer = setInterval(tick, Math.min(1_000, limits.throughputWindowMs, limits.totalDeadlineMs));
  return watch;
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
