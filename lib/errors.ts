/** An exit code never changes its meaning. */
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

export interface ErrorDetails {
  readonly subject?: string | undefined;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** The message of an error of billsync contains no secret and no URL query. */
export abstract class BillsyncError extends Error {
  /** The code is in kebab-case and never changes, because scripts and the archive contain it. */
  abstract readonly code: string;
  readonly exitCode: ExitCode = EXIT.bug;
  /** How the workflow of an invoice reacts; null for an error that does not reach one. */
  readonly reaction: Reaction | null = null;
  readonly subject: string | null;
  readonly hint: string | null;

  constructor(message: string, { subject, hint, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.subject = subject ?? null;
    this.hint = hint ?? null;
  }
}

export type Reaction = 'retry' | 'operator' | 'fatal';

export interface ErrorKind {
  /** The text of the message, in which each `%s` is replaced by the next of the error's values. */
  readonly message: string;
  readonly exitCode?: ExitCode;
  readonly reaction?: Reaction;
  readonly hint?: string;
}

export function errorClass<const Kinds extends Readonly<Record<string, ErrorKind>>>(kinds: Kinds) {
  type Code = Extract<keyof Kinds, string>;
  return class AreaError extends BillsyncError {
    readonly code: Code;
    override readonly exitCode: ExitCode;
    override readonly reaction: Reaction | null;

    constructor(code: Code, values: readonly (string | number)[] = [], details: ErrorDetails = {}) {
      const { message, exitCode, reaction, hint }: ErrorKind = kinds[code] as ErrorKind;
      const rest = [...values];
      super(
        message.replaceAll('%s', () => String(rest.shift() ?? '')),
        { hint, ...details },
      );
      this.code = code;
      this.exitCode = exitCode ?? EXIT.bug;
      this.reaction = reaction ?? null;
    }
  };
}

export function sentenceOf({ message, subject, hint }: BillsyncError): string {
  return [message, subject, hint].filter((part) => part !== null).join('; ');
}
