/** What opening does before anybody may write: read on in the archive, repeat loads it tells of, tell it of loads it lacks. */

import type { Archive, Fact } from '../archive/archive.ts';
import { purgedFilesOf } from '../archive/retention.ts';
import type { Logger } from '../lib/log/log.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import { CSV_TOLERANCES } from '../lib/wire/csv-file.ts';
import type { Database } from './duckdb/database.ts';
import { KeyedMutex } from './duckdb/locks.ts';
import type { Ledgers, Row, Statements } from './duckdb/statements.ts';
import { isWarehouseError } from './errors.ts';
import {
  findUnrepeated,
  type Ingested,
  ingest,
  insertFacts,
  isRecordError,
  type LoadFact,
} from './ledger/ingest.ts';
import { refreshInvoices } from './ledger/invoice-states.ts';
import type { FileLoad } from './load/file-load.ts';
import { BatchingLoader, type LoadWays, loadBatch, loadFile } from './load/load-files.ts';
import { inWaves } from './load/waves.ts';
import type { CatchUpProgress, LoadOutcome, LostRecord, OnSetAside } from './warehouse.ts';

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

/* Loads again what the archive tells of: an opening does so with what is missing, a rebuild with everything. */

export interface RepeatContext {
  readonly ways: LoadWays<FileLoad>;
  readonly archive: Archive;
  readonly log: Logger;
}

/** A load that could not be repeated. */
export interface FailedLoad {
  readonly fact: LoadFact;
  readonly why: string;
}

export interface Repeated {
  readonly repeated: number;
  readonly failed: readonly FailedLoad[];
  /** Those whose file was purged: nothing is wrong with them, and nobody can mend it. */
  readonly purged: readonly LoadFact[];
  /** The highest load id that the archive tells of, of those that were missing; 0: none was. */
  readonly highest: number;
}

/** Files read and hashed at once. */
const READ_AT_ONCE = 16;
/** Large files loaded at once; more connections gain nothing. */
const ALONE_AT_ONCE = 3;

/**
 * All that is missing, slice by slice, in the order in which the archive tells of it. One that died before the end is made
 * good by the next, which finds what is still missing.
 *
 * @param options.onSlice when a slice is there again, but for what failed of it
 */
export async function repeatUnrepeated(
  context: RepeatContext & { readonly ledgers: Ledgers },
  options: {
    readonly onDone?: (done: number, of: number) => void;
    readonly onSlice?: (slice: readonly LoadFact[]) => Promise<void>;
  },
): Promise<Repeated> {
  const { ledgers, archive } = context;
  let of = 0;
  for await (const slice of findUnrepeated(ledgers, archive)) of += slice.length;
  const failed: FailedLoad[] = [];
  const purged: LoadFact[] = [];
  let [done, repeated, highest] = [0, 0, 0];
  if (of === 0) return { repeated, failed, purged, highest };
  context.log.info({ loads: of }, 'loading again what the archive tells of');
  for await (const slice of findUnrepeated(ledgers, archive)) {
    const part = await repeatLoads(context, slice, (ofSlice) => options.onDone?.(done + ofSlice, of));
    await options.onSlice?.(slice);
    done += slice.length;
    repeated += part.repeated;
    failed.push(...part.failed);
    purged.push(...part.purged);
    highest = slice.reduce((most, { loadId }) => Math.max(most, loadId), highest);
  }
  return { repeated, failed, purged, highest };
}

/** Small files together, the versions of one invoice in their order; rows in rising load_id where it costs nothing. */
async function repeatLoads(
  { ways, archive, log }: RepeatContext,
  facts: readonly LoadFact[],
  onDone: (done: number) => void,
): Promise<Omit<Repeated, 'highest'>> {
  // A fact may be told twice (a crash between telling and noting that it was told).
  const byId = new Map(facts.map((fact) => [fact.loadId, fact]));
  const failed: FailedLoad[] = [];
  const purged: LoadFact[] = [];
  const purgedFiles = purgedFilesOf(archive);
  const queue = [...byId.values()].sort((a, b) => a.loadId - b.loadId);
  const invoices = new KeyedMutex();
  const [readInTurn, aloneInTurn] = [createSemaphore(READ_AT_ONCE), createSemaphore(ALONE_AT_ONCE)];
  const loader = new BatchingLoader<FileLoad>({
    ...ways,
    alone: (load) => aloneInTurn(() => ways.alone(load)),
  });
  const fail = (fact: LoadFact, why: string): void => {
    failed.push({ fact, why });
    const { invoiceId, loadId, sha256 } = fact;
    log.error({ invoiceId, loadId, sha256 }, `a load could not be repeated: ${why}`);
  };
  let done = 0;
  await inWaves(queue, {
    sizeOf: ({ shipments = 0 }) => shipments * BYTES_A_ROW,
    prepare: (fact) => readInTurn(() => whyNot(() => readAgain(archive, fact, purgedFiles))),
    async finish(fact, found) {
      const load = (file: FileLoad): Promise<LoadOutcome> => loader.load(file);
      const why =
        found === null || typeof found === 'string'
          ? found
          : await invoices.run(fact.invoiceId.toLowerCase(), () =>
              whyNot(() => repeatLoad(fact, found, load)),
            );
      if (found === null) purged.push(fact);
      else if (why !== null) fail(fact, why);
      done += 1;
      onDone(done);
    },
  });
  failed.sort((a, b) => a.fact.loadId - b.fact.loadId);
  return { repeated: byId.size - failed.length - purged.length, failed, purged };
}

/** About what a row of a CSV takes. */
const BYTES_A_ROW = 150;

/** What went wrong with this one load, in a line. @throws what keeps every other from being repeated as well */
async function whyNot<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    if (!isOfLoad(error)) throw error;
    return firstLine(error.message);
  }
}

/** What is wrong with this one load, as opposed to what keeps every other from being repeated as well. */
function isOfLoad(error: unknown): error is Error {
  return (
    isWarehouseError(error, 'file-not-archived') || isWarehouseError(error, 'misread') || isRecordError(error)
  );
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** The file's description and where it lies, or why it cannot be had; null: it was purged. */
async function readAgain(
  archive: Archive,
  { sha256 }: LoadFact,
  purgedFiles: () => Promise<ReadonlySet<string>>,
): Promise<Pick<FileLoad, 'file' | 'csvPath'> | string | null> {
  const file = await archive.file(sha256);
  if (file === null) return (await purgedFiles()).has(sha256) ? null : 'the archive lacks its file';
  const csvPath = (await archive.reread(sha256))?.path ?? null;
  return csvPath === null ? 'its file in the archive is damaged' : { file, csvPath };
}

/** null when it is there again, else why it is not: it is left out, and verify reports it as drift. */
async function repeatLoad(
  fact: LoadFact,
  found: Pick<FileLoad, 'file' | 'csvPath'>,
  load: (file: FileLoad) => Promise<LoadOutcome>,
): Promise<string | null> {
  const outcome = await load({
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
    // The file says which of them it needs, whatever the setting has become.
    tolerances: CSV_TOLERANCES,
  });
  if (outcome.outcome === 'loaded') return null;
  const [finding] = outcome.outcome === 'rejected' ? outcome.findings : [];
  return `its file in the archive is ${outcome.outcome}${finding === undefined ? '' : ` (${finding.rule})`}`;
}
