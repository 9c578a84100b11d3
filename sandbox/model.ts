import type { FaultName, Place } from './faults/fault-catalogue.ts';

export const INTERNAL_STATUSES = ['DRAFT', 'PENDING_APPROVAL', 'APPROVED', 'CANCELED'] as const;
export type InternalStatus = (typeof INTERNAL_STATUSES)[number];

/** The status that an invoice has when each event is sent (spec 6), and whether it brings a file (spec 2.7). */
export const EVENTS = {
  invoice_created: { status: 'DRAFT', bringsFile: false },
  invoice_finalized: { status: 'APPROVED', bringsFile: true },
  invoice_voided: { status: 'CANCELED', bringsFile: false },
} as const satisfies Readonly<
  Record<string, { readonly status: InternalStatus; readonly bringsFile: boolean }>
>;
export type EventType = keyof typeof EVENTS;
export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

/** The status of an invoice by its name in webhooks (spec 3, 6). */
export const WEBHOOK_STATUS = {
  DRAFT: 'draft',
  PENDING_APPROVAL: 'pending',
  APPROVED: 'finalized',
  CANCELED: 'voided',
} as const satisfies Readonly<Record<InternalStatus, string>>;

export type Environment = 'test' | 'production';

/** 3PL partners bill tenants; enterprise partners have none (spec 1). */
export type PartnerKind = '3pl' | 'enterprise';

export interface Partner {
  readonly partnerId: string;
  readonly name: string;
  readonly kind: PartnerKind;
}

export interface Tenant {
  readonly tenantId: string;
  /** The partner's own id of the tenant (spec 2.6). */
  readonly partnerTenantId: string;
  readonly name: string;
  readonly currencyCode: string;
  readonly weightUnit: 'LB' | 'KG';
}

/** The head of an invoice's file (spec 2.8). */
export const CSV_HEADERS = [
  'Tenant',
  'Invoice Generation Date',
  'Invoice ID',
  'Ship Date',
  'Origin',
  'Currency Code',
  'Billing Cost',
  'Billable Weight',
  'Billable Weight Unit',
  'Tracking Number',
  'Carrier',
  'Carrier Zone',
  'Carrier Invoice Date',
  'Service Level',
] as const;

/** Empty text is an empty cell; decimals are exact text (spec 2.8). */
export interface Shipment {
  readonly shipDate: string;
  readonly origin: string;
  readonly billingCost: string;
  readonly billableWeight: string;
  readonly billableWeightUnit: string;
  readonly trackingNumber: string;
  readonly carrier: string;
  readonly carrierZone: string;
  readonly carrierInvoiceDate: string;
  readonly serviceLevel: string;
}

/** The bytes of an export are generated again whenever they are read. */
export interface ExportFile {
  readonly key: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  /** How a fault has malformed the file; null for a right file. */
  readonly malformation: string | null;
}

/** Values in events and details that a fault makes differ from the rows. */
export interface StatedTotals {
  readonly totalAmount: string;
  readonly transactionCount: number;
  readonly currencyCode: string;
}

export interface Invoice {
  readonly invoiceId: string;
  readonly invoiceNumber: string;
  readonly partnerInvoiceId: string | null;
  /** The tenant that is billed; null for partner-level invoices (spec 2.9). */
  readonly tenantId: string | null;
  readonly status: InternalStatus;
  /** Dates are `YYYY-MM-DD`, the billing period includes both ends. */
  readonly startDate: string;
  readonly endDate: string;
  readonly invoiceDate: string;
  readonly dueDate: string;
  readonly currencyCode: string;
  readonly weightUnit: 'LB' | 'KG';
  readonly contentSeed: string;
  readonly shipmentCount: number;
  /** Exact sum of Billing Cost, decimal text. */
  readonly totalAmount: string;
  /** The invoices that a partner-level one sums (spec 2.9). */
  readonly sources: readonly string[];
  /** Rows given by a person instead of drawn ones. */
  readonly lines: readonly Shipment[] | null;
  /** Key, size and hash of the file are known from the invoice's creation on; it is offered only after a successful export. */
  readonly file: ExportFile;
  /** The newest export is the last; the list is empty before approval and when the export failed (spec 6.6). */
  readonly exports: readonly ExportFile[];
  readonly stated: StatedTotals | null;
  readonly scheduleId: string | null;
  readonly history: readonly { readonly status: InternalStatus; readonly at: string }[];
}

export interface Registration {
  readonly registrationId: string;
  readonly name: string;
  readonly url: string;
  readonly active: boolean;
  readonly eventTypes: readonly EventType[];
  /** Tenant ids; always `all` for partners without tenants. */
  readonly tenants: 'all' | readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** null accepts any certificate. */
  readonly caPem: string | null;
  readonly createdAt: string;
}

/** `body` is the exact text that every delivery sends. */
export interface BillingEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly eventTimestamp: string;
  readonly invoiceId: string;
  readonly tenantId: string | null;
  readonly testEvent: boolean;
  readonly body: string;
}

export interface DeliveryAttempt {
  readonly number: number;
  readonly startedAt: string;
  readonly durationMs: number;
  /** The status of the endpoint's answer; null when no answer came. */
  readonly status: number | null;
  readonly error: string | null;
  readonly responseBody: string;
}

/** `failed` is final (spec 6, rule 7). `dropped` was never sent, by a fault. */
export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'dropped';

export interface Delivery {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly invoiceId: string;
  readonly registrationId: string;
  readonly registrationName: string;
  readonly url: string;
  readonly testEvent: boolean;
  readonly state: DeliveryState;
  readonly queuedAt: string;
  readonly attempts: readonly DeliveryAttempt[];
}

export interface Schedule {
  readonly scheduleId: string;
  readonly name: string;
  readonly enabled: boolean;
  /** Seconds between two runs; with null, the schedule runs only on request. */
  readonly everySeconds: number | null;
  readonly level: 'tenant' | 'partner';
  readonly tenants: 'all' | readonly string[];
  readonly autoApprove: boolean;
  /** By tenant id, where auto-approve differs. */
  readonly tenantOverrides: Readonly<Record<string, boolean>>;
  readonly shipments: number;
  readonly lastRunAt: string | null;
}

export interface ApiKey {
  readonly keyId: string;
  readonly key: string;
  readonly name: string;
  readonly active: boolean;
}

/** Moments that a rule matches: a field that is left out matches all. */
export interface FaultTarget {
  readonly invoiceId?: string;
  /** The tenant's name, its id, or the partner's own id. */
  readonly tenant?: string;
  readonly endpoint?: Place | readonly Place[];
  readonly eventType?: string;
  readonly registrationId?: string;
}

export interface FaultRule {
  readonly faultId: string;
  readonly name: FaultName;
  /** The probability of a strike, from 0 to 1. */
  readonly rate: number;
  /** How often the rule may strike; null sets no limit. */
  readonly count: number | null;
  /** Matching moments that pass before it may strike. */
  readonly after: number;
  readonly target: FaultTarget;
  readonly seed: number;
  readonly params: Readonly<Record<string, string | number | boolean>>;
  /** The ISO instant at which the rule ends; with null, it has no end. */
  readonly until: string | null;
  readonly struck: number;
  readonly met: number;
}
