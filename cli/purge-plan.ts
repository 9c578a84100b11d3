/** ADR 20. Data in use, data on hold and files that a total needs are never in the plan. */

import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Archive } from '../archive/archive.ts';
import { type Hold, isHeld, type Owner, readRetention } from '../archive/retention.ts';
import { asideFolder } from '../lib/files/data-folder.ts';
import { namesIn } from '../lib/files/files.ts';
import type { Quarantine, QuarantinedItem } from '../lib/quarantine.ts';
import type { RemovableFile, Warehouse } from '../warehouse/warehouse.ts';
import { discardQuarantined } from '../webhook/requeue.ts';

export const PURGE_CLASSES = ['events', 'files', 'refused', 'copies'] as const;
export type PurgeClass = (typeof PURGE_CLASSES)[number];

export interface OldCopy {
  readonly path: string;
  readonly sizeBytes: number;
}

export interface OldEvent {
  readonly eventId: string;
  readonly sizeBytes: number;
}

export interface Kept {
  readonly inFlight: number;
  readonly onHold: number;
}

export interface PurgePlan {
  readonly before: string;
  readonly events: readonly OldEvent[];
  readonly files: readonly RemovableFile[];
  readonly refused: readonly QuarantinedItem[];
  readonly copies: readonly OldCopy[];
  readonly kept: Readonly<Record<PurgeClass, Kept>>;
}

export interface PlanOptions {
  readonly before: string;
  readonly classes: ReadonlySet<PurgeClass>;
  readonly archive: Archive;
  readonly warehouse: Warehouse;
  readonly quarantine: Quarantine;
  readonly dataDir: string;
}

export async function planPurge(options: PlanOptions): Promise<PurgePlan> {
  const { before, classes, archive, warehouse, quarantine } = options;
  const kept = { events: counter(), files: counter(), refused: counter(), copies: counter() };
  const keepReason = await keepReasons(archive, warehouse);
  const mayGo = (of: PurgeClass, owner: Owner): boolean => {
    const reason = keepReason(owner);
    if (reason !== null) kept[of][reason] += 1;
    return reason === null;
  };
  const items = await quarantine.list();
  const refused = classes.has('refused')
    ? items.filter(({ at, invoiceId }) => at < before && mayGo('refused', { invoiceId, tenantIds: [] }))
    : [];
  const left = items.filter((item) => !refused.includes(item));
  return {
    ...{ before, kept, refused },
    events: classes.has('events') ? await oldEvents(options, left, mayGo) : [],
    files: classes.has('files') ? await oldFiles(options, left, mayGo) : [],
    copies: classes.has('copies') ? await oldCopies(options, mayGo) : [],
  };
}

type MayGo = (of: PurgeClass, owner: Owner) => boolean;

const counter = (): { inFlight: number; onHold: number } => ({ inFlight: 0, onHold: 0 });

async function keepReasons(
  archive: Archive,
  warehouse: Warehouse,
): Promise<(owner: Owner) => keyof Kept | null> {
  const open = await warehouse.invoices({ states: ['draft', 'finalized', 'needs_attention'] });
  const inFlight = new Set(open.map(({ invoiceId }) => invoiceId));
  const { holds } = await readRetention(archive);
  const tenants = holds.length === 0 ? new Map<string, Owner>() : await tenantsOf(warehouse);
  return (owner) => {
    const invoiceId = owner.invoiceId?.toLowerCase() ?? null;
    if (invoiceId !== null && inFlight.has(invoiceId)) return 'inFlight';
    return isHeldByAny(holds, { ...owner, invoiceId }, tenants) ? 'onHold' : null;
  };
}

function isHeldByAny(holds: readonly Hold[], owner: Owner, tenants: ReadonlyMap<string, Owner>): boolean {
  if (holds.length === 0) return false;
  const known = owner.invoiceId === null ? undefined : tenants.get(owner.invoiceId);
  if (known === undefined) return isHeld(holds, { invoiceId: null, tenantIds: [] });
  return isHeld(holds, { ...owner, tenantIds: [...owner.tenantIds, ...known.tenantIds] });
}

async function tenantsOf(warehouse: Warehouse): Promise<ReadonlyMap<string, Owner>> {
  const invoices = await warehouse.invoices();
  return new Map(
    invoices.map(({ invoiceId, tenantId, partnerTenantId }) => [
      invoiceId,
      { invoiceId, tenantIds: [tenantId, partnerTenantId] },
    ]),
  );
}

/** The body of a delivery that can still be requeued is kept. */
async function oldEvents(
  { archive, before }: PlanOptions,
  left: readonly QuarantinedItem[],
  mayGo: MayGo,
): Promise<readonly OldEvent[]> {
  const waiting = new Set(left.map(({ eventId }) => eventId?.toLowerCase()));
  const old: OldEvent[] = [];
  for await (const { event } of archive.events()) {
    const { eventId, receivedAt, envelope } = event;
    if (receivedAt >= before || envelope === '') continue;
    const invoice = event.event?.invoice;
    const owner = {
      invoiceId: invoice?.invoiceId ?? null,
      tenantIds: [invoice?.tenantId, invoice?.partnerTenantId],
    };
    if (waiting.has(eventId.toLowerCase()) || !mayGo('events', owner)) continue;
    old.push({ eventId, sizeBytes: Buffer.byteLength(envelope) });
  }
  return old;
}

async function oldFiles(
  { archive, warehouse, before }: PlanOptions,
  left: readonly QuarantinedItem[],
  mayGo: MayGo,
): Promise<readonly RemovableFile[]> {
  const waiting = new Set(left.map(({ sha256 }) => sha256));
  const old: RemovableFile[] = [];
  for (const file of await warehouse.removableFiles(before)) {
    const { sha256, invoiceId, tenantId, partnerTenantId } = file;
    const isThere = (await archive.file(sha256)) !== null;
    if (!isThere || waiting.has(sha256)) continue;
    if (mayGo('files', { invoiceId, tenantIds: [tenantId, partnerTenantId] })) old.push(file);
  }
  return old;
}

async function oldCopies({ dataDir, before }: PlanOptions, mayGo: MayGo): Promise<readonly OldCopy[]> {
  const folder = asideFolder(dataDir);
  const old: OldCopy[] = [];
  for (const name of await namesIn(folder)) {
    const [, date, hour, minute, second] =
      /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3}Z)-/.exec(name) ?? [];
    if (date === undefined || `${date}T${hour}:${minute}:${second}` >= before) continue;
    const path = join(folder, name);
    if (mayGo('copies', { invoiceId: null, tenantIds: [] }))
      old.push({ path, sizeBytes: (await stat(path)).size });
  }
  return old;
}

export interface PurgeOptions {
  readonly archive: Archive;
  readonly quarantine: Quarantine;
  readonly by: string;
  readonly reason: string;
  readonly onProgress: (done: number, of: number) => void;
}

export async function runPurge(plan: PurgePlan, options: PurgeOptions): Promise<void> {
  const { archive, quarantine, by, reason, onProgress } = options;
  const of = plan.refused.length + plan.events.length + plan.files.length + plan.copies.length;
  let done = 0;
  const each = async <T>(items: readonly T[], remove: (item: T) => Promise<unknown>): Promise<void> => {
    for (const item of items) {
      await remove(item);
      done += 1;
      onProgress(done, of);
    }
  };
  const at = (): string => new Date().toISOString();
  const note = `purged, older than ${plan.before}: ${reason}`;
  await each(plan.refused, ({ quarantineId }) =>
    discardQuarantined(quarantineId, { quarantine, archive, note }),
  );
  await each(plan.events, ({ eventId }) => archive.trimEvent(eventId, at()));
  await each(plan.files, async ({ sha256, sizeBytes, invoiceId }) => {
    await archive.putFact({ kind: 'purged', at: at(), invoiceId, sha256, sizeBytes, by, reason });
    await archive.removeFile(sha256);
  });
  await each(plan.copies, ({ path }) => rm(path, { force: true }));
}
