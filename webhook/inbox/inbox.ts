/**
 * `pending/<key>`: a line of JSON, then the body; deliveries that arrive together are hard links to one file.
 * `done/ab/<key>`: the marker of a processed delivery, with the digest of its content. Names are created exclusively, so any number of processes
 * may share the folder.
 */

import { constants, linkSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { exists, makeFolder, removeSmall, syncFolder, writeSynced } from '../../lib/files/durable-files.ts';
import { sweepLeftBehind, temporaryName } from '../../lib/files/files.ts';
import { GroupCommit } from '../../lib/group-commit.ts';
import { systemCode } from '../../lib/system-errors.ts';
import { jsonOrNull } from '../../lib/text.ts';
import type { ParsedDelivery } from '../../lib/wire/parse-delivery.ts';

/**
 * Points of docs/faults.md at which a kill -9 must lose nothing: D1 written, D2 linked and durable, D3 answered, D4
 * archived and accepted by Temporal, D5 trimmed.
 */
export type DurablePoint = (name: 'D1' | 'D2' | 'D3' | 'D4' | 'D5') => void;

/**
 * Each kind has its own ids, so that neither a test event nor a refused delivery makes a real event look like a
 * duplicate.
 */
export type DeliveryKind = 'event' | 'test' | 'refused';

export interface InboxEntry {
  readonly kind: DeliveryKind;
  readonly eventId: string;
  readonly receivedAt: string;
  readonly invoiceId: string | null;
  readonly code: string | null;
  /** A void is forwarded before other events of its invoice. */
  readonly isVoid?: boolean | undefined;
  /** The digest of what the event states: another content under the same id is another event. */
  readonly content?: string | undefined;
}

/** `other`: the id is that of an event with another content; nothing is stored. */
export type Accepted = 'accepted' | 'duplicate' | 'other';

type OnAccepted = (entry: InboxEntry, parsed: ParsedDelivery | undefined) => void;

export interface Inbox {
  /** Durable before it resolves, also for `duplicate`. @throws FsyncError, or the system's error */
  accept(entry: InboxEntry, body: Uint8Array, parsed?: ParsedDelivery): Promise<Accepted>;
  pending(isKnown?: (key: string) => boolean): Promise<readonly InboxEntry[]>;
  /** Returns null when the entry was trimmed meanwhile. */
  read(entry: InboxEntry): Promise<Uint8Array | null>;
  /**
   * Removes the body and leaves a marker. With `as`, the delivery is recorded as another kind, such as a foreign partner found
   * late.
   */
  trim(entry: InboxEntry, as?: DeliveryKind): Promise<void>;
  has(entry: Pick<InboxEntry, 'kind' | 'eventId'>): Promise<'pending' | 'done' | 'no'>;
  onAccepted(listener: OnAccepted): () => void;
  probe(): Promise<void>;
}

interface Part {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** Reading one entry of a shared file reads all of it. */
const SHARED_FILE = { maxItems: 32, maxWeight: 128 * 1024, weigh: ({ bytes }: Part) => bytes.length };

export async function openInbox(
  root: string,
  options: { readonly durablePoint?: DurablePoint } = {},
): Promise<Inbox> {
  const pendingFolder = join(root, 'pending');
  const temporaryFolder = join(root, 'tmp');
  for (const folder of [pendingFolder, temporaryFolder]) await makeFolder(folder);
  await sweepLeftBehind(temporaryFolder);
  const doneShards = new Set<string>();
  const listeners = new Set<OnAccepted>();
  let sequence = 0;

  const pendingPath = (key: string): string => join(pendingFolder, key);
  const donePath = (key: string): string => join(root, 'done', key.slice(-2), key);

  /** Returns for each part whether its name was free. The bytes are durable then; the name is after its folder's flush. */
  const writing = new GroupCommit<Part, boolean | Error>(async (parts) => {
    const path = temporaryName(temporaryFolder);
    try {
      await writeSynced(path, encodeFile(parts));
      options.durablePoint?.('D1');
      return parts.map(({ key }) => linkOnce(path, pendingPath(key)));
    } finally {
      removeTemporary(path);
    }
  }, SHARED_FILE);

  async function accept(entry: InboxEntry, body: Uint8Array, parsed?: ParsedDelivery): Promise<Accepted> {
    const key = keyOf(entry);
    if (await isStored(key)) return repeated(entry, key);
    sequence += 1;
    const isNew = await writing.do({ key, bytes: encodeEntry(entry, sequence, body) });
    if (isNew instanceof Error) throw isNew;
    await syncFolder(pendingFolder);
    if (!isNew) return repeated(entry, key);
    options.durablePoint?.('D2');
    // Another process may have finished the same delivery between the check of its marker and our link.
    if (exists(donePath(key))) {
      removeSmall(pendingPath(key));
      return repeated(entry, key);
    }
    for (const listener of listeners) listener(entry, parsed);
    return 'accepted';
  }

  /** A marker that a power cut left empty is of no known content: then the event is processed once more. */
  function repeated({ content }: InboxEntry, key: string): Accepted {
    if (content === undefined) return 'duplicate';
    const pending = readOrNull(pendingPath(key));
    const stored =
      pending === null ? readOrNull(donePath(key))?.toString() : decodeEntry(key, pending)?.entry.content;
    return stored === content ? 'duplicate' : 'other';
  }

  /** A duplicate is answered only once the first is durable; another process may be writing it. */
  async function isStored(key: string): Promise<boolean> {
    if (exists(donePath(key))) return true;
    if (!exists(pendingPath(key))) return false;
    await syncFolder(pendingFolder);
    return true;
  }

  async function markDone(key: string, content: string): Promise<void> {
    const path = donePath(key);
    const shard = dirname(path);
    if (!doneShards.has(shard)) await makeFolder(shard);
    doneShards.add(shard);
    writeFileSync(path, content, { mode: 0o600 });
    await syncFolder(shard);
  }

  async function pending(isKnown: (key: string) => boolean = () => false): Promise<readonly InboxEntry[]> {
    const found: StoredEntry[] = [];
    let read = 0;
    for (const key of await readdir(pendingFolder)) {
      if (isKnown(key)) continue;
      // Requests are served between chunks of a long backlog.
      read += 1;
      if (read % 100 === 0) await setImmediate();
      const bytes = parseKey(key) === null ? null : readOrNull(pendingPath(key));
      if (bytes !== null) found.push(decodeEntry(key, bytes) ?? damagedEntry(key, pendingPath(key)));
    }
    return found.sort(byArrival).map(({ entry }) => entry);
  }

  return {
    accept,
    pending,
    async read(entry) {
      const key = keyOf(entry);
      const bytes = readOrNull(pendingPath(key));
      return bytes === null ? null : decodeBody(key, bytes);
    },
    async trim(entry, as = entry.kind) {
      // Durable before the body is removed: without the marker a duplicate would count as new.
      await markDone(keyOf({ ...entry, kind: as }), entry.content ?? '');
      removeSmall(pendingPath(keyOf(entry)));
    },
    async has(entry) {
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
        await access(`${pendingFolder}/.`, constants.W_OK);
        await writeSynced(part, Buffer.alloc(4096));
      } finally {
        removeSmall(part);
      }
    },
  };
}

/** The error is returned and not thrown, because the other parts of the group have their names already. */
function linkOnce(from: string, to: string): boolean | Error {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return systemCode(error) === 'EEXIST' ? false : error;
  }
}

/** A failure must not fail deliveries that are stored; the next start removes the file. */
function removeTemporary(path: string): void {
  try {
    removeSmall(path);
  } catch {}
}

/** Returns null when there is no file, or a folder or a circle of links in its place. */
export function readOrNull(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (['ENOENT', 'EISDIR', 'ELOOP'].includes(systemCode(error) ?? '')) return null;
    throw error;
  }
}

export function keyOf(entry: { readonly kind: DeliveryKind; readonly eventId: string }): string {
  const id = entry.eventId.toLowerCase();
  if (!/^[0-9a-z][0-9a-z_-]{1,127}$/.test(id)) throw new RangeError('An event id that cannot name a file.');
  return entry.kind === 'event' ? id : `${entry.kind}.${id}`;
}

/** Returns null for a name that is not an entry's, for example a file manager's `.DS_Store`. */
export function parseKey(name: string): { readonly kind: DeliveryKind; readonly eventId: string } | null {
  const [, kind = 'event', eventId] = /^(?:(test|refused)\.)?([0-9a-z][0-9a-z_-]{1,127})$/.exec(name) ?? [];
  return eventId === undefined ? null : { kind: kind as DeliveryKind, eventId };
}

/** @param sequence orders the deliveries that one process accepts within a millisecond */
export function encodeEntry(entry: InboxEntry, sequence: number, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ ...entry, sequence })}\n`), body]);
}

function encodeFile(parts: readonly Part[]): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first.bytes;
  const together = parts.map(({ key, bytes }) => ({ key, sizeBytes: bytes.length }));
  return Buffer.concat([
    Buffer.from(`${JSON.stringify({ together })}\n`),
    ...parts.map(({ bytes }) => bytes),
  ]);
}

interface StoredEntry {
  readonly entry: InboxEntry;
  readonly sequence: number;
}

const Head = z.object({
  kind: z.enum(['event', 'test', 'refused']),
  eventId: z.string(),
  receivedAt: z.iso.datetime(),
  invoiceId: z.string().nullable(),
  code: z.string().nullable(),
  isVoid: z.boolean().optional(),
  content: z.string().optional(),
  sequence: z.number(),
});

/** Returns null when the entry's first line is damaged, or is that of another entry; the body may be intact. */
function decodeEntry(key: string, file: Uint8Array): StoredEntry | null {
  const bytes = partOf(key, file);
  const head = Head.safeParse(firstLineOf(bytes));
  if (!head.success) return null;
  const { sequence, ...entry } = head.data;
  const named = parseKey(key);
  const isSame = named?.kind === entry.kind && named.eventId === entry.eventId.toLowerCase();
  return isSame ? { entry, sequence } : null;
}

/** A damaged entry still counts as backlog. */
function damagedEntry(key: string, path: string): StoredEntry {
  const named = parseKey(key) ?? { kind: 'refused', eventId: key };
  const receivedAt = (statSync(path, { throwIfNoEntry: false })?.mtime ?? new Date()).toISOString();
  return { entry: { ...named, receivedAt, invoiceId: null, code: null }, sequence: 0 };
}

/** The body is found when the entry's first line is damaged, too. */
export function decodeBody(key: string, file: Uint8Array): Uint8Array {
  const bytes = partOf(key, file);
  return bytes.subarray(bytes.indexOf(0x0a) + 1);
}

const BEGIN_TOGETHER = Buffer.from('{"together":');
const Together = z.object({
  together: z.array(z.object({ key: z.string(), sizeBytes: z.int().nonnegative() })),
});

/** Returns the whole file when its index is damaged. */
function partOf(key: string, file: Uint8Array): Uint8Array {
  if (!BEGIN_TOGETHER.equals(file.subarray(0, BEGIN_TOGETHER.length))) return file;
  const index = Together.safeParse(firstLineOf(file));
  if (!index.success) return file;
  let from = file.indexOf(0x0a) + 1;
  for (const part of index.data.together) {
    if (part.key === key) return file.subarray(from, from + part.sizeBytes);
    from += part.sizeBytes;
  }
  return file;
}

function firstLineOf(file: Uint8Array): unknown {
  return jsonOrNull(Buffer.from(file.subarray(0, Math.max(file.indexOf(0x0a), 0))).toString());
}

function byArrival(a: StoredEntry, b: StoredEntry): number {
  if (a.entry.receivedAt !== b.entry.receivedAt) return a.entry.receivedAt < b.entry.receivedAt ? -1 : 1;
  return a.sequence - b.sequence;
}
