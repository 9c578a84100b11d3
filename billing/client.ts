/** The billing service over HTTPS: what its endpoints and its storage are asked, and what becomes of the files (spec 4). */

import { join } from 'node:path';
import type { Archive } from '../archive/archive.js';
import type { Settings } from '../config/settings.js';
import { parseExportLocation, parsePing } from '../contract/api.js';
import type { ArchivedFile } from '../contract/csv-file.js';
import type { ExportLocation } from '../contract/invoice-event.js';
import type { FileSource } from '../contract/names.js';
import { withoutQuery } from '../contract/url-query.js';
import { sweepLeftBehind } from '../ops/durable-files.js';
import type { Logger } from '../ops/log.js';
import type { Metrics } from '../ops/metrics.js';
import { type ApiConnection, createApiConnection } from './api-connection.js';
import type {
  BillingService,
  CallOptions,
  ExportedFile,
  FetchExportOptions,
  FetchFileOptions,
  FileTag,
  InvoiceDetails,
} from './billing-service.js';
import { checkAnnouncement } from './check-announcement.js';
import { type AnswerCheck, checkedOpen, createAnswerCheck } from './check-answer.js';
import { countedHttp } from './count-calls.js';
import {
  HashMismatchError,
  HostNotAllowedError,
  NotExportedError,
  NotModifiedError,
  RefusedError,
  ServerFaultError,
  SizeMismatchError,
  UnexpectedAnswerError,
  UnknownInvoiceError,
} from './errors.js';
import { isSameFile, tagOf, unlessHeaders } from './file-tag.js';
import { isListedHost } from './host-list.js';
import { createHttp, type Http, type HttpStream, hostOf } from './http.js';
import { createLimiter, type Limiter } from './limiter.js';
import { readDetails } from './read-details.js';
import { type ReceivedFile, receiveFile } from './receive-file.js';
import { openStorage } from './storage.js';
import { DOWNLOAD_LIMITS, type TransferLimits } from './transfer-watch.js';

export interface BillingServiceOptions {
  readonly settings: Pick<Settings, 'service' | 'partnerId' | 'wirePrefix' | 'dataDir'>;
  readonly archive: Archive;
  readonly now?: () => Date;
  readonly log?: Pick<Logger, 'debug'>;
  readonly metrics?: Metrics;
  /** Tests make them short. */
  readonly limits?: Partial<TransferLimits>;
}

type Watcher = {
  readonly [Key in keyof FetchFileOptions]: FetchFileOptions[Key] | undefined;
};

/** What `downloadCsv` is asked for. */
type DownloadRequest = Parameters<BillingService['downloadCsv']>[0];

const CONNECTIONS_PER_HOST = 16;
/** Files at once from one host: more of them only share its bandwidth. */
const DOWNLOADS_PER_HOST = 6;
const MIB = 1024 * 1024;
const CALL_LIMITS = { deadlineMs: 20_000, maxBodyBytes: MIB };
const JSON_TYPE = 'application/json';

/**
 * Settings that are missing are named by the first call that needs them.
 *
 * @throws Error at once when the CA file cannot be read
 */
export function createBillingService(options: BillingServiceOptions): BillingService {
  return new Client(options);
}

class Client implements BillingService {
  readonly #settings: BillingServiceOptions['settings'];
  readonly #archive: Archive;
  readonly #now: () => Date;
  readonly #http: Http;
  readonly #check: AnswerCheck;
  readonly #api: ApiConnection;
  readonly #limit: Limiter = createLimiter(DOWNLOADS_PER_HOST);
  /** What every transfer has in common. */
  readonly #transfer: { readonly folder: string; readonly limits: TransferLimits };
  readonly #limits: Partial<TransferLimits>;
  readonly #downloaded: ReturnType<Metrics['counter']> | undefined;
  #partnerIds: readonly string[];
  #swept: Promise<void> | null = null;

  constructor(options: BillingServiceOptions) {
    const { settings, archive, now = () => new Date(), log, metrics, limits = {} } = options;
    this.#settings = settings;
    this.#archive = archive;
    this.#now = now;
    const http = createHttp({ ...settings.service, connectionsPerHost: CONNECTIONS_PER_HOST });
    this.#http = countedHttp(http, metrics);
    this.#downloaded = metrics?.counter('downloaded_bytes_total');
    this.#check = createAnswerCheck(this.#http, now);
    this.#limits = limits;
    this.#transfer = { folder: join(settings.dataDir, 'tmp'), limits: { ...DOWNLOAD_LIMITS, ...limits } };
    this.#partnerIds = settings.partnerId === null ? [] : [settings.partnerId];
    this.#api = createApiConnection({
      ...{ settings: settings.service, http: this.#http, check: this.#check },
      onToken: ({ expiresInSeconds, partnerIds }) => {
        log?.debug({ expiresInSeconds }, 'got an access token');
        metrics?.gauge('token_obtained_timestamp_seconds').set(now().getTime() / 1_000);
        metrics?.gauge('token_expiry_timestamp_seconds').set(now().getTime() / 1_000 + expiresInSeconds);
        if (settings.partnerId === null) this.#partnerIds = partnerIds;
      },
    });
  }

  async fetchToken({ signal }: CallOptions = {}): Promise<{ readonly secondsLeft: number | null }> {
    this.#api.url('');
    await this.#api.authorise(signal);
    return { secondsLeft: this.#api.secondsLeft() };
  }

  async ping({ signal }: CallOptions = {}): Promise<void> {
    const path = '/api/v1/deliveryexperience/ping';
    const asked = { url: this.#api.url(path), endpoint: 'ping' };
    const answer = await this.#api.send(
      { method: 'GET', path, ...asked, accept: JSON_TYPE, signal },
      CALL_LIMITS,
    );
    this.#check.json(answer, asked, parsePing);
  }

  partnerIds(): readonly string[] {
    return this.#partnerIds;
  }

  async regenerateUrl(invoiceId: string, { signal }: CallOptions = {}): Promise<ExportLocation> {
    const path = `${invoicePath(invoiceId)}/regenerate-presigned-url`;
    const asked = { url: this.#api.url(path), endpoint: `regenerate-presigned-url of ${invoiceId}` };
    const answer = await this.#api.send(
      { method: 'POST', path, ...asked, accept: JSON_TYPE, signal },
      CALL_LIMITS,
    );
    if (answer.status === 404) throw new NotExportedError(invoiceId);
    return this.#check.json(answer, asked, parseExportLocation);
  }

  async lookUpInvoice(invoiceId: string, { signal }: CallOptions = {}): Promise<InvoiceDetails> {
    const path = invoicePath(invoiceId);
    const asked = { url: this.#api.url(path), endpoint: `details of ${invoiceId}` };
    const { wirePrefix } = this.#settings;
    const open = async (rule: AbortSignal): Promise<HttpStream> => {
      const answer = await this.#api.open({ method: 'GET', path, ...asked, accept: JSON_TYPE, signal: rule });
      if (answer.status === 404) throw new UnknownInvoiceError(invoiceId);
      return checkedOpen(answer, () => this.#check.api(answer, asked));
    };
    return readDetails({ ...asked, open, signal, limits: this.#limits }, { invoiceId, wirePrefix });
  }

  async downloadCsv(request: DownloadRequest, options: FetchFileOptions = {}): Promise<ArchivedFile> {
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

  async exportCsv(invoiceId: string, options: FetchExportOptions = {}): Promise<ExportedFile> {
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
    await this.#sweep();
    const file = await this.#inTurn(hostOf(asked.url), { signal, onProgress }, () =>
      receiveFile(
        { ...this.#transfer, ...asked, open, expectedBytes: null, tooLong, signal, onProgress },
        (partPath, { onTheWire: _, ...file }) => {
          this.#downloaded?.inc(file.sizeBytes);
          return this.#archive.putFile(partPath, file);
        },
      ),
    );
    await this.#remember(file, { invoiceId, source: 'export', from: null });
    return tag === null ? file : { ...file, tag };
  }

  mayDownloadFrom(url: string): boolean {
    return isListedHost(url, this.#settings.service.downloadHosts);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  /** Anybody can put a URL into a webhook; only the service itself answers an authenticated call with one. */
  #allow(url: string, source: DownloadRequest['source']): void {
    const isHttps = URL.canParse(url) && new URL(url).protocol === 'https:';
    if (!isHttps) throw new HostNotAllowedError(hostOf(url), 'not-https');
    if (source === 'event' && !this.mayDownloadFrom(url))
      throw new HostNotAllowedError(hostOf(url), 'not-listed');
  }

  /** Proves the bytes by size and hash before they enter the archive (spec 6, rule 8). */
  async #receive(
    { invoiceId, location }: DownloadRequest,
    { signal, onProgress }: FetchFileOptions,
  ): Promise<ArchivedFile> {
    const { presignedUrl: url, fileHashSha256: expected, fileSizeBytes: expectedBytes } = location;
    const tooLong = (bytes: number) => new SizeMismatchError(invoiceId, expectedBytes, bytes);
    const open = (rule: AbortSignal) =>
      openStorage({ http: this.#http, check: this.#check }, { invoiceId, location }, rule);
    await this.#sweep();
    return this.#inTurn(hostOf(url), { signal, onProgress }, () =>
      receiveFile(
        { ...this.#transfer, url, endpoint: hostOf(url), open, expectedBytes, tooLong, signal, onProgress },
        async (path, { onTheWire, ...file }) => {
          // Storage that keeps a file encoded may have announced the hash of the bytes that it keeps.
          const isAnnounced = [file, onTheWire].some(
            ({ sha256, sizeBytes }) => sha256 === expected && sizeBytes === expectedBytes,
          );
          if (!isAnnounced) throw mismatch(invoiceId, { expected, expectedBytes }, file);
          this.#downloaded?.inc(file.sizeBytes);
          return this.#archive.putFile(path, file);
        },
      ),
    );
  }

  /** Waits for a free connection to the host, and reports progress meanwhile so that the heartbeat goes on. */
  async #inTurn<T>(host: string, { signal, onProgress }: Watcher, body: () => Promise<T>): Promise<T> {
    const waiting = setInterval(() => onProgress?.({ bytesDone: 0, bytesTotal: null }), 1_000);
    try {
      return await this.#limit(host, signal, () => {
        clearInterval(waiting);
        return body();
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
    await this.#archive.putFact({
      kind: 'file',
      at: this.#now().toISOString(),
      sha256,
      sizeBytes,
      ...origin,
    });
    return file;
  }

  #sweep(): Promise<void> {
    this.#swept ??= sweepLeftBehind(this.#transfer.folder);
    return this.#swept;
  }
}

function mismatch(
  invoiceId: string,
  { expected, expectedBytes }: { readonly expected: string; readonly expectedBytes: number },
  { sha256: actual, sizeBytes }: Pick<ReceivedFile, 'sha256' | 'sizeBytes'>,
): Error {
  if (sizeBytes !== expectedBytes) return new SizeMismatchError(invoiceId, expectedBytes, sizeBytes);
  return new HashMismatchError(invoiceId, { expected, actual });
}

function invoicePath(invoiceId: string): string {
  return `/api/v1/billing/invoices/${encodeURIComponent(invoiceId)}`;
}
