import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { Agent, request } from 'undici';
import { readAddresses } from '../state/data-folder.ts';

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

export class AdminClient {
  readonly #url: string;
  readonly #agent: Agent;

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

  /** null for an empty answer. @throws CommandFailure with the sandbox's message */
  async call(call: AdminCall): Promise<unknown> {
    const text = await this.text(call);
    return text === '' ? null : JSON.parse(text);
  }

  async text({ method, path, body }: AdminCall): Promise<string> {
    const response = await this.#request(method, path, body);
    const text = await response.body.text();
    if (response.statusCode < 400) return text;
    const { error_description: description = text } = JSON.parse(text) as { error_description?: string };
    throw new CommandFailure(exitCodeOf(response.statusCode), [description]);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #request(method: AdminCall['method'], path: string, body: unknown) {
    try {
      return await request(`${this.#url}${path}`, {
        method,
        dispatcher: this.#agent,
        bodyTimeout: 0,
        headersTimeout: 0,
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
  return data ?? process.env.SANDBOX_DATA_DIR ?? './sandbox-data';
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { message } = error as Error;
    throw new CommandFailure(EXIT.usage, [message, '  → name the CA of the sandbox with --ca-file']);
  }
}

function exitCodeOf(status: number): number {
  if (status === 404) return EXIT.nothingMatched;
  return status === 400 ? EXIT.usage : EXIT.serviceError;
}

/** null for an error that the operating system did not raise. */
export function systemFailure(error: unknown): CommandFailure | null {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return null;
  const exitCode = code === 'ENOSPC' ? EXIT.diskFull : EXIT.usage;
  return new CommandFailure(exitCode, [message, '  → check the path, and that this user may use it']);
}

export const EXIT = {
  diskFull: 1,
  usage: 2,
  nothingMatched: 3,
  unreachable: 5,
  serviceError: 6,
  locked: 8,
  bug: 70,
} as const;

/** At most three lines are printed. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;
  readonly lines: readonly string[];

  constructor(exitCode: number, lines: readonly string[]) {
    super(lines[0]);
    this.exitCode = exitCode;
    this.lines = lines;
  }
}

export interface VerbOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly verbose?: boolean;
}

export type Options = Readonly<Record<string, unknown>>;

export function verbCommand(
  name: string,
  { description, example }: { readonly description: string; readonly example: string },
): Command {
  return new Command(name)
    .description(description)
    .option('--data <dir>', 'data folder of the running sandbox (or SANDBOX_DATA_DIR)')
    .option('--admin-url <url>', 'address of its admin API, instead of --data')
    .option('--ca-file <file>', 'CA to trust when calling it')
    .option('--production', 'the production account instead of the test account')
    .option('--json', 'print one JSON document')
    .option('--verbose', 'show the stack of an error')
    .addHelpText('after', `\nExample:\n  billsync sandbox ${example}`);
}

export async function conclude(
  options: { readonly verbose?: boolean },
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const failure = error instanceof CommandFailure ? error : systemFailure(error);
    const lines = failure?.lines ?? [`This is a bug of the sandbox: ${(error as Error).message}`];
    process.stderr.write(`${lines.slice(0, 3).join('\n')}\n`);
    if (options.verbose === true) process.stderr.write(`${(error as Error).stack}\n`);
    process.exitCode = failure?.exitCode ?? EXIT.bug;
  }
}

/** @throws CommandFailure without consent */
export async function requireConfirmation(options: VerbOptions, question: string): Promise<void> {
  if (options.yes === true || options.dryRun === true) return;
  if (!process.stdin.isTTY) {
    throw new CommandFailure(EXIT.usage, [`${question} This cannot be undone.`, 'Confirm with --yes.']);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer)) throw new CommandFailure(EXIT.usage, ['Nothing was changed.']);
}

export function print(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(snakeKeys(value), null, 2)}\n`);
}

/** A column for each of the fields, under its name. */
export function table(objects: readonly object[], names: readonly string[]): string[] {
  const headers = names.map((name) => name.replace(/[A-Z]/g, ' $&').toUpperCase());
  const rows = objects.map((one) => names.map((name) => plain((one as Options)[name])));
  return aligned([headers, ...rows]);
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

export function namedValues(values: object): string[] {
  return aligned(
    Object.entries(snakeKeys(values) as object)
      .filter(([, value]) => typeof value !== 'object')
      .map(([name, value]) => [name, String(value)]),
  );
}

/** Maps whose keys were chosen by the user stay unchanged. */
export function snakeKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeKeys);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      FREE_MAPS.includes(key) ? inner : snakeKeys(inner),
    ]),
  );
}

const FREE_MAPS = ['headers', 'tenantOverrides', 'params'];

/** Control characters are escaped. */
function plain(value: unknown): string {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  const text = isMap
    ? Object.entries(value)
        .map(([key, inner]) => `${key}=${inner}`)
        .join(' ')
    : String(value ?? '-');
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
}
