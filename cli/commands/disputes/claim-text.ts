/** Claims as a person reads them at a terminal. */

import type { claimableJson, claimJson, totalsJson } from '../../../finance/disputes/claim-json.ts';
import type { StandingClaim } from '../../../finance/disputes/standing.ts';
import { counted } from '../../terminal/output.ts';
import type { Column } from '../../terminal/render-table.ts';
import { printable } from '../../terminal/terminal-text.ts';

/** A line below the list, for one currency of one partner. */
export function totalText({
  partner_id,
  currency_code,
  claims,
  claimed,
  recovered,
}: ReturnType<typeof totalsJson>): string {
  const of = partner_id === null ? '' : `, partner ${partner_id}`;
  return `  in all ${claimed} ${currency_code} claimed, ${recovered} recovered: ${counted(claims, 'claim')}${of}`;
}

/** One claim with its history and the credits of its number, in lines. */
export function claimText(claim: StandingClaim): string {
  const { id, state, version, trackingNumber, carrier, currencyCode: currency, deadline } = claim;
  const window =
    deadline === null ? 'not known' : `until ${deadline.closesOn}, ${deadline.daysLeft} days left`;
  const lines = [
    `${id} is ${state}, version ${version}: ${printable(trackingNumber)} by ${printable(carrier)}`,
    `  invoice ${printable(claim.invoiceNumber ?? claim.invoiceId)}, line ${claim.rowNumber}, shipped ${claim.shipDate ?? 'on an unknown day'}`,
    `  billed ${claim.billed}, expected ${claim.expected}, claimed ${claim.claimed} ${currency}: ${printable(claim.reason)}`,
    `  recovered ${claim.recovered} ${currency}; claimed now ${claim.outstanding} ${currency}`,
    `  claim window: ${window}`,
    ...claim.concerns.map((concern) => `  ! ${concern}`),
    'History',
    ...claim.history.map(
      ({ version: made, at, by, state: to, note }) =>
        `  ${made}  ${at.slice(0, 19).replace('T', ' ')}  ${printable(by)}  ${to ?? 'note'}${note === '' ? '' : `: ${printable(note)}`}`,
    ),
    ...(claim.credits.length === 0 ? [] : [`Credits of ${printable(trackingNumber)}`]),
    ...claim.credits.map(
      ({ amount, invoiceNumber, invoiceId, rowNumber, invoiceDate }) =>
        `  ${amount} ${currency}  invoice ${printable(invoiceNumber ?? invoiceId)}, line ${rowNumber}, ${invoiceDate ?? ''}`,
    ),
  ];
  return lines.join('\n');
}

export const CLAIM_COLUMNS: readonly Column<ReturnType<typeof claimJson>>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'state', value: ({ state }) => state },
  { title: 'carrier', value: ({ carrier }) => carrier },
  { title: 'tracking number', value: ({ tracking_number }) => tracking_number },
  { title: 'invoice', value: ({ invoice_number }) => invoice_number },
  { title: 'claimed', value: ({ outstanding }) => outstanding, align: 'right' },
  { title: 'recovered', value: ({ recovered }) => recovered, align: 'right' },
  { title: 'currency', value: ({ currency_code }) => currency_code },
  { title: 'days left', value: ({ days_left }) => days_left, align: 'right' },
  { title: 'look at', value: ({ concerns }) => concerns.join(' '), canShrink: true },
  { title: 'note', value: ({ note }) => note, canShrink: true },
];

export const FOUND_COLUMNS: readonly Column<ReturnType<typeof claimableJson>>[] = [
  { title: 'carrier', value: ({ carrier }) => carrier },
  { title: 'tracking number', value: ({ tracking_number }) => tracking_number },
  { title: 'invoice', value: ({ invoice_number }) => invoice_number },
  { title: 'shipped', value: ({ ship_date }) => ship_date },
  { title: 'billed', value: ({ billed }) => billed, align: 'right' },
  { title: 'expected', value: ({ expected }) => expected, align: 'right' },
  { title: 'claimed', value: ({ claimed }) => claimed, align: 'right' },
  { title: 'currency', value: ({ currency_code }) => currency_code },
  { title: 'why not', value: ({ hindrance }) => hindrance, canShrink: true },
];
