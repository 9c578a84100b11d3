/** Pages of other parts of billsync: the dashboard frames and guards them. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BillsyncError } from '../lib/errors.ts';
import type { ReportRow } from '../reports/cells.ts';
import type { Described, Performed } from './operator/operator-work.ts';

export interface Offered {
  readonly described: Described;
  /** @throws BillsyncError nothing was changed */
  perform(reason: string, by: string): Promise<Performed>;
}

export interface PluginPage {
  readonly title: string;
  /** HTML below the heading, in which every value is escaped. */
  readonly html: string;
  readonly data: unknown;
}

export interface Refusals {
  /** Title of the page of an error. */
  readonly title: string;
  readonly isRefusal: (error: BillsyncError) => boolean;
}

export interface PluginHost {
  send(reply: FastifyReply, page: PluginPage): Promise<FastifyReply>;
  /** An error of billsync becomes a page with its message: 400 for a refusal, 503 for any other. */
  answered(
    reply: FastifyReply,
    refusals: Refusals,
    answer: () => Promise<FastifyReply>,
  ): Promise<FastifyReply>;
  /** The forms of operators; null when no operator is configured, so that there are no actions. */
  readonly operators: OperatorForms | null;
  /** HTML that names the setting for operators; the text is empty where operators are configured. */
  readonly noOperator: string;
  periodMenu(query: unknown, path: string): PeriodMenu;
  /** Whether the request is a program's, which waits for the whole answer instead of a page in parts. */
  isForPrograms(request: FastifyRequest): boolean;
}

export interface PeriodMenu {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Fields of a form and links to usual periods; every value in it is escaped. */
  readonly html: string;
}

export interface OperatorForms {
  post(
    path: string,
    answer: (form: URLSearchParams, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ): void;
  /** A form with one file, of at most 20 MB. @throws BillsyncError the file cannot be taken */
  upload(path: string, make: (file: GivenUpload) => Promise<Offered>): void;
  /** Shows the consequences; the confirmed action runs once and is recorded in the audit log. */
  offer(reply: FastifyReply, by: string, make: () => Promise<Offered>): Promise<FastifyReply>;
}

export interface GivenUpload {
  /** The file's name as the browser sent it, never a path. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface RowAction {
  readonly label: string;
  readonly reports: readonly string[];
  /**
   * The form has the fields `report` and `query` (JSON: filters, parameters), and `row` once for each row.
   */
  readonly action: string;
  /** Returns null when the action does not apply to the row. */
  keyOf(report: string, row: ReportRow): string | null;
  /** The note of the decision about a row; null for a row without a decision. */
  notes?(): Promise<(row: ReportRow) => string | null>;
}

export interface Hit {
  readonly kind: string;
  readonly name: string;
  readonly more: string;
  readonly address: string;
}

export interface PluginPages {
  readonly address: string;
  readonly label: string;
  readonly icon: string;
  readonly group: 'Findings' | 'Month end';
  readonly rows: RowAction | null;
  /** Counts what waits for a person, which may take seconds. */
  countWaiting?(): Promise<number>;
  find?(text: string): Promise<readonly Hit[]>;
  register(app: FastifyInstance, host: PluginHost): void;
}
