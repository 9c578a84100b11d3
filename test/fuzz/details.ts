/** Any bytes in any pieces at the details parser: an answer or a refusal, and the same however it was cut. */

import { MalformedAnswerError, wellFormedJson } from '../../lib/wire/json.ts';
import { DetailsReader } from '../../lib/wire/parse-details.ts';
import { damaged, hostileJson } from '../security/hostile/json.ts';
import type { Random } from '../support/random.ts';
import type { FuzzRun } from './fuzz-targets.ts';

export const summary = 'details answers at their parser';

export async function open(): Promise<FuzzRun> {
  return { play };
}

function play(random: Random): void {
  const invoiceId = random.uuid();
  const body = hostileDetails(random, invoiceId);
  const whole = read([body], invoiceId);
  const cut = Math.floor(random.between(0, body.length));
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

export function hostileDetails(random: Random, invoiceId: string): Uint8Array {
  const fields = {
    [random.pick(['id', 'invoiceId', 'acmeInvoiceId', 'invoice_id', 'InvoiceID'])]: invoiceId,
    [random.pick(['status', 'invoiceStatus', 'invoice_status'])]: random.pick([
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
    .filter(() => !random.chance(0.1))
    .map(([key, value]) => `"${key}":${random.chance(0.1) ? hostileJson(random) : JSON.stringify(value)}`);
  if (random.chance(0.5)) parts.push(`"lineItems":[${hostileJson(random)},${hostileJson(random)}]`);
  const invoice = `{${parts.join(',')}}`;
  const text = random.pick([invoice, `{"data":${invoice}}`, `[${invoice}]`, hostileJson(random)]);
  return random.chance(0.3) ? damaged(random, Buffer.from(text)) : Buffer.from(text);
}
