/** What a status means, for the API and for storage: the only place where a number becomes an error. */

import { parseErrorBody } from '../lib/wire/api.ts';
import { MalformedAnswerError } from '../lib/wire/json.ts';
import { decoded } from './decode-body.ts';
import {
  NotReadyError,
  OverloadedError,
  RedirectError,
  RefusedError,
  ServerFaultError,
  UnexpectedAnswerError,
  UrlRefusedError,
} from './errors.ts';
import {
  asBillingError,
  type Http,
  type HttpAnswer,
  type HttpRequest,
  type HttpStream,
  hostOf,
} from './http.ts';
import { readRetryAfter } from './retry-after.ts';

/** An answer's head and, when it is a refusal, what its body says. */
type Checked = Pick<HttpAnswer, 'status' | 'headers'> & { readonly body: unknown };

interface Asked {
  readonly url: string;
  /** What a person calls it. */
  readonly endpoint: string;
}

export interface AnswerCheck {
  /** @throws unless the API answered 2xx with something in it */
  api(answer: Checked, asked: Asked): void;
  /** @throws unless storage answered 200 */
  storage(answer: Checked, url: string): void;
  /** The parsed body of a good API answer. */
  json<T>(answer: HttpAnswer, asked: Asked, parse: (body: Uint8Array) => T): T;
}

/** Enough of an error body to read its code. */
const ERROR_BODY_BYTES = 64 * 1024;

export function createAnswerCheck(http: Pick<Http, 'leaveAlone'>, now: () => Date): AnswerCheck {
  /** What means the same wherever it comes from. */
  function common({ status, headers }: Checked, { url, endpoint }: Asked): void {
    if (status === 429 || status === 503) {
      const seconds = readRetryAfter(headers['retry-after'], now());
      if (seconds !== null) http.leaveAlone(url, { status, seconds });
      throw new OverloadedError(endpoint, status, seconds);
    }
    if (status >= 300 && status < 400) throw new RedirectError(endpoint, status);
  }

  function api(answer: Checked, asked: Asked): void {
    const { status, headers } = answer;
    if (status === 202 || status === 204) {
      throw new NotReadyError(asked.endpoint, status, readRetryAfter(headers['retry-after'], now()));
    }
    if (status >= 200 && status < 300) return;
    common(answer, asked);
    const reason = reasonOf(answer);
    if (status >= 500) throw new ServerFaultError(asked.endpoint, status, reason);
    throw new RefusedError(asked.endpoint, status, reason);
  }

  return {
    api,
    storage(answer, url) {
      if (answer.status === 200) return;
      const host = hostOf(url);
      common(answer, { url, endpoint: host });
      const reason = reasonOf(answer);
      if (answer.status >= 500) throw new ServerFaultError(host, answer.status, reason);
      if (answer.status >= 400) throw new UrlRefusedError(host, answer.status, reason);
      throw new UnexpectedAnswerError(host, `HTTP ${answer.status} instead of the file.`);
    },
    json(answer, asked, parse) {
      // Some say 202 and have done it all the same.
      if (answer.status !== 202 || answer.body.length === 0) api(answer, asked);
      try {
        return parse(answer.body);
      } catch (error) {
        if (!(error instanceof MalformedAnswerError)) throw error;
        api(answer, asked);
        throw new UnexpectedAnswerError(asked.endpoint, error.message, error);
      }
    },
  };
}

/** The beginning of a refusal's body; the rest is not read. */
export async function readAnswer(
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
    // The status says enough when the words behind it cannot be read.
    if (!(error instanceof UnexpectedAnswerError)) throw asBillingError(error, request);
  }
  return { status, headers, body: Buffer.concat(chunks).subarray(0, ERROR_BODY_BYTES) };
}

/** The open body of an answer that `check` lets pass; any other is let go of, or it would hold its connection. */
export function checkedOpen(answer: HttpStream | HttpAnswer, check: () => void): HttpStream {
  try {
    check();
    if (isOpen(answer)) return answer;
    throw new UnexpectedAnswerError('The answer', 'there is nothing to read.');
  } catch (error) {
    if (isOpen(answer)) answer.body.on('error', () => undefined).destroy();
    throw error;
  }
}

function isOpen(answer: HttpStream | HttpAnswer): answer is HttpStream {
  return !(answer.body instanceof Uint8Array);
}

function reasonOf({ body }: Checked) {
  return body instanceof Uint8Array ? parseErrorBody(body) : { code: null, description: null };
}
