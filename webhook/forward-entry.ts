/** The three steps of one accepted delivery, in this order: archive, send to Temporal, trim. */

import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import { traceDelivery } from '../lib/temporal/tracing.ts';
import { BillsyncError, EXIT } from '../lib/wire/errors.ts';
import type { InvoiceEvent } from '../lib/wire/names.ts';
import { type ParsedDelivery, withoutUrlQuery } from '../lib/wire/parse-delivery.ts';
import type { Quarantine } from '../lib/wire/quarantine.ts';
import type { DurablePoint } from './inbox/durable-point.ts';
import type { Inbox, InboxEntry } from './inbox/inbox.ts';
import { parseOnce } from './parse-once.ts';
import { isForeign } from './partner.ts';

export interface ForwardDeps {
  readonly settings: Pick<Settings, 'wirePrefix'>;
  readonly inbox: Inbox;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  /** Into Temporal; done when Temporal has it. Called at least once per event. */
  readonly send: (event: InvoiceEvent) => Promise<void>;
  readonly partnerIds: () => readonly string[];
  readonly now?: () => Date;
  /** Is told why an entry ends as `refused`. */
  readonly onRefused?: (entry: InboxEntry, refusal: Refusal) => void;
  /** Called at D4 and D5 of the fault matrix (docs/faults.md). */
  readonly durablePoint?: DurablePoint;
}

/** `gone`: another process finished it; `refused`: only now known to be for somebody else, or no event any more. */
export type ForwardOutcome = 'sent' | 'archived' | 'refused' | 'gone';

export interface Refusal {
  readonly code: string;
  readonly reason: string;
}

/** A step took longer than its deadline. What it asked for may have happened: it is asked again. */
export class StepTimeoutError extends BillsyncError {
  readonly code = 'step-timeout';
  override readonly exitCode = EXIT.unreachable;
}

/** An invoice is named after its partner in Temporal: without one the event waits until a token told it. */
export class PartnerUnknownError extends BillsyncError {
  readonly code = 'partner-unknown';
  override readonly exitCode = EXIT.usage;
}

const ARCHIVE_DEADLINE_MS = 30_000;
const SEND_DEADLINE_MS = 5_000;

/** Safe to repeat from the start after a failure or a kill at any point. */
export async function forwardEntry(
  entry: InboxEntry,
  deps: ForwardDeps,
  deadlines: { readonly sendMs: number } = { sendMs: SEND_DEADLINE_MS },
): Promise<ForwardOutcome> {
  const body = await deps.inbox.read(entry);
  if (body === null) return 'gone';
  const [partnerId] = deps.partnerIds();
  const parsed = parseOnce(body, { wirePrefix: deps.settings.wirePrefix, partnerId });
  if (entry.kind !== 'event') {
    await archive(entry, parsed, deps);
    await deps.inbox.trim(entry);
    deps.durablePoint?.('D5');
    return 'archived';
  }
  const refusal = refusalOf(parsed, deps.partnerIds());
  if (parsed.kind !== 'event' || refusal !== null) {
    await refuse(entry, refusal ?? NO_EVENT, parsed, body, deps);
    return 'refused';
  }
  if (parsed.event.partnerId === '') {
    throw new PartnerUnknownError('The event names no partner, and ours is not known yet.');
  }
  const { event } = parsed;
  const { eventId, eventType, invoice } = event;
  await traceDelivery(
    { eventId, eventType, invoiceId: invoice.invoiceId, receivedAt: entry.receivedAt },
    async () => {
      await archive(entry, parsed, deps);
      await within(deps.send(event), deadlines.sendMs, 'Temporal');
    },
  );
  deps.durablePoint?.('D4');
  await deps.inbox.trim(entry);
  deps.durablePoint?.('D5');
  return 'sent';
}

const NO_EVENT: Refusal = { code: 'invalid-payload', reason: 'The delivery is not an event any more.' };

/** Parsed again: the partner may have become known since it was accepted, and a newer version may parse it differently. */
function refusalOf(parsed: ParsedDelivery, partnerIds: readonly string[]): Refusal | null {
  if (parsed.kind === 'unusable' || parsed.kind === 'unsupported') {
    return { code: parsed.code, reason: parsed.message };
  }
  if (parsed.kind === 'test') return NO_EVENT;
  if (!isForeign(parsed.event, partnerIds)) return null;
  return {
    code: 'foreign-partner',
    reason: `The delivery is for partner ${parsed.event.partnerId}, which is not ours (BILLSYNC_PARTNER_ID).`,
  };
}

async function refuse(
  entry: InboxEntry,
  { code, reason }: Refusal,
  parsed: ParsedDelivery,
  body: Uint8Array,
  deps: ForwardDeps,
): Promise<void> {
  const { eventId, invoiceId, receivedAt } = entry;
  const what = { kind: 'delivery', code, reason, eventId, invoiceId, at: receivedAt, sha256: null } as const;
  await deps.quarantine.put({ ...what, findings: [], findingCount: 0 }, body);
  await archive({ ...entry, kind: 'refused', code }, parsed, deps);
  await deps.inbox.trim(entry, 'refused');
  deps.onRefused?.(entry, { code, reason });
}

async function archive(entry: InboxEntry, parsed: ParsedDelivery, deps: ForwardDeps): Promise<void> {
  const event = parsed.kind === 'event' || parsed.kind === 'test' ? parsed.event : null;
  const kept = deps.archive.putEvent({
    eventId: entry.eventId,
    receivedAt: entry.receivedAt,
    verdict: entry.kind === 'event' ? 'accepted' : entry.kind === 'test' ? 'test' : 'quarantined',
    reason: entry.code,
    event: event === null ? null : withoutUrlQuery(event),
    envelope: parsed.envelope ?? '',
  });
  await within(kept, ARCHIVE_DEADLINE_MS, 'the archive');
}

/** A client call may hang for as long as its server does (hazard 23); what comes later than the deadline is ignored. */
async function within<Result>(step: Promise<Result>, deadlineMs: number, whose: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new StepTimeoutError(`No answer from ${whose} within ${deadlineMs} ms.`)),
      deadlineMs,
    );
  });
  step.catch(() => undefined);
  try {
    return await Promise.race([step, late]);
  } finally {
    clearTimeout(timer);
  }
}
