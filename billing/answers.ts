/** Maps the status of an answer of the API or of storage to an error. */

import { type ErrorBody, parseErrorBody } from '../lib/wire/api.ts';
import { MalformedAnswerError } from '../lib/wire/json.ts';
import { decoded } from './decode-body.ts';
import { BillingError, describeRefusal, isBillingError, tryLater } from './errors.ts';
import {
  discard,
  type Http,
  type HttpAnswer,
  type HttpRequest,
  type HttpStream,
  hostOf,
  toBillingError,
} from './http.ts';

/** The body is read when the answer is a refusal. */
type Checked = Pick<HttpAnswer, 'status' | 'headers'> & { readonly body: unknown };

interface Target {
  readonly url: string;
  /** Name in messages. */
  readonly endpoint: string;
}

export interface AnswerCheck {
  /** @throws unless the API answered 2xx with a result */
  api(answer: Checked, target: Target): void;
  /** @throws unless storage answered 200 */
  storage(answer: Checked, url: string): void;
  /** The parsed body of an API answer. */
  json<T>(answer: HttpAnswer, target: Target, parse: (body: Uint8Array) => T): T;
}

/** Enough to read the code of an error body. */
const ERROR_BODY_BYTES = 64 * 1024;

export function createAnswerCheck(http: Pick<Http, 'pause'>, now: () => Date): AnswerCheck {
  function checkCommon({ status, headers }: Checked, { url, endpoint }: Target): void {
    if (status === 429 || status === 503) {
      const seconds = readRetryAfter(headers['retry-after'], now());
      if (seconds !== null) http.pause(url, { status, seconds });
      throw tryLater(endpoint, status, seconds);
    }
    if (status >= 300 && status < 400) throw new BillingError('redirect', [endpoint, status]);
  }

  function api(answer: Checked, target: Target): void {
    const { status, headers } = answer;
    const { endpoint } = target;
    if (status === 202 || status === 204) {
      throw tryLater(endpoint, status, readRetryAfter(headers['retry-after'], now()));
    }
    if (status >= 200 && status < 300) return;
    checkCommon(answer, target);
    const code = status >= 500 ? 'server-fault' : status === 403 ? 'forbidden' : 'refused';
    throw new BillingError(code, [endpoint, describeRefusal(status, errorBody(answer))]);
  }

  return {
    api,
    storage(answer, url) {
      const { status } = answer;
      if (status === 200) return;
      const host = hostOf(url);
      checkCommon(answer, { url, endpoint: host });
      if (status < 400) {
        throw new BillingError('unexpected-answer', [host, `HTTP ${status} instead of the file.`]);
      }
      const code = status >= 500 ? 'server-fault' : 'url-refused';
      throw new BillingError(code, [host, describeRefusal(status, errorBody(answer))]);
    },
    json(answer, target, parse) {
      // Some services answer 202 with the complete result.
      if (answer.status !== 202 || answer.body.length === 0) api(answer, target);
      try {
        return parse(answer.body);
      } catch (error) {
        if (!(error instanceof MalformedAnswerError)) throw error;
        api(answer, target);
        throw new BillingError('unexpected-answer', [target.endpoint, error.message], { cause: error });
      }
    },
  };
}

/** The beginning of a refusal's body; empty when it cannot be decoded. */
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
      // Leaving the loop destroys the body.
      if (sizeBytes >= ERROR_BODY_BYTES) break;
    }
  } catch (error) {
    if (!isBillingError(error, 'unexpected-answer')) throw toBillingError(error, request);
  }
  return { status, headers, body: Buffer.concat(chunks).subarray(0, ERROR_BODY_BYTES) };
}

/** The answer as an open stream, if `check` accepts it; otherwise its connection is released. */
export function checkedOpen(answer: HttpStream | HttpAnswer, check: () => void): HttpStream {
  try {
    check();
    if (isOpen(answer)) return answer;
    throw new BillingError('unexpected-answer', ['The answer', 'it has no body.']);
  } catch (error) {
    if (isOpen(answer)) discard(answer.body);
    throw error;
  }
}

function isOpen(answer: HttpStream | HttpAnswer): answer is HttpStream {
  return !(answer.body instanceof Uint8Array);
}

function errorBody({ body }: Checked): ErrorBody {
  return body instanceof Uint8Array ? parseErrorBody(body) : { code: null, description: null };
}

/** Whole seconds, rounded up, from seconds or an HTTP date (RFC 9110, 10.2.3); null: absent or unreadable. */
export function readRetryAfter(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / 1_000));
}
