/** The kinds of findings are apart from their queries, so that `--help` loads no database. */

import type { ReportRow } from '../../reports/cells.ts';

export interface Finding {
  /** The columns that identify a row, besides `partner_id`. */
  readonly keys: readonly string[];
  /** The claimed amount of a row that is one line; with null, a statement of `claim-queries.sql` finds the lines. */
  readonly claimed: ((row: ReportRow) => string) | null;
  readonly reason: string;
}

export const FINDINGS = {
  duplicates: {
    keys: ['carrier', 'tracking_number', 'currency_code'],
    claimed: null,
    reason: 'Charged more than once',
  },
  outliers: {
    keys: ['invoice_id', 'row_number'],
    claimed: (row) => String(row.difference),
    reason: 'Charged far above the usual price of this service, zone and weight',
  },
  'rate-variance': {
    keys: ['carrier', 'service_level', 'currency_code'],
    claimed: null,
    reason: 'Charged above the agreed rate',
  },
  rebills: {
    keys: ['invoice_id', 'replacement_id', 'currency_code'],
    claimed: null,
    reason: 'Charged more on the replacement than on the voided invoice',
  },
  'price-changes': {
    // A row has a zone only with by=zone.
    keys: ['month', 'carrier', 'service_level', 'currency_code', 'zone'],
    claimed: null,
    reason: 'Charged above the price of the months before',
  },
  'dimensional-weight': {
    keys: ['invoice_id', 'row_number'],
    claimed: (row) => String(row.difference ?? 0),
    reason: 'Billed by a weight far above the usual of this service and origin',
  },
  'late-billed': {
    keys: ['invoice_id', 'row_number'],
    claimed: (row) => String(row.billing_cost),
    reason: 'Charged too late',
  },
} satisfies Readonly<Record<string, Finding>>;

export const NAMED = 'shipments';
export type FindingName = keyof typeof FINDINGS | typeof NAMED;
export const FINDING_NAMES = [...Object.keys(FINDINGS), NAMED] as readonly FindingName[];
