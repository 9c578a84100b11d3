/** What opening does before anybody may write: read on in the archive, repeat loads it tells of, tell it of loads it lacks. */

import type { Archive, Fact } from '../../archive/archive.ts';
import type { Logger } from '../../lib/log/log.ts';
import type { Database } from '../duckdb/database.ts';
import type { Row, Statements } from '../duckdb/statements.ts';
import { type Ingested, ingest, type LoadFact } from '../ledger/ingest.ts';
import { insertFacts } from '../ledger/insert-ledger-lines.ts';
import { refreshInvoices } from '../ledger/invoice-states.ts';
import type { FileLoad } from '../load/file-load.ts';
import { loadBatch } from '../load/load-batch.ts';
import { loadFile } from '../load/load-file.ts';
import type { CatchUpProgress, LostRecord, OnSetAside } from '../opening.ts';
import { type FailedLoad, repeatUnrepeated } from './repeat-loads.ts';

export interface CaughtUp {
  /** The highest load id that was ever given. */
  readonly lastLoadId: number;
  readonly events: number;
  readonly loadsRepeated: number;
  readonly losses: readonly LostRecord[];
  /** Loads whose file was purged, so that they were left out. */
  readonly purged: readonly LoadFact[];
}

export interface CatchUpOptions {
  readonly database: Database;
  readonly archive: Archive;
  readonly log: Logger;
  readonly now: Date;
  readonly onSetAside?: OnSetAside | undefined;
  readonly onProgress?: (progress: CatchUpProgress) => void;
}

/**
 * @returns what was taken in, and the loads that could not be repeated because the archive has no such file
 */
export async function catchUp(options: CatchUpOptions): Promise<CaughtUp> {
  const { database, archive, log, now, onSetAside, onProgress } = options;
  const progress = { events: 0, facts: 0, loadsDone: 0, loadsOf: 0 };
  const ingested = await ingest({
    database,
    archive,
    now,
    lock: (_invoiceIds, work) => work(),
    onProgress: ({ events, facts }) => onProgress?.({ ...progress, events, facts }),
  });
  Object.assign(progress, { events: ingested.events, facts: ingested.facts });

  const ways = {
    alone: (file: FileLoad) => loadFile(database, file),
    together: (files: readonly FileLoad[]) => loadBatch(database, files),
  };
  const context = { ways, archive, log, ledgers: database };
  const { repeated, failed, purged, highest } = await repeatUnrepeated(context, {
    onDone: (loadsDone, loadsOf) => onProgress?.({ ...progress, loadsDone, loadsOf }),
  });
  await database.transaction(async (session) => {
    await recordFailedLoads(session, failed);
    await session.all('delete-unrepeated');
  });
  await recordMissingFacts(await database.all('loads-since'), archive, log);
  const highestHere = await highestLoad(database);
  return {
    lastLoadId: Math.max(highest, highestHere),
    events: ingested.events,
    loadsRepeated: repeated,
    losses: [...failed.map(lossOf), ...reportSetAside(ingested, { log, onSetAside })],
    purged,
  };
}

async function highestLoad(database: Database): Promise<number> {
  return database.use(async (session) => {
    const { load_id: above } = await session.first('select coalesce(max(load_id), 0) as load_id from loads');
    const { load_id: highest } = await session.first('highest-load', { above: Number(above) });
    return Number(highest);
  });
}

/** What says in the ledger that a load could not be repeated; no fact of the archive does, so it goes with the cause. */
export const ARCHIVE_DAMAGED = 'archive-damaged';

/** An invoice stays one that was heard of, and says what it needs. Inside the caller's transaction. */
export async function recordFailedLoads(
  statements: Statements,
  failed: readonly FailedLoad[],
): Promise<void> {
  if (failed.length === 0) return;
  const facts = failed.map(
    ({ fact, why }): Fact => ({
      kind: 'attention',
      // The load's own instant: a version that is newer ends the need, and each rebuild answers alike.
      at: fact.at,
      invoiceId: fact.invoiceId,
      code: ARCHIVE_DAMAGED,
      reason: `Load ${fact.loadId} could not be made again: ${why}. Put file ${fact.sha256} back into the archive, then \`billsync rebuild\`.`,
    }),
  );
  await refreshInvoices(statements, await insertFacts(statements, facts));
}

/** A load that could not be repeated, as `rebuild` reports it. */
export function lossOf({ fact, why }: FailedLoad): LostRecord {
  return { invoiceId: fact.invoiceId.toLowerCase(), loadId: fact.loadId, sha256: fact.sha256, why };
}

/** Says what could not be taken in, as far as nobody was told of it before. */
export function reportSetAside(
  { setAside, readAgain }: Pick<Ingested, 'setAside' | 'readAgain'>,
  { log, onSetAside }: { readonly log: Logger; readonly onSetAside?: OnSetAside | undefined },
): readonly LostRecord[] {
  for (const stream of readAgain) {
    log.warn({ stream }, 'the archive is another one than was read last, it is read from the beginning');
  }
  for (const record of setAside)
    log.error(record, 'a record of the archive cannot be taken in; it is set aside');
  if (setAside.length > 0) onSetAside?.(setAside);
  return setAside.map(({ place, why }) => ({
    invoiceId: null,
    loadId: null,
    sha256: null,
    why: `the archive has a record that cannot be taken in: ${place} (${why})`,
  }));
}

/**
 * A crash between a load's commit and its fact: the fact is written now, with the load's own instant.
 *
 * @param recent lines of `loads-since`
 */
export async function recordMissingFacts(
  recent: readonly Row[],
  archive: Archive,
  log: Logger,
): Promise<void> {
  if (recent.length === 0) return;
  const unrecorded = new Map(recent.map((load) => [Number(load.load_id), load]));
  for await (const { fact } of archive.factsAfter(null))
    if (fact.kind === 'load') unrecorded.delete(fact.loadId);
  for (const load of unrecorded.values()) {
    await archive.putFact(loadFact(load));
    log.warn(
      { invoiceId: load.invoice_id, loadId: load.load_id },
      'told the archive of a load that a crash cut short',
    );
  }
}

/** The fact of a load, from its line (`loads-since`). */
export function loadFact(load: Row): LoadFact {
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return {
    kind: 'load',
    at: String(load.loaded_at),
    invoiceId: String(load.invoice_id),
    sha256: String(load.file_sha256),
    source: load.file_source as LoadFact['source'],
    announcedSha256: text(load.announced_sha256),
    ...(typeof load.encoded_sha256 === 'string' ? { encodedSha256: load.encoded_sha256 } : {}),
    ...(load.is_denied === true ? { isDenied: true } : {}),
    ...(load.is_damaged === true ? { isDamaged: true } : {}),
    version: Number(load.version),
    loadId: Number(load.load_id),
    shipments: Number(load.shipments),
    billingCost: String(load.billing_cost),
    eventId: text(load.event_id),
    workflowRunId: text(load.workflow_run_id),
  };
}
