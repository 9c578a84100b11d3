/** Facts in a bucket: `facts/` is a log in which each key carries one. */

import { wellFormedJson } from '../../lib/wire/json.ts';
import type { Fact, OnUnreadable } from '../archive.ts';
import { readFact } from '../read-record.ts';
import type { FactStore } from '../stores.ts';
import type { S3Bucket } from './bucket.ts';
import { createS3Log } from './log.ts';
import { readAhead } from './read-ahead.ts';

export function openS3Facts(bucket: S3Bucket): FactStore {
  const log = createS3Log(bucket, 'facts');

  /** Until the last fact the cursor stays: who stops before it gets all of them again. */
  async function* after(
    cursor: string | null,
    onUnreadable?: OnUnreadable,
  ): AsyncGenerator<{ readonly fact: Fact; readonly cursor: string }> {
    const { keys, cursor: behind } = await log.since(cursor);
    let last: Fact | null = null;
    for await (const [key, bytes] of readAhead(keys, bucket.getBytes)) {
      const reading = bytes === null ? { ok: false as const, why: 'listed and not there' } : readFact(bytes);
      if (!reading.ok) {
        onUnreadable?.({ where: key, why: reading.why });
        continue;
      }
      if (last !== null) yield { fact: last, cursor: cursor ?? '' };
      last = reading.value;
    }
    if (last !== null) yield { fact: last, cursor: behind };
  }

  return { put: (fact) => log.append(fact.kind, wellFormedJson(fact)), after };
}
