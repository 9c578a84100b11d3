/**
 * Connections to the proxy, with failures of its own. undici reports the error of a closed connection to no caller and reconnects
 * at once, without limit; any other error ends the requests that wait for the connection.
 */

import { type Dispatcher, Pool } from 'undici';
import { ProxyError } from './errors.ts';

type ConnectCallback = (error: Error | null, data: Dispatcher.ConnectData) => void;

export class ProxyConnections extends Pool {
  readonly #host: string;

  /** @param options `connect` of the proxy agent, and the time limits */
  constructor(proxy: URL, options: Pool.Options) {
    super(proxy.origin, options);
    this.#host = proxy.host;
  }

  override connect<TOpaque = null>(
    options: Dispatcher.ConnectOptions<TOpaque>,
  ): Promise<Dispatcher.ConnectData<TOpaque>>;
  override connect<TOpaque = null>(
    options: Dispatcher.ConnectOptions<TOpaque>,
    callback: (error: Error | null, data: Dispatcher.ConnectData<TOpaque>) => void,
  ): void;
  override connect(
    options: Dispatcher.ConnectOptions,
    callback?: ConnectCallback,
  ): Promise<Dispatcher.ConnectData> | undefined {
    if (callback !== undefined) {
      super.connect(options, callback);
      return undefined;
    }
    return this.#tunnel(options);
  }

  async #tunnel(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    let answer: Dispatcher.ConnectData;
    try {
      answer = await super.connect(options);
    } catch (error) {
      throw new ProxyError(this.#host, codeOf(error), error);
    }
    if (answer.statusCode === 200) return answer;
    answer.socket.on('error', () => undefined).destroy();
    throw new ProxyError(this.#host, answer.statusCode, null);
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
