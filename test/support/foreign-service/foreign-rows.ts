/** Rows as the other maker bills them: awkward to read, known to the last digit, the same for the same seed. */

import { createHash } from 'node:crypto';

/** A row as billed; decimals are exact text, an empty cell is ''. */
export interface ForeignRow {
  readonly tenant: string;
  readonly invoiceId: string;
  readonly invoiceDate: string;
  readonly shipDate: string;
  readonly origin: string;
  readonly currencyCode: string;
  readonly billingCost: string;
  readonly billableWeight: string;
  readonly unit: string;
  readonly trackingNumber: string;
  readonly carrier: string;
  readonly zone: string;
  readonly carrierInvoiceDate: string;
  readonly serviceLevel: string;
}

const AWKWARD_LEVELS = [
  'Ground',
  'Express, "next day"',
  'Zwei\r\nZeilen',
  '=SUM(A1)',
  '',
  'Übernacht 🚚',
] as const;
const CARRIERS = ['UPS', 'FedEx', 'DHL, Inc.'] as const;

export function madeUpRow(
  invoiceId: string,
  index: number,
  { tenant, currencyCode }: { readonly tenant: string | null; readonly currencyCode: string },
): ForeignRow {
  const tenThousandths = (index % 7 === 3 ? -1 : 1) * (12_345 + index * 10_007);
  return {
    tenant: tenant ?? 'The Whole "Partner"',
    invoiceId,
    invoiceDate: '2026-11-01',
    shipDate: `2026-10-${String(1 + (index % 30)).padStart(2, '0')}`,
    origin: index % 5 === 4 ? '' : String(501 + index).padStart(5, '0'),
    currencyCode,
    billingCost: decimalOf(BigInt(tenThousandths)),
    billableWeight: index % 6 === 5 ? '' : `${index % 40}.25`,
    unit: index % 6 === 5 ? '' : index % 2 === 0 ? 'LB' : 'KG',
    trackingNumber: `1Z${invoiceId.slice(0, 8)}${index}`,
    carrier: CARRIERS[index % CARRIERS.length] ?? 'UPS',
    zone: index % 4 === 0 ? '' : `Zone ${index % 8}`,
    carrierInvoiceDate: index % 3 === 0 ? '' : '2026-10-30',
    serviceLevel: AWKWARD_LEVELS[index % AWKWARD_LEVELS.length] ?? '',
  };
}

const HEADER_LINE =
  'Tenant,Invoice Generation Date,Invoice ID,Ship Date,Origin,Currency Code,Billing Cost,Billable Weight,' +
  'Billable Weight Unit,Tracking Number,Carrier,Carrier Zone,Carrier Invoice Date,Service Level';

export function csvOf(rows: readonly ForeignRow[]): string {
  const lines = rows.map((row) => {
    const dated = [row.tenant, row.invoiceDate, row.invoiceId, row.shipDate, row.origin, row.currencyCode];
    const billed = [row.billingCost, row.billableWeight, row.unit, row.trackingNumber, row.carrier, row.zone];
    const cells = [...dated, ...billed, row.carrierInvoiceDate, row.serviceLevel];
    return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.split('"').join('""')}"` : cell)).join(',');
  });
  return [HEADER_LINE, ...lines, ''].join('\r\n');
}

/** Exact, with four decimals. */
export function totalOf(rows: readonly ForeignRow[]): string {
  const total = rows.reduce((sum, { billingCost }) => {
    const [whole = '0', fraction = ''] = billingCost.replace('-', '').split('.');
    const amount = BigInt(whole + fraction.padEnd(4, '0').slice(0, 4));
    return billingCost.startsWith('-') ? sum - amount : sum + amount;
  }, 0n);
  return decimalOf(total);
}

function decimalOf(tenThousandths: bigint): string {
  const digits = String(tenThousandths < 0n ? -tenThousandths : tenThousandths).padStart(5, '0');
  return `${tenThousandths < 0n ? '-' : ''}${digits.slice(0, -4)}.${digits.slice(-4)}`;
}

/** The same for the same name. */
export function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
