/** The words of the billing service and of billsync, shared by every part; this file imports nothing. */

/** What the service tells a partner about an invoice (spec 6). */
export const EVENT_TYPES = ['invoice_created', 'invoice_finalized', 'invoice_voided'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The only payload schema version the service sends so far (spec 6, rule 2). */
export const PAYLOAD_SCHEMA_VERSION = 'v1';

/** Status words of webhook payloads (spec 3); `pending` is known although no event carries it (spec 6, rule 1). */
export const WEBHOOK_STATUSES = ['draft', 'pending', 'finalized', 'voided'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** Where an invoice stands with us: the first three and `voided` form the lattice, `needs_attention` parks. */
export const INVOICE_STATES = ['draft', 'finalized', 'loaded', 'voided', 'needs_attention'] as const;
export type InvoiceState = (typeof INVOICE_STATES)[number];

/** The two accounts of a partner, which never mix (spec 5). */
export const ENVIRONMENTS = ['test', 'production'] as const;
export type EnvironmentName = (typeof ENVIRONMENTS)[number];

/** Where the bytes of an invoice's CSV came from. */
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

/**
 * What the payload codec leaves in the place of clear text that it found in Temporal; workflows and activities refuse
 * it (ADR 4). Nothing of ours ever looks like it, and a stranger gains nothing by imitating it.
 */
export const UNENCRYPTED = { 'billsync/refused': 'unencrypted' } as const;

/** Whether a value stands for clear text that was refused. */
export function isUnencrypted(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'billsync/refused' in value;
}
