import { statfsSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import { dataFolder } from '../lib/files/data-folder.ts';
import { makeFolder } from '../lib/files/durable-files.ts';
import { sweepLeftBehind } from '../lib/files/files.ts';
import type { Metrics } from '../lib/metrics.ts';
import { withoutQuery } from '../lib/text.ts';
import { encodingsIn } from '../lib/wire/api.ts';
import type { ArchivedFile, FileTag } from '../lib/wire/csv-file.ts';
import type { ExportLocation } from '../lib/wire/invoice-event.ts';
import type { FileSource } from '../lib/wire/names.ts';
import { isListedUrl, targetOf } from './address-guard.ts';
import { checkStorage, openAnswerAfter, readRefusal } from './answers.ts';
import { type Api, type ApiCall, invoicePath } from './api.ts';
import type { BillingService, CallOptions, ExportedFile, FetchExportOptions } from './billing-service.ts';
import { BillingError, hostNotAllowed, isBillingError, sizeMismatch } from './errors.ts';
import { HostTurns } from './host-turns.ts';
import { type Http, type HttpStream, hostOf } from './http.ts';
import {
  DOWNLOAD_LIMITS,
  type ReceivedFile,
  type ReceiveRequest,
  receiveFile,
  type TransferLimits,
} from './receive-file.ts';

export type DownloadRequest = Parameters<BillingService['downloadCsv']>[0];

interface DownloadsOptions {
  readonly settings: Pick<Settings, 'service' | 'dataDir'>;
  readonly archive: Archive;
  readonly http: Http;
  readonly api: Api;
  readonly metrics: Metrics | undefined;
  readonly limits: Partial<TransferLimits>;
  readonly onSlowHost: (host: string, isSlow: boolean) => void;
}

/** A connection and its first byte take so long at a busy storage; further attempts get more. */
const MIN_WINDOW_MS = 3_000;
const SHA256_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export class Downloads {
  readonly #options: DownloadsOptions;
  readonly #folder: string;
  readonly #limits: TransferLimits;
  readonly #turns: HostTurns;
  readonly #downloaded: ReturnType<Metrics['counter']> | undefined;
  #swept: Promise<void> | null = null;

  constructor(options: DownloadsOptions) {
    this.#options = options;
    this.#folder = dataFolder(options.settings.dataDir).temporary;
    this.#limits = { ...DOWNLOAD_LIMITS, ...options.limits };
    this.#turns = new HostTurns({ onSlow: options.onSlowHost });
    this.#downloaded = options.metrics?.counter('downloaded_bytes_total');
  }

  async fromStorage(request: DownloadRequest, options: CallOptions): Promise<ArchivedFile> {
    const { invoiceId, location, source } = request;
    const { presignedUrl: url, fileHashSha256: sha256, fileSizeBytes: sizeBytes } = location;
    await checkAnnouncement(invoiceId, location, this.#folder);
    this.#checkUrl(url, source);
    const known = await this.#options.archive.file(sha256);
    if (known !== null && known.sizeBytes !== sizeBytes) {
      throw sizeMismatch(invoiceId, sizeBytes, known.sizeBytes);
    }
    const file = known ?? (await this.#receive(request, options));
    return this.#recordSource(file, { invoiceId, source, from: withoutQuery(url) });
  }

  async fromService(invoiceId: string, options: FetchExportOptions): Promise<ExportedFile> {
    try {
      return await this.#export(invoiceId, options);
    } catch (error) {
      // A service may refuse the condition itself (405, 412, 501).
      const isAnswer = isBillingError(error, 'refused', 'forbidden', 'server-fault');
      if (options.unless === undefined || !isAnswer) throw error;
      const { unless: _, ...unconditional } = options;
      return this.#export(invoiceId, unconditional);
    }
  }

  async #export(invoiceId: string, { signal, unless }: FetchExportOptions): Promise<ExportedFile> {
    const { api } = this.#options;
    let tag: FileTag | null = null;
    const path = `${invoicePath(invoiceId)}/export-csv`;
    const endpoint = `export-csv of ${invoiceId}`;
    const call: Omit<ApiCall, 'signal'> = {
      ...{ method: 'GET', path, endpoint, accept: 'text/csv, */*;q=0.5' },
      headers: unless === undefined ? {} : conditionOf(unless),
      missing: new BillingError('unknown-invoice', [invoiceId]),
    };
    const open = (transferSignal: AbortSignal): Promise<HttpStream> =>
      api.open({ ...call, signal: transferSignal }, ({ status, headers }) => {
        tag = tagOf(headers);
        const isSame = unless !== undefined && (status === 304 || isSameFile(unless, headers));
        if (isSame) throw new BillingError('not-modified', [invoiceId]);
      });
    const tooLong = (bytes: number) =>
      new BillingError('unexpected-answer', [endpoint, `the file exceeds ${bytes} bytes.`]);
    const file = await this.#fetch({
      key: invoiceId,
      url: api.url(path),
      endpoint,
      open,
      expectedBytes: null,
      tooLong,
      signal,
    });
    await this.#recordSource(file, { invoiceId, source: 'export', from: null });
    return tag === null ? file : { ...file, tag };
  }

  /** A webhook may contain any URL; one from an authenticated call comes from the service itself. */
  #checkUrl(url: string, source: DownloadRequest['source']): void {
    targetOf(url);
    if (source === 'event' && !isListedUrl(url, this.#options.settings.service.downloadHosts)) {
      throw hostNotAllowed(hostOf(url), 'not-listed');
    }
  }

  async #receive({ invoiceId, location }: DownloadRequest, { signal }: CallOptions): Promise<ArchivedFile> {
    const { presignedUrl: url, fileHashSha256: expected, fileSizeBytes: expectedBytes } = location;
    const request = {
      key: invoiceId,
      url,
      endpoint: hostOf(url),
      open: (transferSignal: AbortSignal) => this.#openStorage(invoiceId, location, transferSignal),
      expectedBytes,
      tooLong: (bytes: number) => sizeMismatch(invoiceId, expectedBytes, bytes),
      signal,
    };
    return this.#fetch(request, (file) => {
      // Storage that keeps files compressed may have announced the hash of the compressed bytes.
      const isAnnounced = [file, file.onTheWire].some(
        ({ sha256, sizeBytes }) => sha256 === expected && sizeBytes === expectedBytes,
      );
      if (isAnnounced) return;
      if (file.sizeBytes !== expectedBytes) throw sizeMismatch(invoiceId, expectedBytes, file.sizeBytes);
      throw new BillingError('hash-mismatch', [invoiceId, expected, file.sha256]);
    });
  }

  async #openStorage(invoiceId: string, location: ExportLocation, signal: AbortSignal): Promise<HttpStream> {
    const { http } = this.#options;
    const { presignedUrl: url, fileSizeBytes: expectedBytes } = location;
    // The request has no token of ours, because the URL contains its own credentials.
    const stream = await http.open({ method: 'GET', url, signal });
    const answer = stream.status === 200 ? stream : await readRefusal(stream, { url, signal });
    return openAnswerAfter(answer, () => {
      checkStorage(answer, hostOf(url));
      // The length of an encoded body is not that of the file.
      if (encodingsIn(answer.headers['content-encoding']).length > 0) return;
      const length = Number(answer.headers['content-length'] ?? expectedBytes);
      if (length !== expectedBytes) throw sizeMismatch(invoiceId, expectedBytes, length);
    });
  }

  async #fetch(
    { key, ...request }: Omit<ReceiveRequest, 'folder' | 'limits'> & { readonly key: string },
    prove: (file: ReceivedFile) => void = () => undefined,
  ): Promise<ArchivedFile> {
    this.#swept ??= sweepLeftBehind(this.#folder);
    await this.#swept;
    const host = hostOf(request.url);
    return this.#turns.run(host, { key, signal: request.signal }, (attempt) => {
      const limits = limitsFor(request.expectedBytes, attempt, this.#limits);
      const transfer = { ...request, folder: this.#folder, limits };
      return receiveFile(transfer, (path, { onTheWire, ...file }) => {
        prove({ ...file, onTheWire });
        this.#downloaded?.inc(file.sizeBytes);
        return this.#options.archive.putFile(path, file);
      });
    });
  }

  async #recordSource(
    file: ArchivedFile,
    origin: { readonly invoiceId: string; readonly source: FileSource; readonly from: string | null },
  ): Promise<ArchivedFile> {
    const { sha256, sizeBytes } = file;
    const at = new Date().toISOString();
    await this.#options.archive.putFact({ kind: 'file', at, sha256, sizeBytes, ...origin });
    return file;
  }
}

/** A small file may not take the time of a large one: its window is that of its bytes at the least rate. */
function limitsFor(expectedBytes: number | null, attempt: number, limits: TransferLimits): TransferLimits {
  if (expectedBytes === null || limits.minBytesPerSecond === 0) return limits;
  const ownMs = Math.max(MIN_WINDOW_MS, (expectedBytes * 1_000) / limits.minBytesPerSecond);
  return { ...limits, throughputWindowMs: Math.min(limits.throughputWindowMs, ownMs * 2 ** attempt) };
}

/** Throws for an announcement that no file can match. Free space is not checked here: space can be made. */
async function checkAnnouncement(
  invoiceId: string,
  { presignedUrl, fileHashSha256, fileSizeBytes }: ExportLocation,
  folder: string,
): Promise<void> {
  const refuse = (problem: string): never => {
    throw new BillingError('impossible-announcement', [invoiceId, problem]);
  };
  if (!URL.canParse(presignedUrl)) refuse('its address is not a URL');
  if (!/^[0-9a-f]{64}$/.test(fileHashSha256)) refuse('its hash is not a SHA-256');
  if (fileHashSha256 === SHA256_OF_NOTHING) refuse('its hash is that of an empty file');
  if (!Number.isSafeInteger(fileSizeBytes) || fileSizeBytes < 1) refuse(`a size of ${fileSizeBytes} bytes`);
  await makeFolder(folder);
  const { blocks, bsize } = statfsSync(folder);
  const diskBytes = blocks * bsize;
  if (fileSizeBytes > diskBytes) {
    refuse(`${fileSizeBytes} bytes exceed the size of the disk of ${folder}, ${diskBytes}`);
  }
}

function tagOf(headers: IncomingHttpHeaders): FileTag | null {
  const { etag = null, 'last-modified': lastModified = null } = headers;
  return etag === null && lastModified === null ? null : { etag, lastModified };
}

function conditionOf({ etag, lastModified }: FileTag): Readonly<Record<string, string>> {
  if (etag !== null) return { 'if-none-match': etag };
  return lastModified === null ? {} : { 'if-modified-since': lastModified };
}

/** For services that ignore conditions. `W/` means that the encoding may differ; a date alone may lag behind. */
function isSameFile(tag: FileTag, headers: IncomingHttpHeaders): boolean {
  const strong = (etag: string): string => etag.replace(/^W\//, '');
  return tag.etag !== null && strong(tag.etag) === strong(headers.etag ?? '');
}
