/** Claims as JSON: snake_case, amounts as text. */

import { NEXT_STATES } from './claim.ts';
import type { ClaimTotals, ClaimWithStatus } from './claim-status.ts';
import type { Claimable } from './findings.ts';

export function claimJson(claim: ClaimWithStatus) {
  return {
    id: claim.id,
    state: claim.state,
    version: claim.version,
    ...lineJson(claim),
    outstanding: claim.outstanding,
    recovered: claim.recovered,
    credited_before: claim.creditedBefore,
    closes_on: claim.deadline?.closesOn ?? null,
    days_left: claim.deadline?.daysLeft ?? null,
    is_overdue: claim.isOverdue,
    voided_at: claim.voidedAt,
    concerns: claim.concerns,
    note: claim.note,
    next_states: NEXT_STATES[claim.state],
    opened_at: claim.history[0]?.at ?? null,
    opened_by: claim.history[0]?.by ?? null,
  };
}

/** With its history and the credits of its number. */
export function wholeClaimJson(claim: ClaimWithStatus) {
  return {
    ...claimJson(claim),
    history: claim.history.map((change) => ({ ...change })),
    credits: claim.credits.map(({ amount, invoiceId, invoiceNumber, rowNumber, invoiceDate }) => ({
      ...{ amount, invoice_id: invoiceId, invoice_number: invoiceNumber, row_number: rowNumber },
      invoice_date: invoiceDate,
    })),
  };
}

/** `hindrance` is the reason why the line cannot be claimed; null: it can. */
export function claimableJson(line: Claimable) {
  return { ...lineJson(line), credited_before: line.creditedBefore, hindrance: line.hindrance };
}

export function totalsJson({ partnerId, currencyCode, claims, claimed, recovered }: ClaimTotals) {
  return { partner_id: partnerId, currency_code: currencyCode, claims, claimed, recovered };
}

function lineJson(line: Omit<Claimable, 'hindrance' | 'creditedBefore'>) {
  return {
    finding: line.finding,
    partner_id: line.partnerId,
    tenant: line.tenant,
    carrier: line.carrier,
    tracking_number: line.trackingNumber,
    invoice_number: line.invoiceNumber,
    invoice_id: line.invoiceId,
    row_number: line.rowNumber,
    invoice_level: line.invoiceLevel,
    ship_date: line.shipDate,
    invoice_date: line.invoiceDate,
    currency_code: line.currencyCode,
    billed: line.billed,
    expected: line.expected,
    claimed: line.claimed,
    reason: line.reason,
  };
}
