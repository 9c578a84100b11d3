/** Pages of other parts of billsync; the dashboard frames and guards them, and knows nothing of their content. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ReportRow } from '../reports/cells.ts';
import type { Described, Performed } from './operator/operator-work.ts';

/** An action for an operator to confirm. */
export interface Offered {
  readonly described: Described;
  /** @param by the operator @throws BillsyncError nothing was changed, and why */
  perform(reason: string, by: string): Promise<Performed>;
}

export interface PluginPage {
  readonly title: string;
  /** HTML of the page below its heading, every value in it escaped. */
  readonly html: string;
  /** The contents for `format=json`. */
  readonly data: unknown;
}

/** The functions of the dashboard for these pages. */
export interface PluginHost {
  send(reply: FastifyReply, page: PluginPage): Promise<FastifyReply>;
  /** null: no operator is configured, so there are no actions. */
  readonly operators: OperatorForms | null;
  /** HTML that names the setting for operators, for the place of an action; empty where operators are configured. */
  readonly noOperator: string;
  /** The days of an address, their name, and links to usual ones. @param query of the request */
  periodMenu(query: unknown, path: string): PeriodMenu;
}

export interface PeriodMenu {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly period: string;
  readonly presets: readonly {
    readonly label: string;
    readonly address: string;
    readonly isChosen: boolean;
  }[];
}

export interface OperatorForms {
  /** A form of the dashboard's own pages, posted by an operator; it may only offer an action. */
  post(
    path: string,
    answer: (form: URLSearchParams, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ): void;
  /** Shows the consequences; once confirmed, the action runs once and is recorded in the audit log. */
  offer(reply: FastifyReply, by: string, make: () => Promise<Offered>): Promise<FastifyReply>;
}

/** An action of operators on rows of reports. */
export interface RowAction {
  /** Label of the button. */
  readonly label: string;
  /** Address of the form: its fields are `report`, `query` (JSON: filters, parameters) and `row`, once for each. */
  readonly action: string;
  /** Key of a row; null: the action does not apply to it. */
  keyOf(report: string, row: ReportRow): string | null;
}

/** A result of the search field. */
export interface Hit {
  readonly kind: string;
  readonly name: string;
  readonly more: string;
  readonly address: string;
}

export interface PluginPages {
  readonly address: string;
  /** Label in the menu. */
  readonly label: string;
  /** Name of an icon of the set. */
  readonly icon: string;
  readonly rows: RowAction | null;
  /** Number of items that wait for a person, beside the menu entry; it may take seconds. */
  countWaiting?(): Promise<number>;
  /** Results of these pages for the search field. */
  find?(text: string): Promise<readonly Hit[]>;
  register(app: FastifyInstance, host: PluginHost): void;
}
