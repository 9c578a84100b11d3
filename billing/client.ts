/** The billing service over HTTPS (spec 4). */

import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { ComparedClock } from '../lib/health/clocks.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import { parseExportLocation, parsePing } from '../lib/wire/api.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import { MalformedAnswerError } from '../lib/wire/json.ts';
import type { ExportLocation } from '../lib/wire/names.ts';
import { type DetailsOptions, DetailsReader } from '../lib/wire/parse-details.ts';
import { isListedHost } from './address-guard.ts';
import { type AnswerCheck, checkedOpen, createAnswerCheck } from './answers.ts';
import { type ApiCall, type ApiConnection, createApiConnection, invoicePath } from './api.ts';
import type {
  BillingService,
  CallOptions,
  ExportedFile,
  FetchExportOptions,
  InvoiceDetails,
} from './billing-service.ts';
import { decoded } from './decode-body.ts';
import { DOWNLOADS_PER_HOST, type DownloadRequest, Downloads } from './downloads.ts';
import { BillingError } from './errors.ts';
import {
  type AnswerLimits,
  createHttp,
  discard,
  type Http,
  type HttpAnswer,
  type HttpStream,
} from './http.ts';
import { bytesOf, DOWNLOAD_LIMITS, type TransferLimits, transfer } from './receive-file.ts';

export interface BillingServiceOptions {
  readonly settings: Pick<Settings, 'service' | 'partnerId' | 'wirePrefix' | 'dataDir'>;
  readonly archive: Archive;
  readonly now?: () => Date;
  readonly log?: Pick<Logger, 'debug'>;
  readonly metrics?: Metrics;
  /** Shortened by tests. */
  readonly limits?: Partial<TransferLimits>;
  /** Shortened by tests. */
  readonly callDeadlineMs?: number;
}

/** The deadline of a call counts from its turn. */
const CONCURRENT_CALLS = 16;
/** Enough for calls, downloads and the token on one host, so that no request waits for a connection within its deadline. */
const CONNECTIONS_PER_HOST = CONCURRENT_CALLS + DOWNLOADS_PER_HOST + 1;
const MIB = 1024 * 1024;
const CALL_DEADLINE_MS = 20_000;
const JSON_TYPE = 'application/json';

/** The first call reports missing settings. @throws Error the CA file cannot be read */
export function createBillingService(options: BillingServiceOptions): BillingService {
  return new Client(options);
}

class Client implements BillingService {
  readonly clock: ComparedClock;
  readonly #settings: BillingServiceOptions['settings'];
  readonly #http: Http;
  readonly #check: AnswerCheck;
  readonly #api: ApiConnection;
  readonly #downloads: Downloads;
  readonly #limits: Partial<TransferLimits>;
  readonly #callLimits: AnswerLimits;
  /** Not for token requests: calls that have their turn wait for them. */
  readonly #inTurn = createSemaphore(CONCURRENT_CALLS);
  #partnerIds: readonly string[];

  constructor(options: BillingServiceOptions) {
    const { settings, archive, now = () => new Date(), log, metrics, limits = {} } = options;
    this.#callLimits = { deadlineMs: options.callDeadlineMs ?? CALL_DEADLINE_MS, maxBodyBytes: MIB };
    this.#settings = settings;
    this.#http = createHttp({ ...settings.service, connectionsPerHost: CONNECTIONS_PER_HOST, metrics });
    this.clock = this.#http.clock;
    this.#check = createAnswerCheck(this.#http, now);
    this.#limits = limits;
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
    this.#downloads = new Downloads({
      ...{ settings, archive, now, metrics, limits },
      ...{ http: this.#http, check: this.#check, api: this.#api },
    });
  }

  async fetchToken({ signal }: CallOptions = {}): Promise<{ readonly secondsLeft: number | null }> {
    this.#api.url('');
    await this.#api.authorize(signal);
    return { secondsLeft: this.#api.secondsLeft() };
  }

  async ping({ signal }: CallOptions = {}): Promise<void> {
    const path = '/api/v1/deliveryexperience/ping';
    const target = { url: this.#api.url(path), endpoint: 'ping' };
    const answer = await this.#send({ method: 'GET', path, ...target, accept: JSON_TYPE, signal });
    this.#check.json(answer, target, parsePing);
  }

  partnerIds(): readonly string[] {
    return this.#partnerIds;
  }

  async regenerateUrl(invoiceId: string, { signal }: CallOptions = {}): Promise<ExportLocation> {
    const path = `${invoicePath(invoiceId)}/regenerate-presigned-url`;
    const target = { url: this.#api.url(path), endpoint: `regenerate-presigned-url of ${invoiceId}` };
    const answer = await this.#send({ method: 'POST', path, ...target, accept: JSON_TYPE, signal });
    if (answer.status === 404) throw new BillingError('not-exported', [invoiceId]);
    return this.#check.json(answer, target, parseExportLocation);
  }

  async lookUpInvoice(invoiceId: string, { signal }: CallOptions = {}): Promise<InvoiceDetails> {
    const path = invoicePath(invoiceId);
    const target = { url: this.#api.url(path), endpoint: `details of ${invoiceId}` };
    const open = async (transferSignal: AbortSignal): Promise<HttpStream> => {
      const call = { method: 'GET', path, endpoint: target.endpoint, accept: JSON_TYPE } as const;
      const answer = await this.#api.open({ ...call, signal: transferSignal });
      if (answer.status === 404) throw new BillingError('unknown-invoice', [invoiceId]);
      return checkedOpen(answer, () => this.#check.api(answer, target));
    };
    const request = { ...target, open, signal, limits: { ...DETAILS_LIMITS, ...this.#limits } };
    const { wirePrefix } = this.#settings;
    return this.#inTurn(() => readDetails(request, { invoiceId, wirePrefix }), signal);
  }

  downloadCsv(request: DownloadRequest, options: CallOptions = {}): Promise<ArchivedFile> {
    return this.#downloads.fromStorage(request, options);
  }

  exportCsv(invoiceId: string, options: FetchExportOptions = {}): Promise<ExportedFile> {
    return this.#downloads.fromService(invoiceId, options);
  }

  mayDownloadFrom(url: string): boolean {
    return isListedHost(url, this.#settings.service.downloadHosts);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  #send(call: ApiCall): Promise<HttpAnswer> {
    return this.#inTurn(() => this.#api.send(call, this.#callLimits), call.signal);
  }
}

/** A service may need a while for the first byte, and send the rest as it is produced. */
const DETAILS_LIMITS: TransferLimits = {
  ...DOWNLOAD_LIMITS,
  minBytesPerSecond: 16,
  throughputWindowMs: 60_000,
};

interface DetailsRequest {
  readonly url: string;
  readonly endpoint: string;
  readonly open: (signal: AbortSignal) => Promise<HttpStream>;
  readonly signal: AbortSignal | undefined;
  readonly limits: TransferLimits;
}

/** Parses details while they arrive: they contain every line item (spec 4.4), and little of them is kept. */
async function readDetails(request: DetailsRequest, options: DetailsOptions): Promise<InvoiceDetails> {
  const { endpoint, url, signal, limits } = request;
  return transfer({ url, signal, limits, expectedBytes: null }, async (watch, transferSignal) => {
    const stream = await request.open(transferSignal);
    try {
      const reader = new DetailsReader({ ...options, ...charsetOf(stream) });
      const wire = (async function* () {
        for await (const chunk of bytesOf(stream, { url, signal })) {
          watch.bytesDone += chunk.length;
          yield chunk;
        }
      })();
      const bounds = { endpoint, maxBytes: limits.maxUnannouncedBytes };
      for await (const chunk of decoded(wire, stream.headers, bounds)) reader.push(chunk);
      return reader.end();
    } catch (error) {
      discard(stream.body);
      if (!(error instanceof MalformedAnswerError)) throw error;
      throw new BillingError('unexpected-answer', [endpoint, error.message], { cause: error });
    }
  });
}

/** JSON is UTF-8. Only UTF-16 is taken from the header: any other charset there is often wrong. */
function charsetOf({ headers }: HttpStream): { readonly charset?: string } {
  const charset = /charset="?(utf-16(?:[lb]e)?)\b/i.exec(headers['content-type'] ?? '')?.[1];
  return charset === undefined ? {} : { charset };
}
