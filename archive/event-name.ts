/** How events are named in every kind of archive, and which of two events with one id counts. */

import type { DeliveryVerdict } from './archive.ts';

/** In order of precedence: of several records with one id, one that can be acted on is the event. */
export const BY_PRECEDENCE: readonly DeliveryVerdict[] = ['accepted', 'quarantined', 'test'];

/** Ids are compared without case, as file systems may. @throws RangeError it could not name a file */
export function eventName(eventId: string): string {
  const name = eventId.toLowerCase();
  if (!isEventName(name)) throw new RangeError('An event id that cannot name a file.');
  return name;
}

/** Whether an event may be named so. */
export function isEventName(name: string): boolean {
  return /^[0-9a-z][0-9a-z._-]{0,127}$/.test(name);
}

/** `ab/<eventId>.json`; what cannot be acted on says so in its name. */
export function eventPath(eventId: string, verdict: DeliveryVerdict): string {
  const name = eventName(eventId);
  return `${name.slice(0, 2)}/${name}${verdict === 'accepted' ? '' : `.${verdict}`}.json`;
}
