import { CommanderError } from 'commander';
import { NOT_SET, SettingsError } from '../lib/config/settings.ts';
import { BillsyncError, type ErrorDetails, EXIT, type ExitCode } from '../lib/errors.ts';
import { holderOf } from '../lib/processes.ts';
import { messageOf, type SystemError, systemErrorIn } from '../lib/system-errors.ts';
import { printable } from './terminal/table.ts';

export { EXIT, type ExitCode };

export class CliError extends BillsyncError {
  readonly code = 'command';
  override readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, more: ErrorDetails = {}) {
    super(message, more);
    this.exitCode = exitCode;
  }
}

export interface DescribedError {
  readonly exitCode: ExitCode;
  readonly what: string;
  readonly subject: string | null;
  readonly hint: string | null;
}

export function describeError(error: unknown): DescribedError {
  if (error instanceof CliError) {
    return { exitCode: error.exitCode, what: error.message, subject: error.subject, hint: error.hint };
  }
  if (error instanceof SettingsError) return describeSettings(error);
  if (error instanceof CommanderError) return describeUsage(error);
  if (error instanceof Error) return describeAny(error);
  return { exitCode: EXIT.bug, what: String(error), subject: null, hint: BUG_HINT };
}

export function nothingMatchedText(unmatched: {
  readonly filter: string;
  readonly given: string;
  readonly nearest: readonly string[];
}): CliError {
  const { filter, given, nearest } = unmatched;
  const hint = nearest.length === 0 ? undefined : `did you mean ${nearest.map(printable).join(' or ')}?`;
  return new CliError(EXIT.nothingMatched, `no ${filter} is ${printable(given)}`, { hint });
}

export function printError(error: unknown, options: { readonly verbose: boolean }): ExitCode {
  const described = describeError(error);
  const lines = [`billsync: ${oneLine(described.what)}`];
  if (described.subject !== null) lines.push(`  ${oneLine(described.subject)}`);
  if (described.hint !== null) lines.push(`  → ${oneLine(described.hint)}`);
  process.stderr.write(`${lines.join('\n')}\n`);
  if (options.verbose && error instanceof Error) process.stderr.write(`${stackOf(error)}\n`);
  return described.exitCode;
}

const LOCKED_HINT = 'end it, or choose another port or data folder';
const BUG_HINT = 'this is a bug: run the command again with --verbose and report its output';

const BY_NETWORK_CODE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_SOCKET',
]);

function describeAny(error: Error): DescribedError {
  const ours = error instanceof BillsyncError ? error : null;
  const taken = withCauses(error).find((each) => each.code === 'EADDRINUSE') as
    | { port?: unknown }
    | undefined;
  const system = systemErrorIn(error);
  const known = ours === null || ours.exitCode === EXIT.bug ? null : ours.exitCode;
  // The error of the sandbox is recognized by its name, so that commands do not load the sandbox.
  const isLocked = taken !== undefined || error.name === 'DataDirLockedError';
  const exitCode = isLocked ? EXIT.locked : (known ?? exitCodeOfForeign(error, system));
  return {
    exitCode,
    what: known === null ? describedMessage(error, system) : error.message,
    subject: ours?.subject ?? portHolderText(taken?.port),
    hint:
      ours?.hint ??
      (isLocked ? LOCKED_HINT : hintOf(error, system)) ??
      (exitCode === EXIT.bug ? BUG_HINT : null),
  };
}

function exitCodeOfForeign(error: NodeJS.ErrnoException, system: SystemError | null): ExitCode {
  if (isWorkflowMissing(error)) return EXIT.nothingMatched;
  if (BY_NETWORK_CODE.has(error.code ?? '')) return EXIT.unreachable;
  if (system === null) return machineProblemIn(error) === null ? EXIT.bug : EXIT.checkFailed;
  return CHECKED.has(system.code) ? EXIT.checkFailed : EXIT.usage;
}

function hintOf(error: Error, system: SystemError | null): string | null {
  if (isWorkflowMissing(error)) return 'it does not exist, or it has ended';
  if (system !== null) return system.advice;
  return machineProblemIn(error);
}

function machineProblemIn(error: Error): string | null {
  for (const { code = '', syscall, errno } of withCauses(error)) {
    if (NOT_INSTALLED.has(code))
      return 'a file of billsync or of its packages is missing or built for another system: reinstall billsync, on Linux with glibc or on macOS';
    if (code === 'ERR_SYSTEM_ERROR' || (syscall !== undefined && errno !== undefined))
      return 'the operating system refused it: check the limits and mounts of this machine or container';
  }
  return null;
}

const NOT_INSTALLED = new Set(['ERR_DLOPEN_FAILED', 'ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND']);

/** The error is recognized by its name, so that commands do not load the class. */
function isWorkflowMissing({ name }: Error): boolean {
  return name === 'WorkflowNotFoundError';
}

function portHolderText(port: unknown): string | null {
  const holder = typeof port === 'number' ? holderOf(port) : null;
  return holder === null ? null : `port ${port} is held by ${holder}`;
}

function describedMessage(error: Error, system: SystemError | null): string {
  if (system === null) return error.message || error.name;
  // The message of DuckDB or of the system is replaced, not repeated.
  const isReplaced = ('code' in error && error.code === system.code) || error.message.startsWith('IO Error:');
  const own = isReplaced ? '' : `${error.message} `;
  return `${own}${messageOf(error)}`;
}

const CHECKED = new Set(
  'ENOSPC EDQUOT EIO EMFILE ENFILE EAGAIN EBUSY EFBIG ENOLCK ENOMEM ENOTSUP ESTALE ETXTBSY'.split(' '),
);

function withCauses(error: Error): readonly NodeJS.ErrnoException[] {
  return error.cause instanceof Error ? [error, ...withCauses(error.cause)] : [error];
}

function describeSettings(error: SettingsError): DescribedError {
  const { problems } = error;
  const missing = problems.filter(({ message }) => message === NOT_SET).map(({ setting }) => setting);
  const wrong = problems.filter(({ message }) => message !== NOT_SET);
  const lines = wrong.map(({ setting, message }) => `${setting} ${message}`);
  if (missing.length > 0) lines.push(`${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set`);
  const count = problems.length === 1 ? 'a setting is' : `${problems.length} settings are`;
  return {
    exitCode: EXIT.usage,
    what: `${count} ${wrong.length === 0 ? 'missing' : 'wrong'}`,
    subject: lines.join('; '),
    hint:
      wrong.length === 0
        ? '`billsync init` writes a settings file; `billsync up --sandbox` runs without a service'
        : '`billsync config show` lists every setting, `billsync init` writes a commented settings file',
  };
}

function describeUsage(error: CommanderError): DescribedError {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const hint = rest.join(' ').replace(/^\((.*)\)$/, '$1');
  return { exitCode: EXIT.usage, what: first, subject: null, hint: hint === '' ? 'see --help' : hint };
}

function oneLine(text: string): string {
  return printable(text.replace(/\s*\n\s*/g, '; ').trim());
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : '';
  const lines = (error.stack ?? error.message).split('\n').map(printable);
  return `${lines.join('\n')}${cause}`;
}
