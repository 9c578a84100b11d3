/** Pages that another part of billsync brings; the dashboard frames and guards them, and knows nothing of what they show. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ReportRow } from '../reports/cells.ts';
import type { Described, Performed } from './operator/operator-work.ts';

/** Something an operator may agree to. */
export interface Offered {
  readonly described: Described;
  /** @param by the operator @throws BillsyncError nothing was done, and why */
  perform(reason: string, by: string): Promise<Performed>;
}

export interface GuestPage {
  readonly title: string;
  /** HTML of the page below its heading, every value in it escaped. */
  readonly html: string;
  /** The contents of the page for `format=json`. */
  readonly figures: unknown;
}

/** The functions of the dashboard for these pages. */
export interface GuestHost {
  send(reply: FastifyReply, page: GuestPage): Promise<FastifyReply>;
  /** null: no operator is configured, the pages only show. */
  readonly operators: GuestOperators | null;
  /** HTML that says what to set, for the place where an action would be; empty where operators are configured. */
  readonly noOperator: string;
  /** The days that an address asks for, their name, and links to usual ones. @param query of the request */
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

export interface GuestOperators {
  /** A form of ours, posted by an operator; nothing may be done by it but to offer. */
  post(
    path: string,
    answer: (form: URLSearchParams, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ): void;
  /** Shows what will happen and does it when it is agreed to, once, noted in the audit log. A BillsyncError is told. */
  offer(reply: FastifyReply, by: string, make: () => Promise<Offered>): Promise<FastifyReply>;
}

/** An operator action on rows of reports. */
export interface RowChoice {
  /** Label of the button. */
  readonly label: string;
  /** Where the form goes: its fields are `report`, `asked` (JSON: filters, parameters) and `row`, once for each. */
  readonly action: string;
  /** Key of a row; null: the action does not apply to it. */
  keyOf(report: string, row: ReportRow): string | null;
}

/** Something that the search field found. */
export interface Hit {
  readonly kind: string;
  readonly name: string;
  readonly more: string;
  readonly address: string;
}

export interface GuestPages {
  /** Label in the menu. */
  readonly address: string;
  readonly label: string;
  /** Name of an icon of the set. */
  readonly icon: string;
  readonly rows: RowChoice | null;
  /** Results of these pages for the search field. */
  find?(words: string): Promise<readonly Hit[]>;
  register(app: FastifyInstance, host: GuestHost): void;
}
