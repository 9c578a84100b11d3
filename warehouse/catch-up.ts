/** Brings a warehouse up to the state of the archive before it is used. A rebuild is the same with an empty warehouse. */

import type { Archive, Fact } from '../archive/archive.ts';
import { purgedFilesOf } from '../archive/retention.ts';
import type { Logger } from '../lib/log/log.ts';
import { createSemaphore, forEachBounded } from '../lib/semaphore.ts';
import { uuidOrNull } from '../lib/text.ts';
import type { LoadOutcome } from '../lib/warehouse-requests.ts';
import { CSV_TOLERANCES } from '../lib/wire/csv-file.ts';
import type { Database } from './duckdb/database.ts';
import { KeyedMutex } from './duckdb/locks.ts';
import type { Ledgers, Row, Statements } from './duckdb/statements.ts';
import { isWarehouseError } from './errors.ts';
import { contentOf } from './ledger/archive-diff.ts';
import type { OnInvoices, OnSetAside } from './ledger/ingest.ts';
import {
  findUnrepeated,
  type Ingested,
  ingest,
  insertFacts,
  isRecordError,
  type LoadFact,
} from './ledger/ingest.ts';
import { refreshInvoices } from './ledger/invoice-states.ts';
import { ONE_FILE } from './load/load-files.ts';
import { BatchingLoader } from './load/load-queue.ts';
import type { FileLoad, LoadTransactions } from './load/rejections.ts';

export type OnProgress = (loadsDone: number, loadsOf: number) => void;

export interface LostRecord {
  readonly invoiceId: string | null;
  readonly loadId: number | null;
  readonly sha256: string | null;
  readonly why: string;
}

export interface CaughtUp {
  readonly events: number;
  readonly loadsRepeated: number;
  readonly losses: readonly LostRecord[];
  /** The loads that are left out because their file was purged, which is no failure. */
  readonly purged: readonly LoadFact[];
  /** The highest id of the loads that were missing; 0 when none was. */
  readonly highest: number;
}

interface CatchUpOptions {
  readonly database: Database;
  readonly archive: Archive;
  readonly log: Logger;
  readonly onSetAside?: OnSetAside | undefined;
  readonly onProgress?: OnProgress | undefined;
}

interface Stores extends CatchUpOptions {
  readonly ledgers: Ledgers;
  readonly ingest: () => Promise<Ingested>;
  readonly transactionsOf: (loads: readonly FileLoad[]) => LoadTransactions;
  readonly onInvoices: OnInvoices;
  readonly nextLoadId: (above: number) => Promise<number>;
  readonly onRepeated?: (fact: LoadFact) => Promise<void>;
}

export async function catchUp(stores: Stores): Promise<CaughtUp> {
  const ingested = await stores.ingest();
  const { failed, ...repeated } = await repeatUnrepeated(stores);
  await stores.onInvoices(
    failed.flatMap(({ fact }) => uuidOrNull(fact.invoiceId) ?? []),
    async (statements) => {
      await recordFailedLoads(statements, failed);
      await statements.all('delete-unrepeated');
    },
  );
  return {
    events: ingested.events,
    ...repeated,
    losses: [...failed.map(lossOf), ...reportSetAside(ingested, stores)],
  };
}

export async function catchUpFile(
  options: CatchUpOptions & { readonly now: Date },
): Promise<CaughtUp & { readonly lastLoadId: number }> {
  const { database, archive, log, now } = options;
  const onInvoices: OnInvoices = (_invoiceIds, work) => database.transaction(work);
  let lastLoadId = 0;
  const caughtUp = await catchUp({
    ...{ ...options, ledgers: database, onInvoices },
    ingest: () => ingest({ database, archive, now, onInvoices }),
    transactionsOf: () => ONE_FILE,
    async nextLoadId(above) {
      lastLoadId = Math.max(lastLoadId, above, await highestLoad(database)) + 1;
      return lastLoadId;
    },
  });
  await recordMissingFacts(await database.all('loads-since'), archive, log);
  return { ...caughtUp, lastLoadId: Math.max(caughtUp.highest, await highestLoad(database)) };
}

async function highestLoad(database: Database): Promise<number> {
  return database.use(async (session) => {
    const { load_id: above } = await session.first('select coalesce(max(load_id), 0) as load_id from loads');
    const { load_id: highest } = await session.first('highest-load', { above: Number(above) });
    return Number(highest);
  });
}

/** No fact of the archive has this code, so the entry disappears with its cause. */
const ARCHIVE_DAMAGED = 'archive-damaged';

async function recordFailedLoads(statements: Statements, failed: readonly FailedLoad[]): Promise<void> {
  if (failed.length === 0) return;
  const facts = failed.map(
    ({ fact, why }): Fact => ({
      kind: 'attention',
      // The attention counts from the load's time, so that a newer version resolves it and every rebuild has the same result.
      at: fact.at,
      afterVersion: fact.version,
      invoiceId: fact.invoiceId,
      code: ARCHIVE_DAMAGED,
      reason: `Load ${fact.loadId} could not be made again: ${why}. Put file ${fact.sha256} back into the archive, then \`billsync rebuild\`.`,
    }),
  );
  await refreshInvoices(statements, await insertFacts(statements, facts));
}

function lossOf({ fact, why }: FailedLoad): LostRecord {
  return { invoiceId: fact.invoiceId.toLowerCase(), loadId: fact.loadId, sha256: fact.sha256, why };
}

export function reportSetAside(
  { setAside, readAgain }: Pick<Ingested, 'setAside' | 'readAgain'>,
  { log, onSetAside }: { readonly log: Logger; readonly onSetAside?: OnSetAside | undefined },
): readonly LostRecord[] {
  for (const stream of readAgain) {
    log.warn(
      { stream },
      'the archive differs from the one that was read last; reading it from the beginning',
    );
  }
  for (const record of setAside)
    log.error(record, 'a record of the archive cannot be ingested; it is set aside');
  if (setAside.length > 0) onSetAside?.(setAside);
  return setAside.map(({ place, why }) => ({
    invoiceId: null,
    loadId: null,
    sha256: null,
    why: `the archive has a record that cannot be ingested: ${place} (${why})`,
  }));
}

/** Archives the load facts that a crash prevented. @param recent rows of `loads-since` or `unrecorded-loads` */
export async function recordMissingFacts(
  recent: readonly Row[],
  archive: Archive,
  log: Logger,
): Promise<void> {
  if (recent.length === 0) return;
  const unrecorded = new Map(recent.map(loadFact).map((load) => [contentOf(load), load]));
  for await (const { fact } of archive.factsAfter(null))
    if (fact.kind === 'load') unrecorded.delete(contentOf(fact));
  for (const load of unrecorded.values()) {
    await archive.putFact(load);
    log.warn(
      { invoiceId: load.invoiceId, loadId: load.loadId },
      'recorded a load in the archive whose fact was missing after a crash',
    );
  }
}

function loadFact(load: Row): LoadFact {
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

interface FailedLoad {
  readonly fact: LoadFact;
  readonly why: string;
}

const FILES_AT_ONCE = 200;
const READS_AT_ONCE = 16;
/** A large file uses all threads for itself. */
const LARGE_FILES_AT_ONCE = 3;
const LARGE_FROM_ROWS = 20_000;

/** After a crash the next call finds the loads that are still missing. */
async function repeatUnrepeated(
  stores: Stores,
): Promise<
  Pick<CaughtUp, 'loadsRepeated' | 'purged' | 'highest'> & { readonly failed: readonly FailedLoad[] }
> {
  const { database, transactionsOf, archive, log, ledgers, onProgress, onRepeated } = stores;
  const missing = await withFreeIds(await findUnrepeated(ledgers, archive), stores);
  if (missing.length > 0) log.info({ loads: missing.length }, 'repeating the loads that the archive records');
  const failed: FailedLoad[] = [];
  const purged: LoadFact[] = [];
  const purgedFiles = purgedFilesOf(archive);
  const loader = new BatchingLoader<FileLoad>({
    ...{ database, transactionsOf },
    numbered: (load) => load,
    inTurn: (work) => work(),
  });
  const invoices = new KeyedMutex();
  const [readInTurn, largeInTurn] = [createSemaphore(READS_AT_ONCE), createSemaphore(LARGE_FILES_AT_ONCE)];
  const repeatOne = async (fact: LoadFact): Promise<void> => {
    const found = await readInTurn(() => reasonOfFailure(() => findFile(archive, fact, purgedFiles)));
    if (found === null) {
      purged.push(fact);
      return;
    }
    const why =
      typeof found === 'string' ? found : await reasonOfFailure(() => repeatLoad(fact, found, loader));
    if (why === null) return onRepeated?.(fact);
    failed.push({ fact, why });
    const { invoiceId, loadId, sha256 } = fact;
    log.error({ invoiceId, loadId, sha256 }, `a load could not be repeated: ${why}`);
  };
  let done = 0;
  await forEachBounded(missing, FILES_AT_ONCE, async (fact) => {
    const isLarge = (fact.shipments ?? 0) > LARGE_FROM_ROWS;
    await invoices.run(fact.invoiceId.toLowerCase(), () =>
      isLarge ? largeInTurn(() => repeatOne(fact)) : repeatOne(fact),
    );
    done += 1;
    onProgress?.(done, missing.length);
  });
  failed.sort((a, b) => a.fact.loadId - b.fact.loadId);
  const loadsRepeated = missing.length - failed.length - purged.length;
  return { loadsRepeated, failed, purged, highest: highestOf(missing) };
}

function highestOf(loads: readonly LoadFact[]): number {
  return loads.reduce((highest, { loadId }) => Math.max(highest, loadId), 0);
}

/** Gives a load another id where one has it already, because a PostgreSQL that lost commits gives numbers again. */
async function withFreeIds(
  missing: readonly LoadFact[],
  { ledgers, nextLoadId }: Stores,
): Promise<readonly LoadFact[]> {
  if (missing.length === 0) return [];
  const above = highestOf(missing);
  const load_ids = missing.map(({ loadId }) => loadId).join(',');
  const taken = new Set(
    (await ledgers.all('owned-loads', { load_ids })).map(({ load_id }) => Number(load_id)),
  );
  const found: LoadFact[] = [];
  for (const fact of missing) {
    const loadId = taken.has(fact.loadId) ? await nextLoadId(above) : fact.loadId;
    taken.add(loadId);
    found.push({ ...fact, loadId });
  }
  return found;
}

/** Returns the first line of an error that concerns only this load. @throws any other error */
async function reasonOfFailure<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    if (!isWarehouseError(error, 'file-not-archived', 'misread') && !isRecordError(error)) throw error;
    return error.message.split('\n', 1)[0] ?? '';
  }
}

/** @returns the file, or the reason why it cannot be read; null when it was purged */
async function findFile(
  archive: Archive,
  { sha256 }: LoadFact,
  purgedFiles: () => Promise<ReadonlySet<string>>,
): Promise<Pick<FileLoad, 'file' | 'csvPath'> | string | null> {
  const file = await archive.file(sha256);
  if (file === null) return (await purgedFiles()).has(sha256) ? null : 'the archive lacks its file';
  const csvPath = (await archive.reread(sha256))?.path ?? null;
  return csvPath === null ? 'its file in the archive is damaged' : { file, csvPath };
}

/** @returns null when the load was repeated; otherwise the reason why it is left out, which `verify` reports as drift */
async function repeatLoad(
  fact: LoadFact,
  found: Pick<FileLoad, 'file' | 'csvPath'>,
  loader: BatchingLoader<FileLoad>,
): Promise<string | null> {
  const load: FileLoad = {
    ...found,
    invoiceId: fact.invoiceId.toLowerCase(),
    source: fact.source,
    announcedSha256: fact.announcedSha256,
    encodedSha256: fact.encodedSha256 ?? null,
    isDenied: fact.isDenied === true,
    isDamaged: fact.isDamaged === true,
    eventId: fact.eventId ?? null,
    workflowRunId: fact.workflowRunId ?? null,
    loadId: fact.loadId,
    version: fact.version,
    loadedAt: fact.at,
    isRepeated: true,
    // The file itself decides which tolerances apply, whatever the setting is now.
    tolerances: CSV_TOLERANCES,
  };
  const outcome = await loader.load(load).catch((error: unknown): LoadOutcome | null => {
    if (!isWarehouseError(error, 'loaded-meanwhile')) throw error;
    return null;
  });
  if (outcome === null) return null;
  if (outcome.outcome === 'loaded') return null;
  const [finding] = outcome.outcome === 'rejected' ? outcome.findings : [];
  return `its file in the archive is ${outcome.outcome}${finding === undefined ? '' : ` (${finding.rule})`}`;
}
