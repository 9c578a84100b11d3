/** The actions of operators in the dashboard; cli/operator implements them. */

import type { AuditLog } from '../../lib/audit-log.ts';
import type { DecodePayloads } from './remote-codec.ts';

/** An action with all its input, so that the confirmed action is the one that runs. */
export type RequestedAction =
  | { readonly action: 'retry'; readonly invoiceId: string }
  | { readonly action: 'requeue' | 'discard'; readonly quarantineId: string }
  | { readonly action: 'publish' | 'pause' | 'resume' }
  /** `key` of an alert that is open. */
  | { readonly action: 'acknowledge' | 'unquiet'; readonly key: string }
  | { readonly action: 'quiet'; readonly key: string; readonly hours: number }
  /** `invoices`: ids or numbers, as typed. */
  | { readonly action: 'backfill'; readonly invoices: readonly string[] }
  /** A file on this machine, and its original name. */
  | { readonly action: 'import'; readonly path: string; readonly name: string };

export interface Described {
  readonly title: string;
  /** Sentences about the effect, for confirmation. */
  readonly consequences: readonly string[];
  /** Label of the button. */
  readonly label: string;
  /** Label of the field for the reason; null: there is none. */
  readonly reasonLabel: string | null;
  /** Whether the field may stay empty; missing: it may not. */
  readonly isReasonOptional?: boolean;
  /** For the audit log: the command that does the same. */
  readonly command: string;
  readonly target: readonly string[];
  /** Path of the page with the form. */
  readonly back: string;
}

export interface Performed {
  /** The result, as a sentence. */
  readonly detail: string;
  /** The page of the progress or result; null: none. */
  readonly next: { readonly path: string; readonly label: string } | null;
}

export interface BackfillStatus {
  readonly total: number;
  readonly done: number;
  readonly inWork: number;
  readonly isOver: boolean;
  /** Invoices by final state. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface ScheduleStatus {
  readonly every: string;
  readonly isPaused: boolean;
  readonly note: string;
  readonly nextRuns: readonly string[];
}

export interface OperatorWork {
  /** Changes nothing. @throws BillsyncError the action is impossible, and why */
  describe(requested: RequestedAction): Promise<Described>;
  /** @param by the operator @throws BillsyncError nothing was changed, and why */
  perform(requested: RequestedAction, reason: string, by: string): Promise<Performed>;
  /** null: no backfill has that id. */
  backfill(backfillId: string): Promise<BackfillStatus | null>;
  /** null: there is none yet. */
  schedule(): Promise<ScheduleStatus | null>;
}

export interface OperatorOptions {
  readonly work: OperatorWork;
  readonly audit: AuditLog;
  /** Holds files between upload and import, and nothing else. */
  readonly uploadFolder: string;
  /** For Temporal's own pages. */
  readonly decode: DecodePayloads;
}
