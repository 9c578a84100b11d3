/** What stays of an event's record when its body is purged. */

import { createHash } from 'node:crypto';
import type { ArchivedEvent } from './archive.ts';

/** null when there is no body to remove. @param at ISO 8601 UTC */
export function trimmedEvent(event: ArchivedEvent, at: string): ArchivedEvent | null {
  if (event.trimmed !== undefined || event.envelope === '') return null;
  const body = Buffer.from(event.envelope);
  const sha256 = createHash('sha256').update(body).digest('hex');
  return { ...event, envelope: '', trimmed: { at, sha256, sizeBytes: body.length } };
}
