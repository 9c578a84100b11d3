/** Any bytes at the delivery parser: it never throws, and what it makes of them can be kept, named and read again. */

import { wellFormedJson } from '../../lib/wire/json.ts';
import { parseDelivery } from '../../lib/wire/parse-delivery.ts';
import { decodeBody, encodeEntry, keyOf } from '../../webhook/inbox/inbox.ts';
import { damaged, hostileJson } from '../security/hostile/json.ts';
import type { Random } from '../support/random.ts';
import { aDelivery } from '../webhook/a-delivery.ts';
import type { FuzzRun } from './fuzz-targets.ts';

export const summary = 'webhook deliveries at the parser';

export async function open(): Promise<FuzzRun> {
  return { play };
}

function play(random: Random): void {
  const isDamaged = random.chance(0.3);
  const body = isDamaged ? damaged(random, hostileDelivery(random)) : hostileDelivery(random);
  const parsed = parseDelivery(body, { wirePrefix: random.chance(0.9) ? 'auto' : 'acme' });
  const eventId = parsed.kind === 'event' ? parsed.event.eventId : parsed.eventId;
  if (parsed.envelope !== null) {
    const envelope: unknown = JSON.parse(parsed.envelope);
    if (wellFormedJson(envelope) !== JSON.stringify(envelope))
      throw new Error('The envelope holds half a character.');
    // A URL that lost its beginning is text like any other.
    if (!isDamaged && parsed.envelope.includes('presigned-secret'))
      throw new Error('The envelope keeps the query of a URL.');
  }
  if (eventId === null) return;
  const kind = parsed.kind === 'event' || parsed.kind === 'test' ? parsed.kind : 'refused';
  const invoiceId = parsed.kind === 'event' ? parsed.event.invoice.invoiceId : null;
  const entry = { kind, eventId, invoiceId, receivedAt: '2026-03-01T00:00:00.000Z', code: null } as const;
  keyOf(entry);
  if (!Buffer.from(decodeBody(keyOf(entry), encodeEntry(entry, 1, body))).equals(body)) {
    throw new Error('The inbox gives other bytes back.');
  }
  if (
    parsed.kind === 'event' &&
    JSON.stringify(parsed.event) !== JSON.stringify(structuredClone(parsed.event))
  ) {
    throw new Error('The event does not survive a copy.');
  }
}

export function hostileDelivery(random: Random): Uint8Array {
  if (random.chance(0.1)) return Buffer.from(hostileJson(random));
  return Buffer.from(anEnvelope(random));
}

/** A delivery as the service sends it, some of its values replaced, some fields gone, some added. */
function anEnvelope(random: Random): string {
  const { body } = aDelivery({
    metadata: {
      ...{ eventId: random.uuid(), partnerId: random.uuid(), testEvent: random.chance(0.1) },
      eventType: random.pick(['invoice_created', 'invoice_finalized', 'invoice_voided']),
    },
    payload: {
      ...{ serviceInvoiceId: undefined, serviceTenantId: undefined },
      [`${random.pick(['service', 'acme'])}InvoiceId`]: random.uuid(),
      [`${random.pick(['service', 'acme'])}TenantId`]: random.uuid(),
      presignedUrl: 'https://storage.example/a.csv?X-Amz-Signature=presigned-secret',
    },
  });
  const { metadata, payload } = JSON.parse(body) as Record<'metadata' | 'payload', Record<string, unknown>>;
  return `{"metadata":${spoilt(random, metadata)},"payload":${spoilt(random, payload)}}`;
}

function spoilt(random: Random, fields: Readonly<Record<string, unknown>>): string {
  if (random.chance(0.02)) return hostileJson(random);
  const likely = random.pick([0, 0.02, 0.2]);
  const parts = Object.entries(fields)
    .filter(() => !random.chance(likely))
    .map(([key, value]) => `"${key}":${random.chance(likely) ? hostileJson(random) : JSON.stringify(value)}`);
  if (random.chance(0.3)) parts.push(`"added":${hostileJson(random)}`);
  return `{${parts.join(',')}}`;
}
