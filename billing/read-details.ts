/** Reads the details of an invoice off the wire (spec 4.4): they carry every line item, so of any size, and little is kept. */

import { MalformedAnswerError } from '../lib/wire/json.ts';
import { type DetailsOptions, DetailsReader } from '../lib/wire/parse-details.ts';
import type { InvoiceDetails } from './billing-service.ts';
import { decoded } from './decode-body.ts';
import { UnexpectedAnswerError } from './errors.ts';
import { asBillingError, type HttpStream } from './http.ts';
import { DOWNLOAD_LIMITS, type TransferLimits, type TransferWatch, watchTransfer } from './transfer-watch.ts';

export interface DetailsRequest {
  readonly url: string;
  readonly endpoint: string;
  /** Opens the answer and checks its head; its signal ends the transfer too. */
  readonly open: (signal: AbortSignal) => Promise<HttpStream>;
  readonly signal: AbortSignal | undefined;
  /** Tests make them short. */
  readonly limits: Partial<TransferLimits>;
}

/** A service may look long for the first byte, and make the rest up as it goes. */
const DETAILS_LIMITS: TransferLimits = {
  ...DOWNLOAD_LIMITS,
  leastBytesPerSecond: 16,
  throughputWindowMs: 60_000,
};

/** @throws UnexpectedAnswerError no JSON, no invoice in it, or another invoice's */
export async function readDetails(
  { open, signal, limits, ...asked }: DetailsRequest,
  options: DetailsOptions,
): Promise<InvoiceDetails> {
  const request = { ...asked, limits: { ...DETAILS_LIMITS, ...limits }, expectedBytes: null };
  const watch = watchTransfer(request);
  const rule = signal === undefined ? watch.signal : AbortSignal.any([signal, watch.signal]);
  let body: HttpStream['body'] | null = null;
  try {
    const stream = await open(rule);
    body = stream.body;
    const reader = new DetailsReader({ ...options, ...charsetOf(stream) });
    const bounds = { endpoint: asked.endpoint, maxBytes: request.limits.maxUnannouncedBytes };
    const counted = countedBytes(stream.body, { watch, url: asked.url });
    for await (const chunk of decoded(counted, stream.headers, bounds)) reader.push(chunk);
    return reader.end();
  } catch (error) {
    body?.on('error', () => undefined).destroy();
    signal?.throwIfAborted();
    if (watch.signal.aborted) throw watch.signal.reason;
    if (error instanceof MalformedAnswerError) {
      throw new UnexpectedAnswerError(asked.endpoint, error.message, error);
    }
    throw error;
  } finally {
    watch.stop();
  }
}

/** Only what the wire does is the network's fault. */
async function* countedBytes(
  body: HttpStream['body'],
  { watch, url }: { readonly watch: TransferWatch; readonly url: string },
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      watch.bytesDone += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw asBillingError(error, { url });
  }
}

/** JSON is UTF-8; only a service that says UTF-16 is believed, since others say anything and send UTF-8. */
function charsetOf({ headers }: HttpStream): { readonly charset?: string } {
  const charset = /charset="?(utf-16(?:[lb]e)?)\b/i.exec(headers['content-type'] ?? '')?.[1];
  return charset === undefined ? {} : { charset };
}
