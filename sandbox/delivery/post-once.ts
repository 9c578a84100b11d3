/**
 * One request to a partner endpoint, and how it ended. It stands on undici's dispatch, without the streams and abort
 * signals of the calls above it, which are most of what a delivery costs in a burst.
 */
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { DeliveryAttempt } from '../model.ts';

export interface PostRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | Readable;
}

export type PostResult = Pick<DeliveryAttempt, 'status' | 'error' | 'responseBody'>;

/** More of an answer is not read; the status has been said by then. */
const READ_RESPONSE_BYTES = 256 * 1024;
const KEPT_RESPONSE_CHARACTERS = 2_000;

/**
 * Resolves when the answer is complete or cannot come any more; a 2xx answer has no error (spec 4.6).
 *
 * @param timeoutMs from now, connecting included, to the last byte of the answer
 */
export function postOnce(
  dispatcher: Dispatcher,
  request: PostRequest,
  timeoutMs: number,
): Promise<PostResult> {
  return new Promise((resolve) => {
    const exchange = new Exchange(resolve, timeoutMs);
    dispatcher.dispatch(request, exchange);
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #settle: (result: PostResult) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #length = 0;
  #status: number | null = null;
  #over = false;

  constructor(settle: (result: PostResult) => void, timeoutMs: number) {
    this.#settle = settle;
    this.#timer = setTimeout(() => this.#giveUp(timeoutMs), timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('The time was up before there was a connection.'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length <= READ_RESPONSE_BYTES) return;
    this.#answered();
    controller.abort(new Error('The rest of the answer is of no interest.'));
  }

  onResponseEnd(): void {
    this.#answered();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end({ status: null, error: messageOf(error), responseBody: '' });
  }

  #giveUp(timeoutMs: number): void {
    const error = `No answer within ${timeoutMs / 1_000} s.`;
    this.#end({ status: null, error, responseBody: '' });
    this.#controller?.abort(new Error(error));
  }

  #answered(): void {
    const status = this.#status;
    const ok = status !== null && status >= 200 && status <= 299;
    const text = Buffer.concat(this.#chunks).toString('utf8');
    const responseBody = text.slice(0, KEPT_RESPONSE_CHARACTERS);
    this.#end({ status, error: ok ? null : `The endpoint answered ${status}.`, responseBody });
  }

  #end(result: PostResult): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#settle(result);
  }
}

function messageOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && !error.message.includes(code)
    ? `${code}: ${error.message}`
    : error.message;
}
