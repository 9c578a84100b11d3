import type { ArchivedEvent, Fact } from '../../archive/archive.ts';
import { uuidOrNull } from '../../lib/text.ts';
import type { InvoiceHeader } from '../../lib/wire/invoice-event.ts';

type Line = Readonly<Record<string, string | number | boolean | null>>;

/** Lines of facts by the ledger that they belong to (`<name>_ledger`). */
export interface FactLines {
  readonly duplicate: readonly Line[];
  readonly file: readonly Line[];
  readonly details: readonly Line[];
  readonly attention: readonly Line[];
  readonly invoiceIds: readonly string[];
}

export function eventLine(archived: ArchivedEvent): Line {
  const { event } = archived;
  return {
    event_id: archived.eventId,
    received_at: instant(archived.receivedAt),
    verdict: archived.verdict,
    reason: archived.reason,
    event_type: event?.eventType ?? null,
    event_timestamp: instant(event?.eventTimestamp ?? ''),
    partner_id: event?.isPartnerAssumed === true ? null : (event?.partnerId ?? null),
    is_test_event: event?.isTestEvent ?? archived.verdict === 'test',
    is_unchecked: archived.isUnchecked ?? false,
    invoice_id: uuidOrNull(event?.invoice.invoiceId),
    ...headerCells(event?.invoice ?? {}),
    ...(event?.invoice.isTenantUnread === true ? { invoice_level: 'unknown' } : {}),
    announced_sha256: event?.export?.fileHashSha256 ?? null,
    announced_size_bytes: countOrNull(event?.export?.fileSizeBytes),
    announced_url: event?.export?.presignedUrl.split('?')[0] ?? null,
    url_expires_at: event?.export ? instant(event.export.presignedUrlExpiresAt) : null,
  };
}

/** `load` and `discard` facts have no ledger line: loads have their own table. */
export function factLines(facts: readonly Fact[]): FactLines {
  const lines = {
    duplicate: [] as Line[],
    file: [] as Line[],
    details: [] as Line[],
    attention: [] as Line[],
  };
  const invoiceIds = new Set<string>();
  for (const fact of facts) {
    const recorded_at = instant(fact.at);
    if (fact.kind === 'duplicate') lines.duplicate.push({ recorded_at, event_id: fact.eventId });
    if (!('invoiceId' in fact) || uuidOrNull(fact.invoiceId) === null) continue;
    const invoice_id = fact.invoiceId.toLowerCase();
    if (fact.kind === 'file') {
      lines.file.push({
        recorded_at,
        invoice_id,
        file_sha256: fact.sha256,
        file_size_bytes: fact.sizeBytes,
        file_source: fact.source,
        came_from: fact.from?.split('?')[0] ?? null,
      });
    } else if (fact.kind === 'details') {
      invoiceIds.add(invoice_id);
      const invoice_status = fact.status ?? fact.unknownStatus ?? null;
      const named = { recorded_at, invoice_id, partner_id: fact.partnerId ?? null };
      lines.details.push({ ...named, ...headerCells(fact.header), invoice_status });
    } else {
      const line = attentionLine(fact);
      if (line === null) continue;
      invoiceIds.add(invoice_id);
      const after_version = 'afterVersion' in fact ? (fact.afterVersion ?? null) : null;
      lines.attention.push({ recorded_at, invoice_id, ...EMPTY_ATTENTION, after_version, ...line });
    }
  }
  return { ...lines, invoiceIds: [...invoiceIds] };
}

const EMPTY_ATTENTION = {
  ...{ is_open: true, code: null, reason: null },
  ...{ kind: null, decided_by: null, file_sha256: null, after_version: null, names: null },
} as const;

function attentionLine(fact: Fact): Line | null {
  switch (fact.kind) {
    case 'attention':
      return { code: fact.code, reason: fact.reason };
    case 'resolved':
      return { is_open: false };
    case 'failure':
      return { kind: 'failure', code: fact.code, reason: fact.reason };
    case 'recovered':
      return { kind: 'failure', is_open: false };
    case 'restored':
      return { kind: 'restored', reason: fact.reason, decided_by: fact.by, names: fact.voids.join(',') };
    case 'version-chosen':
      return {
        ...{ kind: 'version', reason: fact.reason, decided_by: fact.by },
        ...{ file_sha256: fact.sha256, names: fact.overruled.join(',') },
      };
    case 'excluded':
      return { kind: 'excluded', code: fact.code, reason: fact.reason };
    case 'included':
      return { kind: 'excluded', is_open: false };
    case 'hash-answered':
      return { kind: 'hash', file_sha256: fact.sha256 };
    default:
      return null;
  }
}

/** A cast of text with an offset to DuckDB's TIMESTAMP would drop the offset. null: no instant, or a year without four digits. */
export function instant(text: string): string | null {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) || !/^(?!0000)\d{4}-/.test(at.toISOString()) ? null : at.toISOString();
}

/** Returns null for a number that no column can store; the archive keeps the original. */
function countOrNull(value: number | null | undefined): number | null {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null;
}

/** Returns null for text that cannot be compared with a sum. */
function amountOrNull(text: string | null | undefined): string | null {
  return typeof text === 'string' && /^-?\d+(?:\.\d+)?$/.test(text) ? text : null;
}

/** A missing key states nothing; a tenant id of null states that the invoice is on partner level (spec 2.9). */
function headerCells(header: Partial<InvoiceHeader>): Line {
  const { tenantId } = header;
  return {
    partner_invoice_id: header.partnerInvoiceId ?? null,
    invoice_level: tenantId === undefined ? null : tenantId === null ? 'partner' : 'tenant',
    tenant_id: tenantId ?? null,
    partner_tenant_id: header.partnerTenantId ?? null,
    invoice_number: header.invoiceNumber ?? null,
    invoice_status: header.invoiceStatus ?? null,
    invoice_start_date: header.invoiceStartDate ?? null,
    invoice_end_date: header.invoiceEndDate ?? null,
    invoice_date: header.invoiceDate ?? null,
    invoice_due_date: header.invoiceDueDate ?? null,
    currency_code: header.currencyCode ?? null,
    stated_total: amountOrNull(header.invoiceTotalAmount),
    stated_shipments: countOrNull(header.totalTransactionCount),
  };
}
