/** The base of every error that billsync foresees, and the exit codes that scripts rely on. */

/** Never change one. */
export const EXIT = {
  done: 0,
  /** A check failed, drift was found, or a wait ran out. */
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
  /** To what it happened; one line. */
  readonly subject?: string | undefined;
  /** What to do about it; one line. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** A class per cause that somebody treats differently. The message is for people and holds no secret and no URL query. */
export abstract class BillsyncError extends Error {
  /** For machines: kebab-case, and never another. */
  abstract readonly code: string;
  /** How a command ends that meets it. */
  readonly exitCode: ExitCode = EXIT.bug;
  readonly subject: string | null;
  readonly hint: string | null;

  constructor(message: string, { subject, hint, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.subject = subject ?? null;
    this.hint = hint ?? null;
  }
}

/** What happened, to what, and what to do, for where there is one line for it. */
export function sentenceOf({ message, subject, hint }: BillsyncError): string {
  return [message, subject, hint].filter((part) => part !== null).join('; ');
}
