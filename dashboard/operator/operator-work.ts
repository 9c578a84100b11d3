import type { AuditLog } from '../../lib/audit-log.ts';
import type { DecodePayloads } from './remote-codec.ts';

/** A requested action contains all of its input, so that the confirmed action is the one that runs. */
export type RequestedAction =
  | { readonly action: 'retry'; readonly invoiceId: string }
  | { readonly action: 'requeue' | 'discard'; readonly quarantineId: string }
  | { readonly action: 'publish' | 'pause' | 'resume' }
  | { readonly action: 'acknowledge' | 'unquiet'; readonly key: string }
  | { readonly action: 'quiet'; readonly key: string; readonly hours: number }
  | { readonly action: 'backfill'; readonly invoices: readonly string[] }
  | { readonly action: 'import'; readonly path: string; readonly name: string };

export interface Described {
  readonly title: string;
  readonly consequences: readonly string[];
  readonly label: string;
  readonly reasonLabel: string | null;
  readonly isReasonOptional?: boolean;
  /** The command line with the same effect, for the audit log. */
  readonly command: string;
  readonly target: readonly string[];
  /** The path of the page that had the form. */
  readonly back: string;
}

export interface Performed {
  readonly detail: string;
  readonly next: { readonly path: string; readonly label: string } | null;
}

export interface BackfillStatus {
  readonly total: number;
  readonly done: number;
  readonly inWork: number;
  readonly isOver: boolean;
  readonly counts: Readonly<Record<string, number>>;
}

export interface ScheduleStatus {
  readonly every: string;
  readonly isPaused: boolean;
  readonly note: string;
  readonly nextRuns: readonly string[];
}

export interface OperatorWork {
  /** Describes what the action would change, without a change. @throws BillsyncError the action is impossible */
  describe(requested: RequestedAction): Promise<Described>;
  /** @throws BillsyncError nothing was changed */
  perform(requested: RequestedAction, reason: string, by: string): Promise<Performed>;
  backfill(backfillId: string): Promise<BackfillStatus | null>;
  schedule(): Promise<ScheduleStatus | null>;
}

export interface OperatorOptions {
  readonly work: OperatorWork;
  readonly audit: AuditLog;
  /** The folder for files between their upload and their import, and for nothing else. */
  readonly uploadFolder: string;
  readonly decode: DecodePayloads;
}
