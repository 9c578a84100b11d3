import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import { parseExportLocation, parsePing } from '../lib/wire/api.ts';
import { MalformedAnswerError } from '../lib/wire/json.ts';
import { type DetailsOptions, DetailsReader } from '../lib/wire/parse-details.ts';
import { isListedUrl } from './address-guard.ts';
import { type ApiCall, createApi, invoicePath } from './api.ts';
import type { BillingService, InvoiceDetails } from './billing-service.ts';
import { decoded } from './decode-body.ts';
import { Downloads } from './downloads.ts';
import { BillingError } from './errors.ts';
import { DOWNLOADS_PER_HOST } from './host-turns.ts';
import { createHttp, discardBody, type HttpStream } from './http.ts';
import { bytesOf, DOWNLOAD_LIMITS, type TransferLimits, transfer } from './receive-file.ts';

export interface BillingServiceOptions {
  readonly settings: Pick<Settings, 'service' | 'partnerId' | 'wirePrefix' | 'dataDir'>;
  readonly archive: Archive;
  readonly log?: Pick<Logger, 'debug'>;
  readonly metrics?: Metrics;
  readonly limits?: Partial<TransferLimits>;
  readonly callDeadlineMs?: number;
  readonly onSlowHost?: (host: string, isSlow: boolean) => void;
}

const CONCURRENT_CALLS = 16;
/** There are so many connections that no request waits for one within its deadline. */
const CONNECTIONS_PER_HOST = CONCURRENT_CALLS + DOWNLOADS_PER_HOST + 1;
const MIB = 1024 * 1024;
const CALL_DEADLINE_MS = 20_000;

/** The first call reports missing settings. @throws Error the CA file cannot be read */
export function createBillingService(options: BillingServiceOptions): BillingService {
  const { settings, archive, log, metrics, limits = {} } = options;
  const callLimits = { deadlineMs: options.callDeadlineMs ?? CALL_DEADLINE_MS, maxBodyBytes: MIB };
  const http = createHttp({ ...settings.service, connectionsPerHost: CONNECTIONS_PER_HOST, metrics });
  let partnerIds: readonly string[] = settings.partnerId === null ? [] : [settings.partnerId];
  const api = createApi(settings.service, http, ({ expiresInSeconds, partnerIds: ours }) => {
    log?.debug({ expiresInSeconds }, 'got an access token');
    const nowSeconds = Date.now() / 1_000;
    metrics?.gauge('token_obtained_timestamp_seconds').set(nowSeconds);
    metrics?.gauge('token_expiry_timestamp_seconds').set(nowSeconds + expiresInSeconds);
    if (settings.partnerId === null) partnerIds = ours;
  });
  const downloads = new Downloads({
    ...{ settings, archive, metrics, limits, http, api },
    onSlowHost: options.onSlowHost ?? (() => undefined),
  });
  /** Token requests are excluded, because calls that have their turn wait for them. */
  const inTurn = createSemaphore(CONCURRENT_CALLS);

  const call = <T>(apiCall: ApiCall, parse: (body: Uint8Array) => T): Promise<T> =>
    inTurn(() => api.json(apiCall, callLimits, parse), apiCall.signal);

  return {
    clock: http.clock,
    partnerIds: () => partnerIds,
    fetchToken: async ({ signal } = {}) => ({ secondsLeft: await api.authorize(signal) }),
    ping({ signal } = {}) {
      const path = '/api/v1/deliveryexperience/ping';
      return call({ method: 'GET', path, endpoint: 'ping', signal }, parsePing);
    },
    regenerateUrl(invoiceId, { signal } = {}) {
      const path = `${invoicePath(invoiceId)}/regenerate-presigned-url`;
      const endpoint = `regenerate-presigned-url of ${invoiceId}`;
      const missing = new BillingError('not-exported', [invoiceId]);
      return call({ method: 'POST', path, endpoint, signal, missing }, parseExportLocation);
    },
    async lookUpInvoice(invoiceId, { signal } = {}) {
      const [path, endpoint] = [invoicePath(invoiceId), `details of ${invoiceId}`];
      const missing = new BillingError('unknown-invoice', [invoiceId]);
      const open = (transferSignal: AbortSignal): Promise<HttpStream> =>
        api.open({ method: 'GET', path, endpoint, missing, signal: transferSignal });
      const request = { url: api.url(path), endpoint, open, signal };
      const { wirePrefix } = settings;
      return inTurn(
        () =>
          readDetails({ ...request, limits: { ...DETAILS_LIMITS, ...limits } }, { invoiceId, wirePrefix }),
        signal,
      );
    },
    downloadCsv: (request, given = {}) => downloads.fromStorage(request, given),
    exportCsv: (invoiceId, given = {}) => downloads.fromService(invoiceId, given),
    mayDownloadFrom: (url) => isListedUrl(url, settings.service.downloadHosts),
    close: () => http.close(),
  };
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

/** Parses while the bytes arrive: details contain every line item (spec 4.4). */
async function readDetails(request: DetailsRequest, options: DetailsOptions): Promise<InvoiceDetails> {
  const { endpoint, url, signal, limits } = request;
  return transfer({ url, signal, limits }, async (watch, transferSignal) => {
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
      discardBody(stream.body);
      if (!(error instanceof MalformedAnswerError)) throw error;
      throw new BillingError('unexpected-answer', [endpoint, error.message], { cause: error });
    }
  });
}

/** JSON is UTF-8. Any charset other than UTF-16 in the header is often wrong. */
function charsetOf({ headers }: HttpStream): { readonly charset?: string } {
  const charset = /charset="?(utf-16(?:[lb]e)?)\b/i.exec(headers['content-type'] ?? '')?.[1];
  return charset === undefined ? {} : { charset };
}
