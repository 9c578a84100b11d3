/** A claim: one billed line that a carrier should credit, wholly or in part, with its history. */

import { BillsyncError, EXIT } from '../../lib/wire/errors.ts';

/** The line as it was when it was claimed; never changed afterwards. */
export interface ClaimedLine {
  /** Report that found it; `shipments` when a person named the line. */
  readonly finding: string;
  readonly partnerId: string | null;
  readonly invoiceLevel: string;
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  /** Row number in the invoice's file. */
  readonly rowNumber: number;
  readonly tenant: string | null;
  readonly carrier: string;
  readonly trackingNumber: string;
  readonly currencyCode: string;
  /** Dates are `YYYY-MM-DD`. */
  readonly shipDate: string | null;
  readonly carrierInvoiceDate: string | null;
  readonly invoiceDate: string | null;
  /** Decimal text, four decimals, like all amounts. */
  readonly billed: string;
  readonly expected: string;
  /** `billed` less `expected`, less what was credited before; above zero. */
  readonly claimed: string;
  readonly reason: string;
  /** All credits of the number when it was claimed (positive); they do not count for this claim. */
  readonly creditedBefore: string;
}

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
  /** From 1, the opening; each change is one more. */
  readonly version: number;
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly by: string;
  /** null: as it was. */
  readonly state: ClaimState | null;
  /** '' for none. */
  readonly note: string;
}

export interface Claim extends ClaimedLine {
  /** Our reference, `D-17`. */
  readonly id: string;
  readonly state: ClaimState;
  readonly version: number;
  /** The newest note; '' for none. */
  readonly note: string;
  /** Oldest first; the first is the opening. */
  readonly history: readonly ClaimChange[];
}

/** Nothing was changed: a claim was changed by another person meanwhile. */
export class ClaimChangedError extends BillsyncError {
  readonly code = 'claim-changed';
  override readonly exitCode = EXIT.checkFailed;
}

/** The claim does not allow the change. */
export class ClaimRefusedError extends BillsyncError {
  readonly code = 'claim-refused';
  override readonly exitCode = EXIT.usage;
}

/** Those in a state and against a carrier, in any case; null: all. */
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

export function lineKey({ invoiceId, rowNumber }: Pick<ClaimedLine, 'invoiceId' | 'rowNumber'>): string {
  return `${invoiceId}:${rowNumber}`;
}

/** Credits are summed by this key. */
export function numberKey(line: NumberOf): string {
  return JSON.stringify([
    ...[
      line.partnerId,
      line.invoiceLevel,
      line.carrier.toLowerCase(),
      line.trackingNumber,
      line.currencyCode,
    ],
  ]);
}

export type NumberOf = Pick<
  ClaimedLine,
  'partnerId' | 'invoiceLevel' | 'carrier' | 'trackingNumber' | 'currencyCode'
>;

/** Closed without having been sent. */
export function isWithdrawn({ state, history }: Pick<Claim, 'state' | 'history'>): boolean {
  return state === 'closed' && !history.some((change) => change.state === 'sent');
}

/** A line may have only one such claim. */
export function isAlive({ state }: Pick<Claim, 'state'>): boolean {
  return state !== 'rejected' && state !== 'closed';
}

/** @throws ClaimRefusedError the state cannot follow the present one */
export function checkNext({ id, state }: Pick<Claim, 'id' | 'state'>, next: ClaimState): void {
  if (NEXT_STATES[state].includes(next)) return;
  throw new ClaimRefusedError(`Claim ${id} is ${state}, so it cannot become ${next}`, {
    hint: `from ${state} it can become ${NEXT_STATES[state].join(' or ')}`,
  });
}

const MAX_NOTE_LENGTH = 2_000;

/** @throws ClaimRefusedError the note is too long */
export function checkNote(note: string): string {
  const kept = note.trim().normalize('NFC');
  if (kept.length <= MAX_NOTE_LENGTH) return kept;
  throw new ClaimRefusedError(`The note has ${kept.length} characters; it may have ${MAX_NOTE_LENGTH}`);
}

/** Zero as amounts are written. */
export const NOTHING = '0.0000';
