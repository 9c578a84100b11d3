/**
 * An append-only log as keys that begin with the instant of the append by S3's clock. Appends of one process are in their order. A
 * late append is repeated, so a reader that lists the last minutes again misses no confirmed line; its cursor has the fingerprints
 * of the keys of these minutes.
 */

import { createHash, randomBytes } from 'node:crypto';
import { CursorError } from '../archive.ts';
import { ArchiveError } from '../errors.ts';
import type { S3Bucket } from './bucket.ts';

const MAX_LATE_MS = 2 * 60_000;
/** Longer than MAX_LATE_MS, because the clocks of S3's servers differ. */
const OVERLAP_MS = 5 * 60_000;

export function createS3Log(bucket: S3Bucket, folder: string) {
  const instantOf = (key: string): string => key.slice(folder.length + 1, folder.length + 25);
  let lastMs = 0;
  return {
    async append(name: string, text: string): Promise<void> {
      for (;;) {
        const unique = randomBytes(6).toString('hex');
        const stampedMs = Math.max(await bucket.serverNow(), lastMs + 1);
        lastMs = stampedMs;
        await bucket.putIfAbsent(`${folder}/${new Date(stampedMs).toISOString()}~${unique}~${name}`, text);
        if ((await bucket.serverNow()) - stampedMs <= MAX_LATE_MS) return;
      }
    },
    async since(
      cursor: string | null,
    ): Promise<{ readonly keys: readonly string[]; readonly cursor: string }> {
      const { from, seen } = parseCursor(folder, cursor);
      // The instant is read before the listing, so that keys that are written meanwhile are behind the next cursor.
      const startedMs = await bucket.serverNow();
      const keys: string[] = [];
      const all: string[] = [];
      for await (const key of bucket.list(folder, from === '' ? undefined : from)) {
        if (key === `${folder}/journal.ndjson`)
          throw new ArchiveError('other-layout', ['a folder', 'a bucket'], { subject: key });
        all.push(key);
        if (!seen.has(fingerprint(key))) keys.push(key);
      }
      const last = all.at(-1);
      if (last === undefined) return { keys, cursor: from === '' ? '' : `${from}#` };
      const newestMs = Date.parse(instantOf(last));
      const knownMs = Number.isNaN(newestMs) ? startedMs : Math.min(newestMs, startedMs);
      const behind = `${folder}/${new Date(knownMs - OVERLAP_MS).toISOString()}`;
      const next = behind > from ? behind : from;
      const recent = all.filter((key) => key > next).map(fingerprint);
      return { keys, cursor: `${next}#${recent.join('')}` };
    },
    nameOf: (key: string): string => key.slice(key.lastIndexOf('~') + 1),
  };
}

const FINGERPRINT_LENGTH = 10;

function fingerprint(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, FINGERPRINT_LENGTH);
}

function parseCursor(folder: string, cursor: string | null): { from: string; seen: ReadonlySet<string> } {
  if (cursor === null || cursor === '') return { from: '', seen: new Set() };
  const split = cursor.indexOf('#');
  const instant = cursor.slice(folder.length + 1, split);
  if (split < 0 || !cursor.startsWith(`${folder}/`) || Number.isNaN(Date.parse(instant)))
    throw new CursorError(cursor);
  const seen = new Set<string>();
  for (let at = split + 1; at < cursor.length; at += FINGERPRINT_LENGTH) {
    seen.add(cursor.slice(at, at + FINGERPRINT_LENGTH));
  }
  return { from: cursor.slice(0, split), seen };
}
