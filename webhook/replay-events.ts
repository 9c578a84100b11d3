/** Sends archived events to Temporal once more; harmless, because a workflow and the ledger know what they have seen. */

import type { Archive, ArchivedEvent } from '../archive/archive.ts';
import type { EventType, InvoiceEvent } from '../lib/wire/names.ts';

export interface ReplayOptions {
  readonly archive: Archive;
  readonly send: (event: InvoiceEvent) => Promise<void>;
  /** ISO 8601; only what was received at or after it. */
  readonly since?: string;
  /** ISO 8601; only what was received before it. */
  readonly until?: string;
  readonly type?: EventType;
  readonly invoiceId?: string;
  /** The service's tenant id, or the partner's own. */
  readonly tenantId?: string;
  /** Says what would be sent, sends nothing. */
  readonly dryRun?: boolean;
  readonly onEvent?: (event: ArchivedEvent) => void;
}

/**
 * Goes through the archive in order of arrival. Test events and refused deliveries are never sent: the first must not
 * be processed (spec 6, rule 4), the second are requeued from quarantine. Archived URLs have no query, so a file that
 * is still missing is fetched through a regenerated URL.
 */
export async function replayEvents(
  options: ReplayOptions,
): Promise<{ readonly matched: number; readonly sent: number }> {
  let matched = 0;
  let sent = 0;
  for await (const { event } of options.archive.events()) {
    if (event.verdict !== 'accepted' || event.event === null || !matches(event, event.event, options))
      continue;
    matched += 1;
    options.onEvent?.(event);
    if (options.dryRun === true) continue;
    await options.send(event.event);
    sent += 1;
  }
  return { matched, sent };
}

function matches(archived: ArchivedEvent, event: InvoiceEvent, options: ReplayOptions): boolean {
  const { since, until, type, invoiceId, tenantId } = options;
  const receivedMs = Date.parse(archived.receivedAt);
  if (since !== undefined && receivedMs < instantMs(since)) return false;
  if (until !== undefined && receivedMs >= instantMs(until)) return false;
  if (type !== undefined && event.eventType !== type) return false;
  if (invoiceId !== undefined && event.invoice.invoiceId.toLowerCase() !== invoiceId.toLowerCase())
    return false;
  if (tenantId === undefined) return true;
  return (
    event.invoice.tenantId?.toLowerCase() === tenantId.toLowerCase() ||
    event.invoice.partnerTenantId === tenantId
  );
}

function instantMs(text: string): number {
  const instant = Date.parse(text);
  if (Number.isNaN(instant))
    throw new RangeError(`Not an instant: ${text}. Write e.g. 2026-03-01T00:00:00Z.`);
  return instant;
}
