/** The data of the billing service: plain values that are stored as JSON. */

import type { FaultName, Place } from './faults/fault-catalogue.ts';

export const INTERNAL_STATUSES = ['DRAFT', 'PENDING_APPROVAL', 'APPROVED', 'CANCELED'] as const;
export type InternalStatus = (typeof INTERNAL_STATUSES)[number];

/** The events (spec 6): the status that an invoice has when each is sent, and whether it brings a file (spec 2.7). */
export const EVENTS = {
  invoice_created: { status: 'DRAFT', bringsFile: false },
  invoice_finalized: { status: 'APPROVED', bringsFile: true },
  invoice_voided: { status: 'CANCELED', bringsFile: false },
} as const satisfies Readonly<
  Record<string, { readonly status: InternalStatus; readonly bringsFile: boolean }>
>;
export type EventType = keyof typeof EVENTS;
export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

/** The names of the statuses in events (spec 3, 6). */
export const WEBHOOK_STATUS = {
  DRAFT: 'draft',
  PENDING_APPROVAL: 'pending',
  APPROVED: 'finalized',
  CANCELED: 'voided',
} as const satisfies Readonly<Record<InternalStatus, string>>;

/** A partner's two accounts, which never mix (spec 5). */
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
  /** The partner's own identifier of the tenant (spec 2.6). */
  readonly partnerTenantId: string;
  readonly name: string;
  readonly currencyCode: string;
  readonly weightUnit: 'LB' | 'KG';
}

/** The columns of the invoice CSV, in their order (spec 2.8). */
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

/** One row of the invoice CSV (spec 2.8). Empty text is an empty cell; decimals are exact text. */
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

/** An exported file in object storage. Its bytes are generated again whenever they are read. */
export interface ExportFile {
  /** Path in the bucket. */
  readonly key: string;
  /** Lower-case hex, true to the bytes. */
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Name of the way in which the file is broken on purpose, null for a right one. */
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
  /** null for partner-level invoices (spec 2.9). */
  readonly tenantId: string | null;
  readonly status: InternalStatus;
  /** Dates are `YYYY-MM-DD`, the billing period includes both ends. */
  readonly startDate: string;
  readonly endDate: string;
  readonly invoiceDate: string;
  readonly dueDate: string;
  readonly currencyCode: string;
  readonly weightUnit: 'LB' | 'KG';
  /** Names the stream that the rows are drawn from. */
  readonly contentSeed: string;
  readonly shipmentCount: number;
  /** Exact sum of Billing Cost, decimal text. */
  readonly totalAmount: string;
  /** The tenant-level invoices that a partner-level one sums (spec 2.9); empty otherwise. */
  readonly sources: readonly string[];
  /** Rows given by a person instead of drawn ones. */
  readonly lines: readonly Shipment[] | null;
  /** The right file: known from creation on, offered only after a successful export. */
  readonly file: ExportFile;
  /** Files the export wrote, newest last; empty before approval and when the export failed (spec 6.6). */
  readonly exports: readonly ExportFile[];
  readonly stated: StatedTotals | null;
  readonly scheduleId: string | null;
  readonly history: readonly { readonly status: InternalStatus; readonly at: string }[];
}

/** A webhook registration (spec 2.3). */
export interface Registration {
  readonly registrationId: string;
  readonly name: string;
  readonly url: string;
  readonly active: boolean;
  readonly eventTypes: readonly EventType[];
  /** `all`, or the tenant ids chosen; always `all` for partners without tenants. */
  readonly tenants: 'all' | readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** CA or certificate of the receiver to verify against; null accepts any certificate. */
  readonly caPem: string | null;
  readonly createdAt: string;
}

/** An event as it was emitted; `body` is the exact text that every delivery of it carries. */
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
  /** HTTP status, null when no answer came. */
  readonly status: number | null;
  readonly error: string | null;
  /** First part of the answer's body. */
  readonly responseBody: string;
}

/** `failed` is final: logged and not requeued (spec 6, rule 7). `dropped` was never sent, by a fault. */
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

/** A billing schedule (spec 3, additional rule). */
export interface Schedule {
  readonly scheduleId: string;
  readonly name: string;
  readonly enabled: boolean;
  /** Seconds between runs; null runs only on request. */
  readonly everySeconds: number | null;
  /** `tenant`: one invoice for each tenant; `partner`: one that sums them. */
  readonly level: 'tenant' | 'partner';
  readonly tenants: 'all' | readonly string[];
  readonly autoApprove: boolean;
  /** Auto-approve for single tenants, by tenant id, where it differs from the schedule's. */
  readonly tenantOverrides: Readonly<Record<string, boolean>>;
  /** Rows of each invoice. */
  readonly shipments: number;
  readonly lastRunAt: string | null;
}

/** An API key (spec 5): valid until deactivated. */
export interface ApiKey {
  readonly keyId: string;
  readonly key: string;
  readonly name: string;
  readonly active: boolean;
}

/** Limits a fault to the named invoice, tenant and so on; a field that is left out matches all. */
export interface FaultTarget {
  readonly invoiceId?: string;
  /** Tenant name, id, or the partner's own id of the tenant. */
  readonly tenant?: string;
  readonly endpoint?: Place | readonly Place[];
  readonly eventType?: string;
  readonly registrationId?: string;
}

export interface FaultRule {
  readonly faultId: string;
  readonly name: FaultName;
  /** Share of the moments at which it strikes, 0 to 1. */
  readonly rate: number;
  /** How many times it strikes at most; null has no limit. */
  readonly count: number | null;
  /** How many matching moments pass before it may strike. */
  readonly after: number;
  readonly target: FaultTarget;
  readonly seed: number;
  /** Settings of this kind of fault; the catalogue names them with their defaults. */
  readonly params: Readonly<Record<string, string | number | boolean>>;
  /** ISO instant at which the fault ends; null: it has no end. */
  readonly until: string | null;
  readonly struck: number;
  readonly met: number;
}
