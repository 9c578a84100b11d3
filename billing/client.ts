/** The billing service over HTTPS: what its endpoints and its storage are asked, and what becomes of the files (spec 4). */

import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import { type ComparedClock, createServerClock } from '../lib/health/clocks.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import { parseExportLocation, parsePing } from '../lib/wire/api.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import type { ExportLocation } from '../lib/wire/names.ts';
import {
  type ApiCall,
  type ApiConnection,
  type CallLimits,
  createApiConnection,
  invoicePath,
} from './api-connection.ts';
import type {
  BillingService,
  CallOptions,
  ExportedFile,
  FetchExportOptions,
  FetchFileOptions,
  InvoiceDetails,
} from './billing-service.ts';
import { type AnswerCheck, checkedOpen, createAnswerCheck } from './check-answer.ts';
import { countedHttp } from './count-calls.ts';
import { DOWNLOADS_PER_HOST, type DownloadRequest, Downloads } from './downloads.ts';
import { NotExportedError, UnknownInvoiceError } from './errors.ts';
import { isListedHost } from './host-list.ts';
import { createHttp, type Http, type HttpAnswer, type HttpStream } from './http.ts';
import { readDetails } from './read-details.ts';
import { serviceClock } from './service-clock.ts';
import type { TransferLimits } from './transfer-watch.ts';

export interface BillingServiceOptions {
  readonly settings: Pick<Settings, 'service' | 'partnerId' | 'wirePrefix' | 'dataDir'>;
  readonly archive: Archive;
  readonly now?: () => Date;
  readonly log?: Pick<Logger, 'debug'>;
  readonly metrics?: Metrics;
  /** Tests make them short. */
  readonly limits?: Partial<TransferLimits>;
  /** Of a small question, from its turn to its answer; tests make it short. */
  readonly callDeadlineMs?: number;
}

/** Others wait for their turn. A call's time is counted from its turn on: with many before it there would be none left. */
const CALLS_AT_ONCE = 16;
/** For calls, files and the token, should one host be asked for all: nobody waits for a connection while the time counts. */
const CONNECTIONS_PER_HOST = CALLS_AT_ONCE + DOWNLOADS_PER_HOST + 1;
const MIB = 1024 * 1024;
const CALL_DEADLINE_MS = 20_000;
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
  readonly clock: ComparedClock;
  readonly #settings: BillingServiceOptions['settings'];
  readonly #http: Http;
  readonly #check: AnswerCheck;
  readonly #api: ApiConnection;
  readonly #downloads: Downloads;
  readonly #limits: Partial<TransferLimits>;
  readonly #callLimits: CallLimits;
  /** Not for tokens, which those whose turn it is wait for. */
  readonly #inTurn = createSemaphore(CALLS_AT_ONCE);
  #partnerIds: readonly string[];

  constructor(options: BillingServiceOptions) {
    const { settings, archive, now = () => new Date(), log, metrics, limits = {} } = options;
    this.#callLimits = { deadlineMs: options.callDeadlineMs ?? CALL_DEADLINE_MS, maxBodyBytes: MIB };
    this.#settings = settings;
    const clock = createServerClock();
    const http = createHttp({ ...settings.service, connectionsPerHost: CONNECTIONS_PER_HOST, clock });
    this.clock = serviceClock({ http, clock, baseUrl: settings.service.baseUrl });
    this.#http = countedHttp(http, metrics);
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
    await this.#api.authorise(signal);
    return { secondsLeft: this.#api.secondsLeft() };
  }

  async ping({ signal }: CallOptions = {}): Promise<void> {
    const path = '/api/v1/deliveryexperience/ping';
    const asked = { url: this.#api.url(path), endpoint: 'ping' };
    const answer = await this.#send({ method: 'GET', path, ...asked, accept: JSON_TYPE, signal });
    this.#check.json(answer, asked, parsePing);
  }

  partnerIds(): readonly string[] {
    return this.#partnerIds;
  }

  async regenerateUrl(invoiceId: string, { signal }: CallOptions = {}): Promise<ExportLocation> {
    const path = `${invoicePath(invoiceId)}/regenerate-presigned-url`;
    const asked = { url: this.#api.url(path), endpoint: `regenerate-presigned-url of ${invoiceId}` };
    const answer = await this.#send({ method: 'POST', path, ...asked, accept: JSON_TYPE, signal });
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
    const request = { ...asked, open, signal, limits: this.#limits };
    return this.#inTurn(() => readDetails(request, { invoiceId, wirePrefix }), signal);
  }

  downloadCsv(request: DownloadRequest, options: FetchFileOptions = {}): Promise<ArchivedFile> {
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
