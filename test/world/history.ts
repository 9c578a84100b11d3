/** A history as plain JSON: what the service and the operators did, in order. Everything else is computed from it. */

/** Cells of a line as they are in the file; '' is an empty cell. */
export interface Row {
  readonly tenant: string;
  readonly invoiceDate: string;
  readonly shipDate: string;
  readonly origin: string;
  readonly currency: string;
  readonly cost: string;
  readonly weight: string;
  readonly unit: string;
  readonly tracking: string;
  readonly carrier: string;
  readonly zone: string;
  readonly carrierInvoiceDate: string;
  readonly service: string;
}

/** Fields of spec 2.6. A missing field is not in the payload; null is null there. */
export interface Header {
  readonly partnerInvoiceId?: string | null;
  readonly tenantId?: string | null;
  readonly partnerTenantId?: string | null;
  readonly invoiceNumber?: string | null;
  readonly invoiceStartDate?: string | null;
  readonly invoiceEndDate?: string | null;
  readonly invoiceDate?: string | null;
  readonly invoiceDueDate?: string | null;
  readonly currencyCode?: string | null;
  /** Digits as they are on the wire. */
  readonly invoiceTotalAmount?: string | null;
  readonly totalTransactionCount?: number | null;
}

export type Status = 'draft' | 'pending' | 'finalized' | 'voided';

export interface Event {
  readonly do: 'event';
  readonly eventId: string;
  readonly type: 'invoice_created' | 'invoice_finalized' | 'invoice_voided';
  readonly partnerId: string;
  /** The sender's clock less the true time, in milliseconds. */
  readonly sentMs: number;
  readonly isTest: boolean;
  readonly header: Header;
  /** Index of the announced file; null: the event announces none. */
  readonly file: number | null;
}

export type Deed =
  | Event
  /** A worker fetches the file: as the event announced it, after asking for its URL, or by export-csv. */
  | { readonly do: 'fetch'; readonly file: number; readonly by: 'event' | 'regenerate' | 'export' }
  /** An operator imports the file; no service is configured. */
  | { readonly do: 'import'; readonly file: number }
  /** The service answers a request for the details; status null: it states none. */
  | {
      readonly do: 'details';
      readonly status: Status | null;
      readonly header: Header;
      /** For which the service was asked; null: the token names several. */
      readonly partnerId: string | null;
    }
  /** The service names the current file. */
  | { readonly do: 'name'; readonly file: number }
  /** The service does not know the invoice, or it is of another partner: it leaves every total. */
  | { readonly do: 'exclude'; readonly code: 'unknown-invoice' | 'foreign-partner' }
  | { readonly do: 'include' }
  | { readonly do: 'restore' }
  | { readonly do: 'choose'; readonly version: number }
  | { readonly do: 'attention' }
  | { readonly do: 'resolve' };

/** What is done to the whole installation. */
export type Act = 'publish' | 'rebuild' | 'reopen' | 'verify';

export interface Timed {
  /** Milliseconds after the beginning of the history, by the true time. */
  readonly atMs: number;
  /** How far our clock is ahead then, in milliseconds; left out: it is right. */
  readonly clockMs?: number;
}

export interface Invoice {
  readonly id: string;
  readonly files: readonly (readonly Row[])[];
  readonly deeds: readonly (Deed & Timed)[];
}

export interface Filters {
  readonly from?: string;
  readonly to?: string;
  readonly by?: 'ship-date' | 'invoice-date';
  readonly partners?: readonly string[];
  readonly tenants?: readonly string[];
  readonly carriers?: readonly string[];
  readonly zones?: readonly string[];
  readonly currencies?: readonly string[];
  readonly level?: 'tenant' | 'partner' | 'all';
  /** Index of an earlier publication. */
  readonly asKnownOn?: string;
}

/** A report with its parameters. */
export interface Question {
  readonly report: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** `previous`, `last-year` or a month. */
  readonly compare?: string;
  /** The column whose values become columns. */
  readonly pivot?: string;
  /** Lines of one's own files, by table. */
  readonly files?: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>;
}

/** The list of shipments, page by page. */
export interface Listing {
  readonly condition: readonly [name: string, value: string];
  readonly sort: string;
  readonly isDescending: boolean;
  readonly pageSize: number;
}

export interface History {
  /** ISO 8601 UTC. */
  readonly begins: string;
  readonly invoices: readonly Invoice[];
  readonly acts: readonly ({ readonly act: Act } & Timed)[];
  readonly filters: readonly Filters[];
  readonly questions: readonly Question[];
  readonly listings: readonly Listing[];
}

export type Step =
  | ({ readonly invoice: Invoice } & Deed & Timed)
  | ({ readonly do: 'act'; readonly act: Act } & Timed);

/** All that happens, in order of time; what happens at one instant, in order of the history. */
export function stepsOf({ invoices, acts }: History): readonly Step[] {
  return [
    ...invoices.flatMap((invoice) => invoice.deeds.map((deed): Step => ({ invoice, ...deed }))),
    ...acts.map((act): Step => ({ do: 'act', ...act })),
  ].sort((one, other) => one.atMs - other.atMs);
}

const HEADERS = [
  ...[
    'Tenant',
    'Invoice Generation Date',
    'Invoice ID',
    'Ship Date',
    'Origin',
    'Currency Code',
    'Billing Cost',
  ],
  ...[
    'Billable Weight',
    'Billable Weight Unit',
    'Tracking Number',
    'Carrier',
    'Carrier Zone',
    'Carrier Invoice Date',
  ],
  'Service Level',
];

/** The file of spec 2.8. */
export function csvOf(rows: readonly Row[], invoiceId: string): string {
  const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const lines = rows.map((row) => [
    ...[row.tenant, row.invoiceDate, invoiceId, row.shipDate, row.origin, row.currency, row.cost],
    ...[row.weight, row.unit, row.tracking, row.carrier, row.zone, row.carrierInvoiceDate, row.service],
  ]);
  return [HEADERS, ...lines].map((line) => `${line.map(quoted).join(',')}\r\n`).join('');
}
