/**
 * Keeps deliveries on disk from before they are answered until they were archived and given to Temporal.
 *
 * `pending/<key>` is a whole delivery; `done/ab/<key>` is an empty marker that records permanently that the delivery
 * was dealt with. Both are made exclusively by key, so any number of processes may share the folder: of deliveries
 * with one id exactly one is accepted. The folder is 0700 and its files 0600, because a body holds a presigned URL.
 */

import { closeSync, constants, openSync, readFileSync, statSync } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import {
  exists,
  linkDurably,
  makeFolder,
  removeIfThere,
  sweepLeftBehind,
  syncFolder,
  systemCode,
  temporaryName,
  writeSynced,
} from '../ops/durable-files.js';
import type { DurablePoint } from './durable-point.js';
import { decodeEntry, encodeEntry, keyOf, namedBy } from './inbox-entry.js';

/**
 * What a delivery is to us: to be acted on, a test event, or refused with a reason. Each kind has its own ids, so
 * neither a test event nor a refused delivery can ever make a real event look like a duplicate.
 */
export type DeliveryKind = 'event' | 'test' | 'refused';

export interface InboxEntry {
  readonly kind: DeliveryKind;
  readonly eventId: string;
  /** ISO 8601 UTC, our clock. */
  readonly receivedAt: string;
  /** null when the delivery could not be parsed that far. */
  readonly invoiceId: string | null;
  /** Why a delivery is refused, a stable code; null otherwise. */
  readonly code: string | null;
}

export interface Inbox {
  /** Durable before it answers, also when it answers `duplicate`. @throws FsyncError, or the system's error */
  accept(entry: InboxEntry, body: Uint8Array): Promise<'accepted' | 'duplicate'>;
  /** What waits, in order of arrival; entries already known to the caller are not read again. */
  pending(isKnown?: (key: string) => boolean): Promise<readonly InboxEntry[]>;
  /** null when it was trimmed meanwhile, perhaps by another process. */
  read(entry: InboxEntry): Promise<Uint8Array | null>;
  /** Forgets the body and remembers the id; `as` remembers it as another kind (a foreign partner found late). */
  trim(entry: InboxEntry, as?: DeliveryKind): Promise<void>;
  has(entry: Pick<InboxEntry, 'kind' | 'eventId'>): Promise<'pending' | 'done' | 'no'>;
  /** Called for each delivery accepted in this process. */
  onAccepted(listener: (entry: InboxEntry) => void): () => void;
  /** Writes and removes a file, to know whether the next delivery could be kept. */
  probe(): Promise<void>;
}

/**
 * Opens (and makes) an inbox; temporary files of dead processes are swept away.
 *
 * @param options.durablePoint is called at points D1 and D2 of the fault matrix (docs/faults.md); tests end the process there
 */
export async function openInbox(
  root: string,
  options: { readonly durablePoint?: DurablePoint } = {},
): Promise<Inbox> {
  const pendingFolder = join(root, 'pending');
  const doneFolder = join(root, 'done');
  const temporaryFolder = join(root, 'tmp');
  for (const folder of [pendingFolder, doneFolder, temporaryFolder]) await makeFolder(folder);
  await sweepLeftBehind(temporaryFolder);
  const shards = new Set<string>();
  const listeners = new Set<(entry: InboxEntry) => void>();
  let sequence = 0;

  const pendingPath = (key: string): string => join(pendingFolder, key);
  const doneShard = (key: string): string => join(doneFolder, key.slice(-2));
  const donePath = (key: string): string => join(doneShard(key), key);

  async function accept(entry: InboxEntry, body: Uint8Array): Promise<'accepted' | 'duplicate'> {
    const key = keyOf(entry);
    if (await isKept(key)) return 'duplicate';
    const part = temporaryName(temporaryFolder);
    sequence += 1;
    try {
      await writeSynced(part, encodeEntry(entry, sequence, body));
      options.durablePoint?.('D1');
      if (!(await linkDurably(part, pendingPath(key)))) return 'duplicate';
      options.durablePoint?.('D2');
    } finally {
      // Not awaited: what a kill leaves behind is removed at the next start.
      removeIfThere(part).catch(() => undefined);
    }
    // Another process may have finished the same delivery between our look at its marker and our link.
    if (exists(donePath(key))) {
      await removeIfThere(pendingPath(key));
      return 'duplicate';
    }
    for (const listener of listeners) listener(entry);
    return 'accepted';
  }

  /** A duplicate is only called one once the first is durable, which another process may be about to make it. */
  async function isKept(key: string): Promise<boolean> {
    if (exists(donePath(key))) return true;
    if (!exists(pendingPath(key))) return false;
    await syncFolder(pendingFolder);
    return true;
  }

  async function pending(isKnown: (key: string) => boolean = () => false): Promise<readonly InboxEntry[]> {
    const found: { entry: InboxEntry; sequence: number }[] = [];
    let looked = 0;
    for (const key of await readdir(pendingFolder)) {
      if (isKnown(key)) continue;
      // A long backlog is read in chunks, between which deliveries are answered.
      looked += 1;
      if (looked % 100 === 0) await setImmediate();
      const bytes = namedBy(key) === null ? null : readOrNull(pendingPath(key));
      if (bytes !== null) found.push(decodeOrName(key, bytes, pendingPath(key)));
    }
    return found.sort(byArrival).map(({ entry }) => entry);
  }

  async function trim(entry: InboxEntry, as: DeliveryKind = entry.kind): Promise<void> {
    await mark(keyOf({ ...entry, kind: as }));
    await removeIfThere(pendingPath(keyOf(entry)));
  }

  async function mark(key: string): Promise<void> {
    const shard = doneShard(key);
    if (!shards.has(shard)) {
      await makeFolder(shard);
      shards.add(shard);
    }
    closeSync(openSync(donePath(key), constants.O_WRONLY | constants.O_CREAT, 0o600));
    // Before the body is removed: without the marker a duplicate would count as new.
    await syncFolder(shard);
  }

  return {
    accept,
    pending,
    read: async (entry) => {
      const key = keyOf(entry);
      const bytes = readOrNull(pendingPath(key));
      return bytes === null ? null : decodeEntry(key, bytes).body;
    },
    trim,
    has: async (entry) => {
      const key = keyOf(entry);
      if (exists(donePath(key))) return 'done';
      return exists(pendingPath(key)) ? 'pending' : 'no';
    },
    onAccepted(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async probe() {
      const part = temporaryName(temporaryFolder);
      try {
        // A file that can be written but not renamed to its place is not kept either.
        await access(`${pendingFolder}/.`, constants.W_OK);
        await writeSynced(part, Buffer.alloc(4096));
      } finally {
        await removeIfThere(part);
      }
    },
  };
}

/** An entry that a broken disk damaged still counts as backlog and is named; it must not hide the others. */
function decodeOrName(key: string, bytes: Uint8Array, path: string): { entry: InboxEntry; sequence: number } {
  const { noted } = decodeEntry(key, bytes);
  if (noted !== null) return noted;
  const named = namedBy(key) ?? { kind: 'refused', eventId: key };
  // The time of receipt is stored nowhere else.
  const receivedAt = (statSync(path, { throwIfNoEntry: false })?.mtime ?? new Date()).toISOString();
  return { entry: { ...named, receivedAt, invoiceId: null, code: null }, sequence: 0 };
}

function byArrival(
  a: { entry: InboxEntry; sequence: number },
  b: { entry: InboxEntry; sequence: number },
): number {
  if (a.entry.receivedAt !== b.entry.receivedAt) return a.entry.receivedAt < b.entry.receivedAt ? -1 : 1;
  return a.sequence - b.sequence;
}

/** Directly: a body is at most 1 MiB, was just written, and waiting for a thread would take longer. */
function readOrNull(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (['ENOENT', 'EISDIR', 'ELOOP'].includes(systemCode(error) ?? '')) return null;
    throw error;
  }
}
