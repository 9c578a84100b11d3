/** The client of the admin API: finds a running sandbox by its data folder or a given address. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { readAddresses } from '../state/address-file.ts';
import { CommandFailure, EXIT, refusedBySystem } from './verb.ts';

export interface ConnectionOptions {
  readonly data?: string;
  readonly adminUrl?: string;
  readonly caFile?: string;
  readonly production?: boolean;
}

export interface AdminCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
}

export const DEFAULT_DATA_DIR = './sandbox-data';

export class AdminClient {
  readonly #url: string;
  readonly #agent: Agent;

  /** @throws CommandFailure when no sandbox can be found */
  constructor(options: ConnectionOptions) {
    const dataDir = dataDirOf(options);
    const addresses = options.adminUrl === undefined ? readAddresses(dataDir) : null;
    const testUrl = options.adminUrl ?? addresses?.adminUrl;
    if (testUrl === undefined) {
      throw new CommandFailure(EXIT.unreachable, [
        `No sandbox is running on the folder ${dataDir}.`,
        'Start one with: sandbox serve, or name another with --data or --admin-url.',
      ]);
    }
    this.#url = options.production === true ? testUrl.replace(/\/admin$/, '/production/admin') : testUrl;
    this.#agent = new Agent({
      connect: { ca: readCa(options.caFile ?? addresses?.caFile ?? join(dataDir, 'ca.pem')) },
    });
  }

  /** The parsed answer, null for an empty one. @throws CommandFailure with the sandbox's own words */
  async call({ method, path, body }: AdminCall): Promise<unknown> {
    const response = await this.#request(method, path, body);
    const text = await response.body.text();
    const answer: unknown = text === '' ? null : JSON.parse(text);
    if (response.statusCode < 400) return answer;
    const { error_description: description = text } = (answer ?? {}) as { error_description?: string };
    throw new CommandFailure(exitCodeOf(response.statusCode), [description]);
  }

  /** The lines of an endless answer. */
  async *lines(path: string, signal?: AbortSignal): AsyncGenerator<string> {
    const response = await this.#request('GET', path, undefined, signal);
    let rest = '';
    for await (const chunk of response.body.setEncoding('utf8')) {
      const parts = `${rest}${chunk}`.split('\n');
      rest = parts.pop() ?? '';
      yield* parts;
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #request(method: AdminCall['method'], path: string, body: unknown, signal?: AbortSignal) {
    try {
      return await request(`${this.#url}${path}`, {
        method,
        dispatcher: this.#agent,
        bodyTimeout: 0,
        headersTimeout: 0,
        ...(signal === undefined ? {} : { signal }),
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
    } catch (error) {
      throw new CommandFailure(EXIT.unreachable, [
        `The sandbox at ${this.#url} cannot be reached: ${(error as Error).message || 'connection refused'}`,
        'Is it running? Start it with: sandbox serve',
      ]);
    }
  }
}

export function dataDirOf({ data }: ConnectionOptions): string {
  return data ?? process.env.SANDBOX_DATA_DIR ?? DEFAULT_DATA_DIR;
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const words = refusedBySystem(error, path)?.lines[0] ?? `The CA file ${path} cannot be read.`;
    throw new CommandFailure(EXIT.usage, [words, '  → name the CA of the sandbox with --ca-file']);
  }
}

function exitCodeOf(status: number): number {
  if (status === 404) return EXIT.nothingMatched;
  return status === 400 ? EXIT.usage : EXIT.serviceError;
}
