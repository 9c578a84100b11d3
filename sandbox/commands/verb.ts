/** The parts that all commands share, and the client of the admin API: it finds a running sandbox by its data folder or a given address. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Command, Option } from 'commander';
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

const REFUSALS: Readonly<Record<string, readonly [why: string, whatToDo: string]>> = {
  ENOENT: ['there is no such file or folder', 'check its name'],
  EACCES: ['this user may not read or write it', 'give this user the right to it, or name another'],
  EPERM: ['this user may not do that', 'give this user the right to it, or name another'],
  EISDIR: ['it is a folder', 'name a file instead'],
  ENOTDIR: ['a part of its path is not a folder', 'check its path'],
  EEXIST: ['a part of its path is not a folder', 'check its path'],
  ELOOP: ['its symbolic links lead round in a circle', 'mend the links, or name what they should lead to'],
  EROFS: ['the file system is read-only', 'name a place that can be written'],
  ENOSPC: ['the disk is full', 'free some space there, then try again'],
  EDQUOT: ["the user's disk quota is used up", 'free some space there, then try again'],
  EIO: ['the disk reports an error', 'look at the system log: the disk may be failing'],
  EMFILE: ['too many files are open at once', 'raise the limit of open files (ulimit -n)'],
  ENAMETOOLONG: ['the name is too long', 'choose a shorter name'],
};

/** @param path where the error itself does not say it; @returns null for anything else */
export function refusedBySystem(error: unknown, path?: string): CommandFailure | null {
  const { code, path: own, syscall } = error as NodeJS.ErrnoException;
  // So Node tells of a folder with its parents on a read-only file system.
  const isMade = code === 'ENOENT' && syscall === 'mkdir';
  const refusal = isMade ? REFUSALS.EROFS : typeof code === 'string' ? REFUSALS[code] : undefined;
  if (refusal === undefined) return null;
  const [why, whatToDo] = refusal;
  const place = own ?? path;
  const what = place === undefined ? why : `${place}: ${why}`;
  return new CommandFailure(code === 'ENOSPC' ? EXIT.diskFull : EXIT.usage, [what, `  → ${whatToDo}`]);
}

/** Exit codes of the commands, and the one error they end with: three lines at most for people. */
export const EXIT = {
  diskFull: 1,
  usage: 2,
  nothingMatched: 3,
  unreachable: 5,
  serviceError: 6,
  locked: 8,
  bug: 70,
} as const;

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

// Shared by all commands: address of the sandbox, output, dry runs, confirmation, and exit codes.

export interface VerbOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly verbose?: boolean;
}

export interface VerbSettings {
  readonly description: string;
  /** Shown by --help, without the name of the program. */
  readonly example: string;
  /** Takes --dry-run. */
  readonly writes?: boolean;
  /** Asks on a terminal and needs --yes elsewhere. */
  readonly destroys?: boolean;
}

/** A verb that talks to a running sandbox. */
export function verb(nameAndArguments: string, settings: VerbSettings): Command {
  const command = new Command(nameAndArguments.split(' ')[0])
    .description(settings.description)
    .option('--data <dir>', 'data folder of the running sandbox (or SANDBOX_DATA_DIR)')
    .option('--admin-url <url>', 'address of its admin API, instead of --data')
    .option('--ca-file <file>', 'CA to trust when calling it')
    .option('--production', 'the production account instead of the test account')
    .option('--json', 'print one JSON document')
    .option('--verbose', 'show the stack of an error')
    .addHelpText('after', `\nExample:\n  billsync sandbox ${settings.example}`);
  for (const argument of nameAndArguments.split(' ').slice(1)) command.argument(argument);
  if (settings.writes === true)
    command.option('--dry-run', 'show what would be asked of the sandbox, and stop');
  const yes = new Option('--yes', 'skip the confirmation');
  // Where nothing is asked it is taken too, for scripts that say it with whatever writes.
  if (settings.destroys === true) command.addOption(yes);
  else if (settings.writes === true) command.addOption(yes.hideHelp());
  return command;
}

/** Runs the work of a verb and ends the process as the conventions say. */
export async function conclude(
  options: { readonly verbose?: boolean },
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const failure = error instanceof CommandFailure ? error : refusedBySystem(error);
    const lines = failure?.lines ?? [`This is a bug of the sandbox: ${(error as Error).message}`];
    process.stderr.write(`${lines.slice(0, 3).join('\n')}\n`);
    if (options.verbose === true) process.stderr.write(`${(error as Error).stack}\n`);
    process.exitCode = failure?.exitCode ?? EXIT.bug;
  }
}

/** Asks the sandbox and prints its answer: JSON with snake_case keys, or lines for people. */
export async function ask(
  options: VerbOptions,
  call: AdminCall,
  say: (answer: unknown) => readonly string[],
): Promise<void> {
  await conclude(options, async () => {
    if (options.dryRun === true) return printCall(options, call);
    const client = new AdminClient(options);
    try {
      const answer = await client.call(call);
      const nothing = Array.isArray(answer) && answer.length === 0 && call.method === 'GET';
      if (options.json === true) printJson(answer);
      else print(say(answer));
      if (nothing) throw new CommandFailure(EXIT.nothingMatched, ['There is nothing to show.']);
    } finally {
      await client.close();
    }
  });
}

/** @throws CommandFailure when the person does not agree */
export async function confirm(options: VerbOptions, question: string): Promise<void> {
  if (options.yes === true || options.dryRun === true) return;
  if (!process.stdin.isTTY) {
    throw new CommandFailure(EXIT.usage, [`${question} This cannot be undone.`, 'Say so with --yes.']);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer)) throw new CommandFailure(EXIT.usage, ['Nothing was done.']);
}

export function print(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(snakeKeys(value), null, 2)}\n`);
}

/** Columns as wide as they need to be; control characters show as what they are. */
export function table(headers: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  const cells = [headers, ...rows.map((row) => row.map(plain))];
  const widths = headers.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** Keys as the commands' JSON spells them; maps whose keys are people's own words stay as they are. */
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

function plain(value: unknown): string {
  const text = value === null || value === undefined ? '-' : String(value);
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
}

function printCall(options: VerbOptions, call: AdminCall): void {
  const body = call.body === undefined ? '' : ` with ${JSON.stringify(call.body)}`;
  if (options.json === true) printJson({ dryRun: true, ...call });
  else print([`Would ${call.method} ${call.path}${body}`]);
}
