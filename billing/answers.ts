import { parseErrorBody } from '../lib/wire/api.ts';
import { decoded } from './decode-body.ts';
import { BillingError, describeRefusal, isBillingError, tryLater } from './errors.ts';
import {
  discardBody,
  type HttpAnswer,
  type HttpRequest,
  type HttpStream,
  hostOf,
  readRetryAfter,
  toBillingError,
} from './http.ts';

type Answer = HttpAnswer | HttpStream;

const ERROR_BODY_BYTES = 64 * 1024;

export function checkAnswer(answer: Answer, endpoint: string): void {
  const { status } = answer;
  if (status === 202 || status === 204) throw retryLaterError(answer, endpoint);
  if (status >= 200 && status < 300) return;
  checkCommon(answer, endpoint);
  const code = status >= 500 ? 'server-fault' : status === 403 ? 'forbidden' : 'refused';
  throw new BillingError(code, [endpoint, describeAnswer(answer)]);
}

export function checkStorage(answer: Answer, host: string): void {
  const { status } = answer;
  if (status === 200) return;
  checkCommon(answer, host);
  if (status < 400) {
    throw new BillingError('unexpected-answer', [host, `HTTP ${status} instead of the file.`]);
  }
  throw new BillingError(status >= 500 ? 'server-fault' : 'url-refused', [host, describeAnswer(answer)]);
}

function checkCommon(answer: Answer, endpoint: string): void {
  const { status } = answer;
  if (status === 429 || status === 503) throw retryLaterError(answer, endpoint);
  if (status >= 300 && status < 400) throw new BillingError('redirect', [endpoint, status]);
}

function retryLaterError({ status, headers }: Answer, endpoint: string): BillingError {
  return tryLater(endpoint, status, readRetryAfter(headers['retry-after']));
}

function describeAnswer({ status, body }: Answer): string {
  const reason = body instanceof Uint8Array ? parseErrorBody(body) : { code: null, description: null };
  return describeRefusal(status, reason);
}

/** Reads the beginning of a refusal's body; empty when it cannot be decoded. */
export async function readRefusal(
  { status, headers, body }: HttpStream,
  request: Pick<HttpRequest, 'url' | 'signal'>,
): Promise<HttpAnswer> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  const limits = { endpoint: hostOf(request.url), maxBytes: 100 * ERROR_BODY_BYTES };
  try {
    for await (const chunk of decoded(body as AsyncIterable<Uint8Array>, headers, limits)) {
      chunks.push(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes >= ERROR_BODY_BYTES) break;
    }
  } catch (error) {
    if (!isBillingError(error, 'unexpected-answer')) throw toBillingError(error, request);
  }
  return { status, headers, body: Buffer.concat(chunks).subarray(0, ERROR_BODY_BYTES) };
}

/** Releases the connection unless `check` accepts the answer. */
export function openAnswerAfter(answer: Answer, check: () => void): HttpStream {
  try {
    check();
    if (isOpenAnswer(answer)) return answer;
    throw new BillingError('unexpected-answer', ['The answer', 'it has no body.']);
  } catch (error) {
    if (isOpenAnswer(answer)) discardBody(answer.body);
    throw error;
  }
}

function isOpenAnswer(answer: Answer): answer is HttpStream {
  return !(answer.body instanceof Uint8Array);
}
