/** Any bytes in any pieces at the details parser: an answer or a refusal, and the same however it was cut. */

import { MalformedAnswerError, wellFormedJson } from '../../lib/wire/json.ts';
import { DetailsReader } from '../../lib/wire/parse-details.ts';
import { damaged, hostileJson } from '../security/hostile/json.ts';
import type { Dice } from '../support/dice.ts';
import type { FuzzRun } from '../support/fuzz.ts';

export const summary = 'details answers at their parser';

export async function open(): Promise<FuzzRun> {
  return { play };
}

function play(dice: Dice): void {
  const invoiceId = dice.uuid();
  const body = hostileDetails(dice, invoiceId);
  const whole = read([body], invoiceId);
  const cut = Math.floor(dice.between(0, body.length));
  const pieces = read([body.subarray(0, cut), body.subarray(cut)], invoiceId);
  if (whole !== pieces) throw new Error(`Cut at ${cut} it reads ${pieces}, whole ${whole}.`);
}

function read(pieces: readonly Uint8Array[], invoiceId: string): string {
  const reader = new DetailsReader({ invoiceId, wirePrefix: 'auto' });
  try {
    for (const piece of pieces) reader.push(piece);
    const answer = JSON.stringify(reader.end());
    // Text that only looks like an escape (a backslash and its letters) is none.
    if (wellFormedJson(JSON.parse(answer)) !== answer) {
      throw new Error('What was read cannot be stored.');
    }
    return answer;
  } catch (error) {
    if (error instanceof MalformedAnswerError) return 'refused';
    throw error;
  }
}

/** An answer about that invoice, with wrong values, or none at all. */
export function hostileDetails(dice: Dice, invoiceId: string): Uint8Array {
  const fields = {
    [dice.pick(['id', 'invoiceId', 'acmeInvoiceId', 'invoice_id', 'InvoiceID'])]: invoiceId,
    [dice.pick(['status', 'invoiceStatus', 'invoice_status'])]: dice.pick([
      'APPROVED',
      'VOID',
      'Cancelled',
      'ODD',
    ]),
    invoiceTotalAmount: 12.34,
    totalTransactionCount: 3,
    currencyCode: 'USD',
    invoiceDate: '2026-03-01',
  };
  const parts = Object.entries(fields)
    .filter(() => !dice.chance(0.1))
    .map(([key, value]) => `"${key}":${dice.chance(0.1) ? hostileJson(dice) : JSON.stringify(value)}`);
  if (dice.chance(0.5)) parts.push(`"lineItems":[${hostileJson(dice)},${hostileJson(dice)}]`);
  const invoice = `{${parts.join(',')}}`;
  const text = dice.pick([invoice, `{"data":${invoice}}`, `[${invoice}]`, hostileJson(dice)]);
  return dice.chance(0.3) ? damaged(dice, Buffer.from(text)) : Buffer.from(text);
}
