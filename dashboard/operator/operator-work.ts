/** The actions of operators in the dashboard; cli/operator implements them. */

import type { AuditLog } from '../../lib/audit-log.ts';
import type { DecodePayloads } from './remote-codec.ts';

/** One thing to be done, complete: what was agreed to is what is done. */
export type RequestedAction =
  | { readonly action: 'retry'; readonly invoiceId: string }
  | { readonly action: 'requeue' | 'discard'; readonly quarantineId: string }
  | { readonly action: 'publish' | 'pause' | 'resume' }
  /** `key` of an alert that is open. */
  | { readonly action: 'acknowledge' | 'unquiet'; readonly key: string }
  | { readonly action: 'quiet'; readonly key: string; readonly hours: number }
  /** Ids or numbers, as they were typed. */
  | { readonly action: 'backfill'; readonly words: readonly string[] }
  /** A file on this machine, and what its owner calls it. */
  | { readonly action: 'import'; readonly path: string; readonly name: string };

export interface Described {
  readonly title: string;
  /** Sentences about the effect, for confirmation. */
  readonly consequences: readonly string[];
  /** Label of the button. */
  readonly label: string;
  /** Null: nobody asks why; else what the field is called. */
  readonly reasonLabel: string | null;
  /** Whether the field may stay empty; missing: it may not. */
  readonly isReasonOptional?: boolean;
  /** As the audit log names it: the words of the command that does the same. */
  readonly command: string;
  readonly target: readonly string[];
  /** Path of the page with the form. */
  readonly back: string;
}

export interface Performed {
  /** The result, as a sentence. */
  readonly detail: string;
  /** A page that tells how it goes on; null: there is none. */
  readonly next: { readonly path: string; readonly label: string } | null;
}

export interface BackfillShown {
  readonly total: number;
  readonly done: number;
  readonly inWork: number;
  readonly isOver: boolean;
  /** How many ended in which state. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface ScheduleShown {
  readonly every: string;
  readonly isPaused: boolean;
  readonly note: string;
  readonly nextRuns: readonly string[];
}

export interface OperatorWork {
  /** Looks, and changes nothing. @throws BillsyncError it cannot be done, and why */
  describe(requested: RequestedAction): Promise<Described>;
  /** @param by the operator @throws BillsyncError nothing was done, and why */
  perform(requested: RequestedAction, reason: string, by: string): Promise<Performed>;
  /** null: no backfill has that id. */
  backfill(backfillId: string): Promise<BackfillShown | null>;
  /** null: there is none yet. */
  schedule(): Promise<ScheduleShown | null>;
}

export interface OperatorOptions {
  readonly work: OperatorWork;
  readonly audit: AuditLog;
  /** Where files lie between upload and import; nothing else lies there. */
  readonly uploadFolder: string;
  /** For Temporal's own pages. */
  readonly decode: DecodePayloads;
}
