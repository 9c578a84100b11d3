/** Turns any failure into an exit code and at most three lines: what happened, to what, what to do. */

import { CommanderError } from 'commander';
import { NOT_SET, SettingsError } from '../config/settings-error.js';
import { messageOf, type SystemError, systemErrorIn } from '../config/system-error.js';
import { holderOf } from '../ops/port-holder.js';
import { printable } from './terminal/terminal-text.js';

/** The exit codes that scripts rely on; never change one. */
export const EXIT = {
  done: 0,
  checkFailed: 1,
  usage: 2,
  nothingMatched: 3,
  refused: 4,
  unreachable: 5,
  serviceError: 6,
  rejected: 7,
  locked: 8,
  bug: 70,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure that a command foresees. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  /** To what it happened; one line. */
  readonly subject: string | null;
  /** What to do about it; one line. */
  readonly hint: string | null;

  constructor(
    exitCode: ExitCode,
    message: string,
    more: { readonly subject?: string; readonly hint?: string; readonly cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.exitCode = exitCode;
    this.subject = more.subject ?? null;
    this.hint = more.hint ?? null;
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
  if (error instanceof Error) return describeByName(error);
  return { exitCode: EXIT.bug, what: String(error), subject: null, hint: BUG_HINT };
}

/** What was named is not there; the nearest that is comes with it. */
export function nothingIs(unmatched: {
  readonly filter: string;
  readonly asked: string;
  readonly nearest: readonly string[];
}): CliError {
  const { filter, asked, nearest } = unmatched;
  const hint = nearest.length === 0 ? undefined : `did you mean ${nearest.map(printable).join(' or ')}?`;
  return new CliError(
    EXIT.nothingMatched,
    `no ${filter} is ${printable(asked)}`,
    hint === undefined ? {} : { hint },
  );
}

/** Writes the failure to stderr; the stack and its causes too with `--verbose`. */
export function printError(error: unknown, options: { readonly verbose: boolean }): ExitCode {
  const described = describeError(error);
  const lines = [`billsync: ${oneLine(described.what)}`];
  if (described.subject !== null) lines.push(`  ${oneLine(described.subject)}`);
  if (described.hint !== null) lines.push(`  → ${oneLine(described.hint)}`);
  process.stderr.write(`${lines.join('\n')}\n`);
  if (options.verbose && error instanceof Error) process.stderr.write(`${stackOf(error)}\n`);
  return described.exitCode;
}

const BUG_HINT = 'this should not happen: run again with --verbose and report what it prints';

interface Verdict {
  readonly exitCode: ExitCode;
  readonly hint?: string;
}

/** Errors of the other parts, by the name of their class: commands load those parts only when they need them. */
const BY_NAME: Readonly<Record<string, Verdict>> = {
  ReportNotFoundError: { exitCode: EXIT.usage },
  ReportFilterError: { exitCode: EXIT.usage },
  NotPublishedError: { exitCode: EXIT.nothingMatched },
  OtherVersionFileError: { exitCode: EXIT.nothingMatched },
  DamagedFileError: { exitCode: EXIT.nothingMatched },
  FileOutOfReachError: { exitCode: EXIT.unreachable },
  ReportInterruptedError: { exitCode: EXIT.checkFailed },

  WarehouseLockedError: { exitCode: EXIT.locked },
  WarehouseCorruptError: {
    exitCode: EXIT.checkFailed,
    hint: '`billsync rebuild` makes it again from the archive; the damaged file is kept beside it',
  },
  RebuildLossError: {
    exitCode: EXIT.checkFailed,
    hint: 'put the archive back from its backup (or point BILLSYNC_ARCHIVE at it); `billsync rebuild --accept-loss` goes on without it',
  },
  EnvironmentMismatchError: { exitCode: EXIT.usage },
  FolderError: { exitCode: EXIT.usage },
  WarehouseTooNewError: { exitCode: EXIT.usage },
  CatalogUnreachableError: {
    exitCode: EXIT.unreachable,
    hint: 'check BILLSYNC_WAREHOUSE and that PostgreSQL answers, then `billsync doctor`',
  },
  ExtensionMissingError: { exitCode: EXIT.usage },
  LakeReplacedError: { exitCode: EXIT.locked },
  FileNotArchivedError: { exitCode: EXIT.rejected },
  ArchivedFileDamagedError: { exitCode: EXIT.rejected },
  S3SettingsError: { exitCode: EXIT.usage },
  S3RefusedError: { exitCode: EXIT.refused },
  S3UnreachableError: { exitCode: EXIT.unreachable },
  PublicationError: { exitCode: EXIT.checkFailed },

  NotConfiguredError: { exitCode: EXIT.usage, hint: '`billsync init` writes a settings file to fill in' },
  UnreachableError: {
    exitCode: EXIT.unreachable,
    hint: 'check the address and the network, then `billsync doctor`',
  },
  DeadlineExceededError: { exitCode: EXIT.unreachable },
  AddressRefusedError: { exitCode: EXIT.unreachable },
  HostNotAllowedError: { exitCode: EXIT.unreachable },
  CredentialsRefusedError: { exitCode: EXIT.refused },
  UnknownInvoiceError: { exitCode: EXIT.nothingMatched },
  NotExportedError: { exitCode: EXIT.nothingMatched },
  RefusedError: { exitCode: EXIT.serviceError },
  OverloadedError: { exitCode: EXIT.serviceError },
  ServerFaultError: { exitCode: EXIT.serviceError },
  RedirectError: { exitCode: EXIT.serviceError },
  UnexpectedAnswerError: { exitCode: EXIT.serviceError },
  UrlRefusedError: { exitCode: EXIT.serviceError },
  HashMismatchError: { exitCode: EXIT.rejected },
  SizeMismatchError: { exitCode: EXIT.rejected },
  DiskFullError: { exitCode: EXIT.checkFailed },
  FsyncError: {
    exitCode: EXIT.checkFailed,
    hint: 'the disk may be failing: look at the system log, then do it again',
  },
  NoDiskSpaceError: { exitCode: EXIT.checkFailed },

  // A backfill that is to be followed or steered.
  WorkflowNotFoundError: { exitCode: EXIT.nothingMatched, hint: 'there is none of this name, or it is over' },
  TemporalUnreachableError: { exitCode: EXIT.unreachable },
  TemporalServerMissingError: { exitCode: EXIT.unreachable },
  EncryptionKeyMissingError: { exitCode: EXIT.usage },
  PortTakenError: { exitCode: EXIT.locked },
  WebhookStartError: { exitCode: EXIT.usage },
  AdminPasswordMissingError: { exitCode: EXIT.usage },
  AdminPortTakenError: { exitCode: EXIT.locked },
};

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

function describeByName(error: Error): DescribedError {
  const verdict = BY_NAME[error.name];
  const { exitCode, hint, code, subject } = error as Error & {
    exitCode?: unknown;
    hint?: unknown;
    code?: unknown;
    subject?: unknown;
  };
  const own = typeof exitCode === 'number' && isExitCode(exitCode) ? exitCode : null;
  const taken = errors(error).find((each) => each.code === 'EADDRINUSE') as { port?: unknown } | undefined;
  const addressTaken = taken === undefined ? null : EXIT.locked;
  const network = typeof code === 'string' && BY_NETWORK_CODE.has(code) ? EXIT.unreachable : null;
  const system = systemErrorIn(error);
  const refused = system === null ? null : CHECKED.has(system.code) ? EXIT.checkFailed : EXIT.usage;
  const chosen = own ?? addressTaken ?? verdict?.exitCode ?? network ?? refused ?? EXIT.bug;
  return {
    exitCode: chosen,
    what: own === null && verdict === undefined ? told(error, system) : error.message || error.name,
    subject: typeof subject === 'string' ? subject : heldBy(taken?.port),
    hint:
      typeof hint === 'string'
        ? hint
        : (verdict?.hint ?? system?.advice ?? (chosen === EXIT.bug ? BUG_HINT : null)),
  };
}

/** Who listens at a port that is taken. */
function heldBy(port: unknown): string | null {
  const holder = typeof port === 'number' ? holderOf(port) : null;
  return holder === null ? null : `port ${port} is held by ${holder}`;
}

/** What went wrong and, when the system refused something, which file it was and why. */
function told(error: Error, system: SystemError | null): string {
  if (system === null) return error.message || error.name;
  // What DuckDB said in its own way is said in ours.
  const isSaid = ('code' in error && error.code === system.code) || error.message.startsWith('IO Error:');
  const own = isSaid ? '' : `${error.message} `;
  return `${own}${messageOf(error)}`;
}

/** The machine is in trouble; nothing that was typed is wrong. */
const CHECKED = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE']);

/** The error and its causes. */
function errors(error: Error): readonly NodeJS.ErrnoException[] {
  return error.cause instanceof Error ? [error, ...errors(error.cause)] : [error];
}

function isExitCode(value: number): value is ExitCode {
  return Object.values(EXIT).some((code) => code === value);
}

function describeSettings(error: SettingsError): DescribedError {
  const { problems } = error;
  const missing = problems.filter(({ message }) => message === NOT_SET).map(({ setting }) => setting);
  const wrong = problems.filter(({ message }) => message !== NOT_SET);
  const told = wrong.map(({ setting, message }) => `${setting} ${message}`);
  if (missing.length > 0) told.push(`${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set`);
  const count = problems.length === 1 ? 'a setting is' : `${problems.length} settings are`;
  return {
    exitCode: EXIT.usage,
    what: `${count} ${wrong.length === 0 ? 'missing' : 'wrong'}`,
    subject: told.join('; '),
    hint:
      wrong.length === 0
        ? '`billsync init` writes a settings file to fill in; to rehearse without a service: `billsync up --sandbox`'
        : '`billsync config show` lists every setting, `billsync init` writes a commented settings file',
  };
}

function describeUsage(error: CommanderError): DescribedError {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const hint = rest.join(' ').replace(/^\((.*)\)$/, '$1');
  return { exitCode: EXIT.usage, what: first, subject: null, hint: hint === '' ? 'see --help' : hint };
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, '; ').trim();
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : '';
  return `${error.stack ?? error.message}${cause}`;
}
