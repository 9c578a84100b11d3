/**
 * The id is a hash of what was refused, so a repetition is one entry. A full folder drops its oldest items, unusable
 * bodies first, because the archive keeps the others.
 */

import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Alerts } from '../../lib/alerts/alerts.ts';
import { makeFolder, removeIfThere, replaceDurably } from '../../lib/files/durable-files.ts';
import { sweepLeftBehind } from '../../lib/files/files.ts';
import type { Logger } from '../../lib/log/log.ts';
import { type Quarantine, QuarantinedItem, type RefusedItem } from '../../lib/quarantine.ts';
import { jsonOrNull, withoutUrlQueries } from '../../lib/text.ts';
import { wellFormedJson } from '../../lib/wire/json.ts';
import { readOrNull } from './inbox.ts';

export interface QuarantineOptions {
  readonly maxItems?: number;
  readonly maxBytes?: number;
  readonly onDropped?: (item: QuarantinedItem) => void;
}

export async function openQuarantine(root: string, options: QuarantineOptions = {}): Promise<Quarantine> {
  const { maxItems = 10_000, maxBytes = 256 * 1024 * 1024, onDropped } = options;
  await makeFolder(root);
  await sweepLeftBehind(root);
  const pathOf = (id: string): string => join(root, requireValidId(id));
  const known = new Map<string, QuarantinedItem>();
  await refresh();

  async function put(item: RefusedItem, body?: Uint8Array): Promise<string> {
    const kept = body === undefined ? null : withoutQueries(body);
    const quarantineId = idOf(item, kept);
    const sizeBytes = kept?.byteLength ?? item.sizeBytes ?? 0;
    const whole: QuarantinedItem = { ...item, quarantineId, sizeBytes };
    const head = Buffer.from(`${wellFormedJson(whole)}\n`);
    await replaceDurably(pathOf(quarantineId), kept === null ? head : Buffer.concat([head, kept]));
    known.delete(quarantineId);
    known.set(quarantineId, whole);
    await dropExcess(quarantineId);
    return quarantineId;
  }

  async function dropExcess(newest: string): Promise<void> {
    let bytes = 0;
    for (const item of known.values()) bytes += keptBytes(item);
    if (known.size <= maxItems && bytes <= maxBytes) return;
    const candidates = [...known.values()].sort(byWorth);
    for (const item of candidates) {
      if (known.size <= maxItems && bytes <= maxBytes) return;
      if (item.quarantineId === newest) continue;
      await remove(item.quarantineId);
      bytes -= keptBytes(item);
      onDropped?.(item);
    }
  }

  async function remove(quarantineId: string): Promise<void> {
    await removeIfThere(pathOf(quarantineId));
    known.delete(quarantineId);
  }

  async function refresh(): Promise<void> {
    const ids = new Set((await readdir(root)).filter(isId));
    for (const id of known.keys()) {
      if (!ids.has(id)) known.delete(id);
    }
    for (const id of ids) {
      const found = known.has(id) ? null : await readItem(pathOf(id), id);
      if (found !== null) known.set(id, found.item);
    }
  }

  return {
    put,
    async list() {
      await refresh();
      return [...known.values()].sort(byAge);
    },
    show: async (quarantineId) => readItem(pathOf(quarantineId), quarantineId),
    remove,
  };
}

async function readItem(
  path: string,
  id: string,
): Promise<{ readonly item: QuarantinedItem; readonly body: Uint8Array | null } | null> {
  const bytes = readOrNull(path);
  if (bytes === null) return null;
  const headEnd = bytes.indexOf(0x0a);
  const body = bytes.subarray(headEnd + 1);
  const item = parseDescription(id, bytes.subarray(0, Math.max(headEnd, 0))) ?? {
    // An item with a damaged description is listed too, so that a person can read the body and discard it.
    ...{ quarantineId: id, kind: id.startsWith('f') ? 'file' : 'delivery', sizeBytes: body.length },
    ...{ code: 'description-damaged', at: (await stat(path)).mtime.toISOString() },
    reason: 'The description of this item is damaged; its bytes are kept as received.',
    ...{ invoiceId: null, eventId: null, sha256: null, findings: [], findingCount: 0 },
  };
  return { item, body: item.kind === 'file' ? null : body };
}

function parseDescription(id: string, text: Buffer): QuarantinedItem | null {
  const read = QuarantinedItem.safeParse(jsonOrNull(text.toString('utf8')));
  return read.success && read.data.quarantineId === id ? read.data : null;
}

/** Latin-1 keeps every byte, also of a body that is not UTF-8. */
function withoutQueries(body: Uint8Array): Uint8Array {
  return Buffer.from(withoutUrlQueries(Buffer.from(body).toString('latin1')), 'latin1');
}

function keptBytes({ kind, sizeBytes }: QuarantinedItem): number {
  return kind === 'file' ? 0 : sizeBytes;
}

function idOf(item: RefusedItem, body: Uint8Array | null): string {
  const parts = [item.kind, item.code, item.invoiceId, item.sha256].map(String);
  const hash = createHash('sha256').update(parts.join('\n'));
  if (item.eventId !== null) hash.update(item.eventId.toLowerCase());
  else if (body !== null) hash.update(body);
  return `${item.kind === 'file' ? 'f' : 'd'}-${hash.digest('hex').slice(0, 16)}`;
}

function isId(name: string): boolean {
  return /^[df]-[0-9a-f]{16}$/.test(name);
}

function requireValidId(quarantineId: string): string {
  if (!isId(quarantineId)) throw new RangeError('A quarantine id looks like d-0123456789abcdef.');
  return quarantineId;
}

const byAge = (a: QuarantinedItem, b: QuarantinedItem): number => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0);

function byWorth(a: QuarantinedItem, b: QuarantinedItem): number {
  const worth = (item: QuarantinedItem): number =>
    ['not-json', 'invalid-metadata', 'invalid-payload'].includes(item.code) ? 0 : 1;
  return worth(a) - worth(b) || byAge(a, b);
}

export function reportDropped(deps: {
  readonly log: Logger;
  readonly alerts: Alerts;
}): (item: QuarantinedItem) => void {
  return ({ quarantineId, kind, code, at, invoiceId, eventId }) => {
    deps.log.error({ quarantineId, kind, code, at, invoiceId, eventId }, 'dropped from a full quarantine');
    deps.alerts.raise({
      key: 'quarantine/full',
      title: 'The quarantine is full, and its oldest entries are dropped',
      detail: `The last was ${quarantineId} (${code}, ${at}); the log names each. \`billsync quarantine list\`, then requeue or discard.`,
    });
  };
}
