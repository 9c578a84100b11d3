/**
 * An append-only log as keys of a bucket, which has no append: each line is a key that begins with its instant.
 *
 * Keys come in order of instants that different clocks wrote, so a key may appear behind one that somebody has read
 * already. A cursor therefore remembers, beside the newest key, the keys of the last minutes: whatever turns up among
 * them later is still given, and nothing is given twice.
 */

import { createHash, randomBytes } from 'node:crypto';
import { CursorError } from '../archive.ts';
import type { S3Bucket } from './bucket.ts';

/** How late a key may turn up: an upload that is tried again, and clocks that differ. */
const OVERLAP_MS = 2 * 60_000;

export interface S3Log {
  /** @param name what the key ends with, may repeat */
  append(name: string, text: string): Promise<void>;
  /** The keys since that cursor in order of instants, and the cursor behind all of them. */
  since(cursor: string | null): Promise<{ readonly keys: readonly string[]; readonly cursor: string }>;
  /** The name that a key was appended with. */
  nameOf(key: string): string;
}

export function createS3Log(bucket: S3Bucket, folder: string, now: () => Date): S3Log {
  const instantOf = (key: string): string => key.slice(folder.length + 1, folder.length + 25);
  return {
    async append(name, text) {
      const unique = randomBytes(6).toString('hex');
      await bucket.putIfAbsent(`${folder}/${now().toISOString()}~${unique}~${name}`, text);
    },
    async since(cursor) {
      const { newest, seen } = parseCursor(folder, cursor);
      const keys: string[] = [];
      const all: string[] = [];
      for await (const key of bucket.list(
        folder,
        newest === '' ? undefined : startOf(folder, instantOf(newest)),
      )) {
        all.push(key);
        if (!seen.has(fingerprint(key))) keys.push(key);
      }
      const last = all.at(-1) ?? newest;
      if (last === '') return { keys, cursor: '' };
      const from = startOf(folder, instantOf(last));
      const recent = all.filter((key) => key > from).map(fingerprint);
      return { keys, cursor: `${last}#${recent.join('')}` };
    },
    nameOf: (key) => key.slice(key.lastIndexOf('~') + 1),
  };
}

/** Sorts before every key that is younger than the overlap. */
function startOf(folder: string, instant: string): string {
  return `${folder}/${new Date(Date.parse(instant) - OVERLAP_MS).toISOString()}`;
}

const FINGERPRINT_LENGTH = 10;

/** 60 bits: among the keys of a few minutes no two are alike. */
function fingerprint(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, FINGERPRINT_LENGTH);
}

function parseCursor(folder: string, cursor: string | null): { newest: string; seen: ReadonlySet<string> } {
  if (cursor === null || cursor === '') return { newest: '', seen: new Set() };
  const split = cursor.indexOf('#');
  const instant = cursor.slice(folder.length + 1, folder.length + 25);
  if (split < 0 || !cursor.startsWith(`${folder}/`) || Number.isNaN(Date.parse(instant)))
    throw new CursorError(cursor);
  const seen = new Set<string>();
  for (let at = split + 1; at < cursor.length; at += FINGERPRINT_LENGTH) {
    seen.add(cursor.slice(at, at + FINGERPRINT_LENGTH));
  }
  return { newest: cursor.slice(0, split), seen };
}
