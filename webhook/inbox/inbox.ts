/**
 * Keeps deliveries on disk from before they are answered until they were archived and given to Temporal.
 *
 * `pending/<key>` is a whole delivery; what comes while others are being written shares a file with all that waits, which has the
 * names of each (hard links), and one flush. A marker in `done/` records permanently that a delivery was dealt with.
 * Names are made exclusively, so any number of processes may share the folder: of deliveries with one id exactly one is
 * accepted. The folder is 0700 and its files 0600, because a body holds a presigned URL.
 */

import { constants, readFileSync, statSync } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { exists, makeFolder, removeSmall, syncFolder, writeSynced } from '../../lib/files/durable-files.ts';
import { sweepLeftBehind, temporaryName } from '../../lib/files/files.ts';
import { systemCode } from '../../lib/system-errors.ts';
import { openDoneMarkers } from './done-markers.ts';
import type { DurablePoint } from './durable-point.ts';
import { bodyOf, encodeEntry, keyOf, type NotedEntry, namedBy, notedIn } from './inbox-entry.ts';
import { placeTogether } from './place-together.ts';

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
  const temporaryFolder = join(root, 'tmp');
  for (const folder of [pendingFolder, temporaryFolder]) await makeFolder(folder);
  await sweepLeftBehind(temporaryFolder);
  const done = await openDoneMarkers(root);
  const listeners = new Set<(entry: InboxEntry) => void>();
  let sequence = 0;

  const pendingPath = (key: string): string => join(pendingFolder, key);
  const place = placeTogether({ temporaryFolder, pathOf: pendingPath }, options.durablePoint);

  async function accept(entry: InboxEntry, body: Uint8Array): Promise<'accepted' | 'duplicate'> {
    const key = keyOf(entry);
    if (await isKept(key)) return 'duplicate';
    sequence += 1;
    const isNew = await place({ key, bytes: encodeEntry(entry, sequence, body) });
    await syncFolder(pendingFolder);
    if (!isNew) return 'duplicate';
    options.durablePoint?.('D2');
    // Another process may have finished the same delivery between our look at its marker and our link.
    if (done.has(key)) {
      removeSmall(pendingPath(key));
      return 'duplicate';
    }
    for (const listener of listeners) listener(entry);
    return 'accepted';
  }

  /** A duplicate is only called one once the first is durable, which another process may be about to make it. */
  async function isKept(key: string): Promise<boolean> {
    if (done.has(key)) return true;
    if (!exists(pendingPath(key))) return false;
    await syncFolder(pendingFolder);
    return true;
  }

  async function pending(isKnown: (key: string) => boolean = () => false): Promise<readonly InboxEntry[]> {
    const found: NotedEntry[] = [];
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
    // Before the body is removed: without the marker a duplicate would count as new.
    await done.mark(keyOf({ ...entry, kind: as }));
    removeSmall(pendingPath(keyOf(entry)));
  }

  return {
    accept,
    pending,
    read: async (entry) => {
      const key = keyOf(entry);
      const bytes = readOrNull(pendingPath(key));
      return bytes === null ? null : bodyOf(key, bytes);
    },
    trim,
    has: async (entry) => {
      const key = keyOf(entry);
      if (done.has(key)) return 'done';
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
        removeSmall(part);
      }
    },
  };
}

/** An entry that a broken disk damaged still counts as backlog and is named; it must not hide the others. */
function decodeOrName(key: string, bytes: Uint8Array, path: string): NotedEntry {
  const noted = notedIn(key, bytes);
  if (noted !== null) return noted;
  const named = namedBy(key) ?? { kind: 'refused', eventId: key };
  // The time of receipt is stored nowhere else.
  const receivedAt = (statSync(path, { throwIfNoEntry: false })?.mtime ?? new Date()).toISOString();
  return { entry: { ...named, receivedAt, invoiceId: null, code: null }, sequence: 0 };
}

function byArrival(a: NotedEntry, b: NotedEntry): number {
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
