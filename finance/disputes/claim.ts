import { z } from 'zod';
import { EXIT, errorClass } from '../../lib/errors.ts';
import type { ReportCell } from '../../reports/cells.ts';

const amount = z.string().regex(/^\d{1,14}\.\d{4}$/);
const text = z.string().nullable();

/** The line as it was when it was claimed; it never changes. Dates are `YYYY-MM-DD`, amounts decimal text. */
export const ClaimedLine = z
  .object({
    /** The report that found the line; `shipments` for a line that a person named. */
    finding: z.string(),
    partner_id: text,
    invoice_level: z.string(),
    invoice_id: z.string(),
    invoice_number: text,
    row_number: z.int(),
    tenant: text,
    carrier: z.string(),
    tracking_number: z.string(),
    currency_code: z.string(),
    ship_date: text,
    carrier_invoice_date: text,
    invoice_date: text,
    billed: amount,
    expected: amount,
    /** The claimed amount: `billed` less `expected` and earlier credits, above zero. */
    claimed: amount,
    /** Credits of the tracking number up to the claim, as a positive amount; they do not count for this claim. */
    credited_before: amount,
    reason: z.string(),
  })
  .readonly();
export type ClaimedLine = z.output<typeof ClaimedLine>;

export const CLAIM_STATES = ['open', 'sent', 'credited', 'rejected', 'closed'] as const;
export type ClaimState = (typeof CLAIM_STATES)[number];

export const NEXT_STATES: Readonly<Record<ClaimState, readonly ClaimState[]>> = {
  open: ['sent', 'closed'],
  sent: ['credited', 'rejected', 'closed'],
  credited: ['sent', 'closed'],
  rejected: ['sent', 'closed'],
  closed: ['open'],
};

export interface ClaimChange {
  readonly version: number;
  /** When the change was made, in ISO 8601 UTC. */
  readonly at: string;
  readonly by: string;
  readonly state: ClaimState | null;
  /** The note of the person; '' when there is none. */
  readonly note: string;
}

export interface Claim extends ClaimedLine {
  readonly id: string;
  readonly state: ClaimState;
  readonly version: number;
  readonly note: string;
  /** Changes of the claim, the oldest first, which is the opening. */
  readonly history: readonly ClaimChange[];
}

export class ClaimError extends errorClass({
  'claim-changed': { message: '%s', exitCode: EXIT.checkFailed },
  'claim-refused': { message: '%s', exitCode: EXIT.usage },
  'claim-windows-invalid': {
    message: '%s',
    exitCode: EXIT.usage,
    hint: 'docs/how-to/disputes.md describes the file',
  },
}) {}

export function claimRefused(message: string, hint?: string): ClaimError {
  return new ClaimError('claim-refused', [message], { hint });
}

export function chosenOf<T extends Pick<Claim, 'state' | 'carrier'>>(
  claims: readonly T[],
  { state, carrier }: { readonly state: ClaimState | null; readonly carrier: string | null },
): readonly T[] {
  return claims.filter(
    (claim) =>
      (state === null || claim.state === state) &&
      (carrier === null || claim.carrier.toLowerCase() === carrier.toLowerCase()),
  );
}

export function changedText(claims: readonly Claim[]): string {
  return `${claims.map(({ id, state, version }) => `${id} is ${state}, version ${version}`).join('; ')}.`;
}

export function placeKey({ invoice_id, row_number }: LinePlace): string {
  return `${invoice_id}:${row_number}`;
}

/** Another file of the invoice may have another package in the same row, of which nothing was claimed or dismissed. */
export function lineKey(line: Pick<ClaimedLine, 'invoice_id' | 'row_number'> & NumberOf): string {
  return JSON.stringify([placeKey(line), line.carrier, line.tracking_number, line.currency_code]);
}

/** A line that is dismissed as one finding, or at one amount, is not dismissed as another. */
export function findingKey(
  line: Pick<ClaimedLine, 'finding' | 'billed' | 'invoice_id' | 'row_number'> & NumberOf,
): string {
  return JSON.stringify([line.finding, line.billed, lineKey(line)]);
}

/** Where a line is found in a row of a report or of a statement. */
type LinePlace = Readonly<Partial<Record<'invoice_id' | 'row_number', ReportCell>>>;

export type NumberOf = Pick<
  ClaimedLine,
  'partner_id' | 'invoice_level' | 'carrier' | 'tracking_number' | 'currency_code'
>;

export function numberKey(line: NumberOf): string {
  const { partner_id, invoice_level, carrier, tracking_number, currency_code } = line;
  return JSON.stringify([partner_id, invoice_level, carrier.toLowerCase(), tracking_number, currency_code]);
}

export function isWithdrawn({ state, history }: Pick<Claim, 'state' | 'history'>): boolean {
  return state === 'closed' && !history.some((change) => change.state === 'sent');
}

/** A line may have only one such claim. */
export function isUndecided({ state }: Pick<Claim, 'state'>): boolean {
  return state !== 'rejected' && state !== 'closed';
}

export function checkNext({ id, state }: Pick<Claim, 'id' | 'state'>, next: ClaimState): void {
  if (NEXT_STATES[state].includes(next)) return;
  throw claimRefused(
    `Claim ${id} is ${state}, so it cannot become ${next}`,
    `from ${state} it can become ${NEXT_STATES[state].join(' or ')}`,
  );
}

const MAX_NOTE_LENGTH = 2_000;

export function checkNote(note: string): string {
  const kept = note.trim().normalize('NFC');
  if (kept.length <= MAX_NOTE_LENGTH) return kept;
  throw claimRefused(`The note has ${kept.length} characters; it may have ${MAX_NOTE_LENGTH}`);
}

export const NOTHING = '0.0000';
