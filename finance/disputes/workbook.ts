/** Claims as a file that a carrier takes: a line for each, with our reference to name in the credit. */

import { buffer } from 'node:stream/consumers';
import type { ReportColumn } from '../../reports/cells.ts';
import { renderCsv } from '../../reports/render/csv-text.ts';
import { inOneBatch } from '../../reports/render/render-report.ts';
import { ClaimRefusedError, NOTHING } from './claim.ts';
import { type ClaimWithStatus, totalsOf } from './claim-status.ts';

export const CLAIM_FORMATS = ['xlsx', 'csv'] as const;
export type ClaimFormat = (typeof CLAIM_FORMATS)[number];

export interface ClaimFile {
  readonly body: string | Uint8Array;
  /** Claims without an outstanding amount are left out. */
  readonly claims: number;
  readonly leftOut: number;
}

/**
 * @param claims of one carrier and one partner
 * @throws ClaimRefusedError they are of several, or none is left
 */
export async function claimFile(
  claims: readonly ClaimWithStatus[],
  format: ClaimFormat,
  now: Date,
): Promise<ClaimFile> {
  const pending = claims.filter(({ outstanding }) => outstanding !== NOTHING);
  const [first] = pending;
  if (first === undefined) throw new ClaimRefusedError('None of these claims asks for anything');
  refuseSeveral(
    'carriers',
    pending.map(({ carrier }) => carrier.toLowerCase()),
  );
  refuseSeveral(
    'partners',
    pending.map(({ partnerId }) => partnerId ?? 'unknown'),
  );
  const sheet = { columns: COLUMNS, rows: pending.map(rowOf) };
  const counts = { claims: pending.length, leftOut: claims.length - pending.length };
  if (format === 'csv') return { ...counts, body: renderCsv(sheet) };
  const { renderWorkbook } = await import('../../reports/render/xlsx-file.ts');
  const about = [
    ['Claims', `${pending.length} against ${first.carrier}, as of ${now.toISOString().slice(0, 10)}`],
    ...totalsOf(pending).map(({ claimed, currencyCode }) => ['Claimed', `${claimed} ${currencyCode}`]),
    ['One row per', 'billed line'],
    ['Billed', 'what the invoice named charges for the line'],
    ['Expected', 'what the line should have cost'],
    ['Claimed', 'the amount claimed: billed less expected, less credits before the claim'],
    ['Our reference', 'please name it with each credit'],
  ] as const satisfies readonly (readonly string[])[];
  return {
    ...counts,
    body: await buffer(
      renderWorkbook(
        { columns: sheet.columns, batches: inOneBatch(sheet.rows) },
        { sheet: 'Claims', about: about.map(([label = '', text = '']) => [label, text]) },
      ),
    ),
  };
}

function refuseSeveral(what: string, names: readonly string[]): void {
  const several = [...new Set(names)].sort();
  if (several.length <= 1) return;
  throw new ClaimRefusedError(`These are claims of several ${what}: ${several.join(', ')}`, {
    hint: 'one file goes to one carrier: choose with --carrier, or name the claims',
  });
}

function rowOf(claim: ClaimWithStatus) {
  return {
    our_reference: claim.id,
    carrier: claim.carrier,
    tracking_number: claim.trackingNumber,
    invoice_number: claim.invoiceNumber,
    ship_date: claim.shipDate,
    billed: claim.billed,
    expected: claim.expected,
    amount: claim.outstanding,
    currency_code: claim.currencyCode,
    reason: claim.reason,
  };
}

const text = { type: 'text', scale: 0, unit: null, align: 'left', isDetail: false } as const;
const money = { type: 'decimal', scale: 4, unit: 'money', align: 'right', isDetail: false } as const;
/** The names are also those of `report adjustments --disputes FILE`. */
const COLUMNS: readonly ReportColumn[] = [
  { ...text, name: 'our_reference' },
  { ...text, name: 'carrier' },
  { ...text, name: 'tracking_number' },
  { ...text, name: 'invoice_number' },
  { ...text, name: 'ship_date', type: 'date' },
  { ...money, name: 'billed' },
  { ...money, name: 'expected' },
  { ...money, name: 'amount', label: 'Claimed' },
  { ...text, name: 'currency_code', label: 'Currency' },
  { ...text, name: 'reason' },
];
