/** Events in a bucket: `events/by-id/` has an object for each, `events/log` their order of arrival. */

import { wellFormedJson } from '../../lib/wire/json.ts';
import type { ArchivedEvent, DeliveryVerdict, OnUnreadable } from '../archive.ts';
import { BY_PRECEDENCE, eventName, eventPath, isEventName } from '../event-name.ts';
import { readEvent } from '../read-record.ts';
import type { EventStore } from '../stores.ts';
import { trimmedEvent } from '../trim-event.ts';
import type { S3Bucket } from './bucket.ts';
import { createS3Log } from './log.ts';
import { readAhead } from './read-ahead.ts';

export function openS3Events(bucket: S3Bucket): EventStore {
  const arrivals = createS3Log(bucket, 'events/log');
  const namesIn = (keys: readonly string[]): string[] =>
    [...new Set(keys.map(arrivals.nameOf))].filter(isEventName);

  async function put(event: ArchivedEvent): Promise<'new' | 'known'> {
    const better = BY_PRECEDENCE.slice(0, BY_PRECEDENCE.indexOf(event.verdict));
    for (const verdict of better) {
      if (await bucket.has(eventKey(event.eventId, verdict))) return 'known';
    }
    const key = eventKey(event.eventId, event.verdict);
    const isNew = await bucket.putIfAbsent(key, wellFormedJson(event));
    // Also when it is known: a process that died between the two puts left an event without a line.
    await arrivals.append(eventName(event.eventId), '');
    return isNew ? 'new' : 'known';
  }

  /** Until the last event of a batch the cursor stays: who stops before it gets the batch again. */
  async function* list(
    after = '',
    onUnreadable?: OnUnreadable,
  ): AsyncGenerator<{ event: ArchivedEvent; cursor: string }> {
    const { keys, cursor } = await arrivals.since(after);
    const found = new Map<string, ArchivedEvent>();
    for await (const [id, event] of readAhead(namesIn(keys), (name) => read(bucket, name, onUnreadable))) {
      if (event !== null) found.set(id, event);
    }
    const ordered = [...found.values()].sort(byArrival);
    for (const [i, event] of ordered.entries()) {
      yield { event, cursor: i === ordered.length - 1 ? cursor : after };
    }
  }

  async function* names(): AsyncGenerator<string> {
    const there = new Set<string>();
    for await (const key of bucket.list('events/by-id')) there.add(key);
    const { keys } = await arrivals.since(null);
    for (const name of namesIn(keys)) {
      if (BY_PRECEDENCE.some((verdict) => there.has(eventKey(name, verdict)))) yield name;
    }
  }

  async function trim(eventId: string, at: string): Promise<boolean> {
    const found = await read(bucket, eventId);
    const trimmed = found === null ? null : trimmedEvent(found, at);
    if (trimmed === null) return false;
    await bucket.replace(eventKey(eventId, trimmed.verdict), wellFormedJson(trimmed));
    return true;
  }

  return { put, get: (eventId) => read(bucket, eventId), list, names, trim };
}

/** null when it is not there, or was damaged. */
async function read(
  bucket: S3Bucket,
  eventId: string,
  onUnreadable?: OnUnreadable,
): Promise<ArchivedEvent | null> {
  for (const verdict of BY_PRECEDENCE) {
    const key = eventKey(eventId, verdict);
    const bytes = await bucket.getBytes(key);
    if (bytes === null) continue;
    const reading = readEvent(bytes);
    if (reading.ok && eventName(reading.value.eventId) === eventName(eventId)) return reading.value;
    onUnreadable?.({ where: key, why: reading.ok ? 'another event than its name says' : reading.why });
    return null;
  }
  return null;
}

const eventKey = (eventId: string, verdict: DeliveryVerdict): string =>
  `events/by-id/${eventPath(eventId, verdict)}`;

function byArrival(a: ArchivedEvent, b: ArchivedEvent): number {
  const key = (event: ArchivedEvent): string => `${event.receivedAt}~${event.eventId}`;
  return key(a) < key(b) ? -1 : 1;
}
