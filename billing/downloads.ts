/** The files of invoices, from storage or from the service itself, into the archive: each proved on its way (spec 6, rule 8). */

import { join } from 'node:path';
import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import { sweepLeftBehind } from '../lib/files/files.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import type { FileSource } from '../lib/wire/names.ts';
import { withoutQuery } from '../lib/wire/text.ts';
import { type ApiConnection, invoicePath } from './api-connection.ts';
import type {
  BillingService,
  ExportedFile,
  FetchExportOptions,
  FetchFileOptions,
  FileTag,
} from './billing-service.ts';
import { checkAnnouncement } from './check-announcement.ts';
import { type AnswerCheck, checkedOpen } from './check-answer.ts';
import {
  HashMismatchError,
  HostNotAllowedError,
  NotModifiedError,
  RefusedError,
  ServerFaultError,
  SizeMismatchError,
  UnexpectedAnswerError,
  UnknownInvoiceError,
} from './errors.ts';
import { isSameFile, tagOf, unlessHeaders } from './file-tag.ts';
import { isListedHost } from './host-list.ts';
import { type Http, type HttpStream, hostOf } from './http.ts';
import { createLimiter } from './limiter.ts';
import { type ReceivedFile, type ReceiveRequest, receiveFile } from './receive-file.ts';
import { openStorage } from './storage.ts';
import { DOWNLOAD_LIMITS, type TransferLimits } from './transfer-watch.ts';

/** What `downloadCsv` is asked for. */
export type DownloadRequest = Parameters<BillingService['downloadCsv']>[0];

interface DownloadsOptions {
  readonly settings: Pick<Settings, 'service' | 'dataDir'>;
  readonly archive: Archive;
  readonly http: Http;
  readonly check: AnswerCheck;
  readonly api: ApiConnection;
  readonly now: () => Date;
  readonly metrics: Metrics | undefined;
  readonly limits: Partial<TransferLimits>;
}

/** Files at once from one host: more of them only share its bandwidth. */
export const DOWNLOADS_PER_HOST = 6;

export class Downloads {
  readonly #archive: Archive;
  readonly #now: () => Date;
  readonly #http: Http;
  readonly #check: AnswerCheck;
  readonly #api: ApiConnection;
  readonly #downloadHosts: readonly string[];
  readonly #limit = createLimiter(DOWNLOADS_PER_HOST);
  /** What every transfer has in common. */
  readonly #transfer: { readonly folder: string; readonly limits: TransferLimits };
  readonly #downloaded: ReturnType<Metrics['counter']> | undefined;
  #swept: Promise<void> | null = null;

  constructor({ settings, archive, http, check, api, now, metrics, limits }: DownloadsOptions) {
    this.#archive = archive;
    this.#now = now;
    this.#http = http;
    this.#check = check;
    this.#api = api;
    this.#downloadHosts = settings.service.downloadHosts;
    this.#transfer = { folder: join(settings.dataDir, 'tmp'), limits: { ...DOWNLOAD_LIMITS, ...limits } };
    this.#downloaded = metrics?.counter('downloaded_bytes_total');
  }

  /** @throws as `BillingService.downloadCsv` */
  async fromStorage(request: DownloadRequest, options: FetchFileOptions): Promise<ArchivedFile> {
    const { invoiceId, location, source } = request;
    const { presignedUrl: url, fileHashSha256: sha256, fileSizeBytes: sizeBytes } = location;
    await checkAnnouncement(invoiceId, location, this.#transfer.folder);
    this.#allow(url, source);
    const known = await this.#archive.file(sha256);
    if (known !== null && known.sizeBytes !== sizeBytes) {
      throw new SizeMismatchError(invoiceId, sizeBytes, known.sizeBytes);
    }
    const file = known ?? (await this.#receive(request, options));
    return this.#remember(file, { invoiceId, source, from: withoutQuery(url) });
  }

  /** @throws as `BillingService.exportCsv` */
  async fromService(invoiceId: string, options: FetchExportOptions): Promise<ExportedFile> {
    try {
      return await this.#export(invoiceId, options);
    } catch (error) {
      // It may be the condition that the service does not take (405, 412, 501): then all of the file is worth asking for.
      const isAnswer = error instanceof RefusedError || error instanceof ServerFaultError;
      if (options.unless === undefined || !isAnswer) throw error;
      const { unless: _, ...plain } = options;
      return this.#export(invoiceId, plain);
    }
  }

  async #export(
    invoiceId: string,
    { signal, onProgress, unless }: FetchExportOptions,
  ): Promise<ExportedFile> {
    let tag: FileTag | null = null;
    const path = `${invoicePath(invoiceId)}/export-csv`;
    const asked = { url: this.#api.url(path), endpoint: `export-csv of ${invoiceId}` };
    const open = async (rule: AbortSignal): Promise<HttpStream> => {
      const headers = unless === undefined ? {} : unlessHeaders(unless);
      const call = { method: 'GET', path, ...asked, accept: 'text/csv, */*;q=0.5', signal: rule } as const;
      const answer = await this.#api.open({ ...call, headers });
      if (answer.status === 404) throw new UnknownInvoiceError(invoiceId);
      tag = tagOf(answer.headers);
      return checkedOpen(answer, () => {
        const isSame = unless !== undefined && (answer.status === 304 || isSameFile(unless, answer.headers));
        if (isSame) throw new NotModifiedError(invoiceId);
        this.#check.api(answer, asked);
      });
    };
    const tooLong = (bytes: number) =>
      new UnexpectedAnswerError(asked.endpoint, `${bytes} bytes and no end.`);
    const file = await this.#fetch({ ...asked, open, expectedBytes: null, tooLong, signal, onProgress });
    await this.#remember(file, { invoiceId, source: 'export', from: null });
    return tag === null ? file : { ...file, tag };
  }

  /** Anybody can put a URL into a webhook; only the service itself answers an authenticated call with one. */
  #allow(url: string, source: DownloadRequest['source']): void {
    const isHttps = URL.canParse(url) && new URL(url).protocol === 'https:';
    if (!isHttps) throw new HostNotAllowedError(hostOf(url), 'not-https');
    if (source === 'event' && !isListedHost(url, this.#downloadHosts))
      throw new HostNotAllowedError(hostOf(url), 'not-listed');
  }

  /** Proves the bytes by size and hash before they enter the archive (spec 6, rule 8). */
  async #receive({ invoiceId, location }: DownloadRequest, watcher: FetchFileOptions): Promise<ArchivedFile> {
    const { presignedUrl: url, fileHashSha256: expected, fileSizeBytes: expectedBytes } = location;
    const endpoint = hostOf(url);
    const tooLong = (bytes: number) => new SizeMismatchError(invoiceId, expectedBytes, bytes);
    const open = (rule: AbortSignal) =>
      openStorage({ http: this.#http, check: this.#check }, { invoiceId, location }, rule);
    const { signal, onProgress } = watcher;
    return this.#fetch({ url, endpoint, open, expectedBytes, tooLong, signal, onProgress }, (file) => {
      // Storage that keeps a file encoded may have announced the hash of the bytes that it keeps.
      const isAnnounced = [file, file.onTheWire].some(
        ({ sha256, sizeBytes }) => sha256 === expected && sizeBytes === expectedBytes,
      );
      if (isAnnounced) return;
      const { sha256: actual, sizeBytes } = file;
      throw sizeBytes === expectedBytes
        ? new HashMismatchError(invoiceId, { expected, actual })
        : new SizeMismatchError(invoiceId, expectedBytes, sizeBytes);
    });
  }

  /**
   * Into the archive, unless `prove` throws. Waits for a free connection to the host, and reports progress meanwhile so that
   * the heartbeat goes on.
   */
  async #fetch(
    request: Omit<ReceiveRequest, 'folder' | 'limits'>,
    prove: (file: ReceivedFile) => void = () => undefined,
  ): Promise<ArchivedFile> {
    this.#swept ??= sweepLeftBehind(this.#transfer.folder);
    await this.#swept;
    const waiting = setInterval(() => request.onProgress?.({ bytesDone: 0, bytesTotal: null }), 1_000);
    try {
      return await this.#limit(hostOf(request.url), request.signal, () => {
        clearInterval(waiting);
        return receiveFile({ ...this.#transfer, ...request }, (path, file) => {
          prove(file);
          const { onTheWire: _, ...kept } = file;
          this.#downloaded?.inc(kept.sizeBytes);
          return this.#archive.putFile(path, kept);
        });
      });
    } finally {
      clearInterval(waiting);
    }
  }

  /** The archive keeps where an invoice's bytes came from, so that `explain` and `rebuild` can say it. */
  async #remember(
    file: ArchivedFile,
    origin: { readonly invoiceId: string; readonly source: FileSource; readonly from: string | null },
  ): Promise<ArchivedFile> {
    const { sha256, sizeBytes } = file;
    const at = this.#now().toISOString();
    await this.#archive.putFact({ kind: 'file', at, sha256, sizeBytes, ...origin });
    return file;
  }
}
