/** Finds the envelope of an event (spec 2.4) in what was delivered: a sender may wrap it, or leave a level out. */

import { isJsonObject } from './wire.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export interface Envelope {
  readonly metadata: JsonObject;
  /** null when it is no object. */
  readonly payload: JsonObject | null;
}

const DEEPEST = 4;

/**
 * The uppermost object that has metadata; else the uppermost one that names an event's type or id itself. A list of one
 * is a wrapper; of a list of several events none is chosen.
 */
export function findEnvelope(json: unknown): Envelope | null {
  let level: readonly unknown[] = [json];
  let flat: JsonObject | null = null;
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth += 1) {
    const objects = level.filter(isJsonObject);
    const whole = objects.find((object) => isJsonObject(object.metadata));
    if (whole !== undefined) return envelopeOf(whole, whole.metadata as JsonObject);
    flat ??= objects.find((object) => 'eventType' in object || 'eventId' in object) ?? null;
    level = objects.flatMap((object) => Object.values(object).map(onlyOne));
    if (depth === 0 && Array.isArray(json)) level = [onlyOne(json)];
  }
  return flat === null ? null : envelopeOf(flat, flat);
}

function envelopeOf(object: JsonObject, metadata: JsonObject): Envelope {
  const named = [object.payload, object.data, object.invoice].map(onlyOne).find(isJsonObject);
  const payload = named ?? (object === metadata ? object : null);
  if (payload === null) return { metadata, payload: null };
  // One level more: payload.invoice.
  const inner = [payload.invoice, payload.data].map(onlyOne).find(isJsonObject);
  return { metadata, payload: inner === undefined ? payload : { ...inner, ...payload } };
}

function onlyOne(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}
