/** Ranks of an invoice, lowest first; the highest that was received counts. */
export const RANKS = ['nothing', 'draft', 'finalized', 'voided'] as const;
export type Rank = (typeof RANKS)[number];

/** Statuses of webhook payloads and their ranks (spec 3); `pending` is known although no event has it (spec 6, rule 1). */
export const RANK_OF_STATUS = {
  draft: 'draft',
  pending: 'draft',
  finalized: 'finalized',
  voided: 'voided',
} as const satisfies Readonly<Record<string, Rank>>;
export type WebhookStatus = keyof typeof RANK_OF_STATUS;
export const WEBHOOK_STATUSES = Object.keys(RANK_OF_STATUS) as readonly WebhookStatus[];

/**
 * The types of events (spec 6), with the status that the invoice has then (spec 3). A new type is one entry more; its rank is that
 * of its status.
 */
export const EVENTS = {
  invoice_created: { status: 'draft', bringsFile: false },
  invoice_finalized: { status: 'finalized', bringsFile: true },
  invoice_voided: { status: 'voided', bringsFile: false },
} as const satisfies Readonly<
  Record<string, { readonly status: WebhookStatus; readonly bringsFile: boolean }>
>;
export type EventType = keyof typeof EVENTS;
export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

export function isEventType(value: unknown): value is EventType {
  return typeof value === 'string' && Object.hasOwn(EVENTS, value);
}

export function isWebhookStatus(value: unknown): value is WebhookStatus {
  return typeof value === 'string' && Object.hasOwn(RANK_OF_STATUS, value);
}

export function rankOfEvent(type: EventType): Rank {
  return RANK_OF_STATUS[EVENTS[type].status];
}

/** The only payload schema version the service sends so far (spec 6, rule 2). */
export const PAYLOAD_SCHEMA_VERSION = 'v1';

/** The first three and `voided` form the lattice; `needs_attention` waits for a person. */
export const INVOICE_STATES = ['draft', 'finalized', 'loaded', 'voided', 'needs_attention'] as const;
export type InvoiceState = (typeof INVOICE_STATES)[number];

export const ENVIRONMENTS = ['test', 'production'] as const;
export type EnvironmentName = (typeof ENVIRONMENTS)[number];

export const FILE_SOURCES = ['event', 'regenerate', 'export', 'file'] as const;
export type FileSource = (typeof FILE_SOURCES)[number];

/** `billing`: network work, any number of workers. `warehouse`: the one process that holds the writer. */
export function taskQueues(environment: EnvironmentName): {
  readonly billing: string;
  readonly warehouse: string;
} {
  return { billing: `billsync-${environment}-billing`, warehouse: `billsync-${environment}-warehouse` };
}

/** One workflow per invoice, whatever happens to it (ADR 1) and however a sender spells its ids: they are UUIDs. */
export function invoiceWorkflowId(invoice: {
  readonly environment: EnvironmentName;
  readonly partnerId: string;
  readonly invoiceId: string;
}): string {
  return `invoice/${invoice.environment}/${invoice.partnerId}/${invoice.invoiceId}`.toLowerCase();
}

export const SEARCH_ATTRIBUTES = {
  state: 'InvoiceState',
  tenant: 'TenantId',
  environment: 'Environment',
} as const;

/** The payload codec replaces clear text in Temporal by this value; workflows and activities refuse it (ADR 3). */
export const UNENCRYPTED = { 'billsync/refused': 'unencrypted' } as const;

export function isUnencrypted(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'billsync/refused' in value;
}
