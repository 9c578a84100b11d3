import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import { EXIT, errorClass } from '../lib/errors.ts';
import type { Quarantine } from '../lib/quarantine.ts';
import { traceDelivery } from '../lib/temporal/tracing.ts';
import { type InvoiceEvent, withoutUrlQuery } from '../lib/wire/invoice-event.ts';
import { type ParsedDelivery, parseDelivery } from '../lib/wire/parse-delivery.ts';
import type { DurablePoint, Inbox, InboxEntry } from './inbox/inbox.ts';
import { foreignRefusal, isForeign, REPEATED_ID, type Refusal } from './receive-delivery.ts';

export interface ForwardDeps {
  readonly settings: Pick<Settings, 'wirePrefix'>;
  readonly inbox: Inbox;
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  /** Resolves when Temporal has the event. It is called at least once for each event. */
  readonly send: (event: InvoiceEvent) => Promise<void>;
  readonly sendDeadlineMs?: number;
  readonly partnerIds: () => readonly string[];
  readonly now?: () => Date;
  readonly onRefused?: (refusal: Refusal) => void;
  readonly durablePoint?: DurablePoint;
}

/** `gone`: another process has finished the delivery. `refused`: it was recognized only now as foreign, or as no event any more. */
export type ForwardOutcome = 'sent' | 'archived' | 'refused' | 'gone';

class ForwardError extends errorClass({
  /** A step without an answer may have happened all the same, so it is repeated. */
  'step-timeout': { message: 'No answer from %s within %s ms.', exitCode: EXIT.unreachable },
  /** The workflow id contains the partner, so the event waits until the first token names it. */
  'partner-unknown': {
    message: 'The event names no partner, and ours is not known yet.',
    exitCode: EXIT.usage,
  },
}) {}

const ARCHIVE_DEADLINE_MS = 30_000;
const SEND_DEADLINE_MS = 5_000;

/**
 * Safe to repeat from the start after a failure or a kill at any point. @param received the delivery; without it, it is read from
 * the inbox
 */
export async function forwardEntry(
  entry: InboxEntry,
  deps: ForwardDeps,
  received?: ParsedDelivery,
): Promise<ForwardOutcome> {
  const parsed = received ?? (await readParsed(entry, deps));
  if (parsed === null) return 'gone';
  if (entry.kind !== 'event') {
    await archiveDelivery(entry, parsed, deps);
    await deps.inbox.trim(entry);
    deps.durablePoint?.('D5');
    return 'archived';
  }
  const refusal = refusalOf(entry, parsed, deps.partnerIds());
  if (parsed.kind !== 'event' || refusal !== null) {
    return refuse(entry, refusal ?? noEvent(entry), parsed, deps);
  }
  if (parsed.event.partnerId === '') {
    throw new ForwardError('partner-unknown');
  }
  const event = eventOf(entry, parsed.event);
  const { eventId, eventType, invoice } = event;
  await traceDelivery(
    { eventId, eventType, invoiceId: invoice.invoiceId, receivedAt: entry.receivedAt },
    async () => {
      await archiveDelivery(entry, parsed, deps);
      await withinDeadline(deps.send(event), deps.sendDeadlineMs ?? SEND_DEADLINE_MS, 'Temporal');
    },
  );
  deps.durablePoint?.('D4');
  await deps.inbox.trim(entry);
  deps.durablePoint?.('D5');
  return 'sent';
}

/** The file of an event whose id another event had is requested from the service. */
function eventOf({ kind, eventId, code }: InboxEntry, event: InvoiceEvent): InvoiceEvent {
  return kind === 'event' && code === REPEATED_ID ? { ...event, eventId, export: null } : event;
}

async function readParsed(entry: InboxEntry, deps: ForwardDeps): Promise<ParsedDelivery | null> {
  const body = await deps.inbox.read(entry);
  const { wirePrefix } = deps.settings;
  return body === null ? null : parseDelivery(body, { wirePrefix, partnerIds: deps.partnerIds() });
}

/** The partner may have become known since, and a newer version may parse it differently. */
function refusalOf(entry: InboxEntry, parsed: ParsedDelivery, partnerIds: readonly string[]): Refusal | null {
  const { eventId, invoiceId } = entry;
  if (parsed.kind === 'unusable' || parsed.kind === 'unsupported') {
    return { code: parsed.code, message: parsed.message, eventId, invoiceId };
  }
  if (parsed.kind === 'test') return noEvent(entry);
  return isForeign(parsed.event, partnerIds) ? foreignRefusal(parsed.event) : null;
}

const noEvent = ({ eventId, invoiceId }: InboxEntry): Refusal => ({
  code: 'invalid-payload',
  message: 'The delivery is no longer an event.',
  eventId,
  invoiceId,
});

async function refuse(
  entry: InboxEntry,
  refusal: Refusal,
  parsed: ParsedDelivery,
  deps: ForwardDeps,
): Promise<ForwardOutcome> {
  const body = await deps.inbox.read(entry);
  if (body === null) return 'gone';
  const { code, message: reason } = refusal;
  const { eventId, invoiceId, receivedAt: at } = entry;
  const item = { kind: 'delivery', code, reason, eventId, invoiceId, at, sha256: null } as const;
  await deps.quarantine.put({ ...item, findings: [], findingCount: 0 }, body);
  await archiveDelivery({ ...entry, kind: 'refused', code }, parsed, deps);
  await deps.inbox.trim(entry, 'refused');
  deps.onRefused?.(refusal);
  return 'refused';
}

async function archiveDelivery(entry: InboxEntry, parsed: ParsedDelivery, deps: ForwardDeps): Promise<void> {
  const stated = parsed.kind === 'event' || parsed.kind === 'test' ? parsed.event : null;
  const event = stated === null ? null : eventOf(entry, stated);
  const stored = deps.archive.putEvent({
    eventId: entry.eventId,
    receivedAt: entry.receivedAt,
    verdict: entry.kind === 'event' ? 'accepted' : entry.kind === 'test' ? 'test' : 'quarantined',
    reason: entry.code,
    event: event === null ? null : withoutUrlQuery(event),
    ...(entry.kind === 'event' && deps.partnerIds().length === 0 ? { isUnchecked: true } : {}),
    envelope: parsed.envelope ?? '',
  });
  await withinDeadline(stored, ARCHIVE_DEADLINE_MS, 'the archive');
}

/** A client call may hang for as long as its server does (hazard 23); a result after the deadline is ignored. */
async function withinDeadline<Result>(
  step: Promise<Result>,
  deadlineMs: number,
  name: string,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new ForwardError('step-timeout', [name, deadlineMs])), deadlineMs);
  });
  step.catch(() => undefined);
  try {
    return await Promise.race([step, late]);
  } finally {
    clearTimeout(timer);
  }
}
