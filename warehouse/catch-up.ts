/** What opening does before anybody may write: read on in the archive, repeat loads it tells of, tell it of loads it lacks. */

import type { Archive } from '../archive/archive.js';
import type { Logger } from '../ops/log.js';
import type { Database } from './database.js';
import type { FileLoad } from './file-load.js';
import { ingest, type LoadFact } from './ingest.js';
import { loadFile } from './load-file.js';
import type { Row } from './statements.js';
import type { FileLoadOutcome } from './warehouse.js';

export interface CatchUpProgress {
  readonly events: number;
  readonly facts: number;
  readonly loadsDone: number;
  readonly loadsOf: number;
}

export interface CaughtUp {
  /** The highest load id that was ever given. */
  readonly lastLoadId: number;
  readonly events: number;
  readonly loadsRepeated: number;
}

export interface CatchUpOptions {
  readonly database: Database;
  readonly archive: Archive;
  readonly log: Logger;
  readonly onProgress?: (progress: CatchUpProgress) => void;
}

/** Loads repeated at once; more connections gain nothing. */
const AT_ONCE = 3;

export async function catchUp({ database, archive, log, onProgress }: CatchUpOptions): Promise<CaughtUp> {
  const progress = { events: 0, facts: 0, loadsDone: 0, loadsOf: 0 };
  const ingested = await ingest({
    database,
    archive,
    lock: (_invoiceIds, work) => work(),
    onProgress: ({ events, facts }) => onProgress?.({ ...progress, events, facts }),
  });
  Object.assign(progress, { events: ingested.events, facts: ingested.facts });

  const load = (file: FileLoad): Promise<FileLoadOutcome> => loadFile(database, file);
  await repeatLoads({ load, archive, log }, ingested.missingLoads, (loadsDone) =>
    onProgress?.({ ...progress, loadsDone, loadsOf: ingested.missingLoads.length }),
  );
  await tellArchive(database, archive, log);
  const { load_id: highest } = await database.use((session) => session.first('highest-load'));
  const told = ingested.missingLoads.map((fact) => fact.loadId);
  return {
    lastLoadId: told.reduce((highestTold, loadId) => Math.max(highestTold, loadId), Number(highest)),
    events: ingested.events,
    loadsRepeated: told.length,
  };
}

export interface RepeatContext {
  readonly load: (file: FileLoad) => Promise<FileLoadOutcome>;
  readonly archive: Archive;
  readonly log: Logger;
}

/** Invoices side by side, the versions of one in their order; rows in rising load_id where it costs nothing. */
export async function repeatLoads(
  context: RepeatContext,
  facts: readonly LoadFact[],
  onDone: (done: number) => void,
): Promise<void> {
  if (facts.length === 0) return;
  context.log.info({ loads: facts.length }, 'loading again what the archive tells of');
  // A fact may be told twice (a crash between telling and noting that it was told).
  const byId = new Map(facts.map((fact) => [fact.loadId, fact]));
  const queue = [...byId.values()].sort((a, b) => a.loadId - b.loadId);
  const running = new Map<string, Promise<void>>();
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let fact = queue.shift(); fact !== undefined; fact = queue.shift()) {
      const { invoiceId } = fact;
      const before = running.get(invoiceId) ?? Promise.resolve();
      const mine = before.then(() => repeatLoad(context, fact));
      running.set(invoiceId, mine);
      await mine;
      done += 1;
      onDone(done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** What cannot be repeated is said and left out; verify reports it as drift until the file is back. */
async function repeatLoad({ load, archive, log }: RepeatContext, fact: LoadFact): Promise<void> {
  const file = await archive.file(fact.sha256);
  if (file === null) {
    log.error({ invoiceId: fact.invoiceId, sha256: fact.sha256 }, 'the archive lacks a file that was loaded');
    return;
  }
  const csvPath = (await archive.reread(fact.sha256))?.path ?? null;
  if (csvPath === null) {
    log.error(
      { invoiceId: fact.invoiceId, sha256: fact.sha256 },
      'a file of the archive is damaged, its load is left out',
    );
    return;
  }
  const outcome = await load({
    invoiceId: fact.invoiceId.toLowerCase(),
    file,
    csvPath,
    source: fact.source,
    announcedSha256: fact.announcedSha256,
    eventId: fact.eventId ?? null,
    workflowRunId: fact.workflowRunId ?? null,
    loadId: fact.loadId,
    version: fact.version,
    loadedAt: fact.at,
    isRepeated: true,
  });
  if (outcome.outcome !== 'loaded') {
    log.error({ invoiceId: fact.invoiceId, sha256: fact.sha256, outcome }, 'a load could not be repeated');
  }
}

/** A crash between a load's commit and its fact: the fact is written now, with the load's own instant. */
async function tellArchive(database: Database, archive: Archive, log: Logger): Promise<void> {
  const recent = await database.all('loads-since');
  if (recent.length === 0) return;
  const told = new Set<number>();
  for await (const fact of archive.facts()) if (fact.kind === 'load') told.add(fact.loadId);
  for (const load of recent) {
    if (told.has(Number(load.load_id))) continue;
    await archive.putFact(loadFact(load));
    log.warn(
      { invoiceId: load.invoice_id, loadId: load.load_id },
      'told the archive of a load that a crash cut short',
    );
  }
}

/** The fact of a load, from its line (`loads-since.sql`). */
export function loadFact(load: Row): LoadFact {
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return {
    kind: 'load',
    at: String(load.loaded_at),
    invoiceId: String(load.invoice_id),
    sha256: String(load.file_sha256),
    source: load.file_source as LoadFact['source'],
    announcedSha256: text(load.announced_sha256),
    version: Number(load.version),
    loadId: Number(load.load_id),
    shipments: Number(load.shipments),
    billingCost: String(load.billing_cost),
    eventId: text(load.event_id),
    workflowRunId: text(load.workflow_run_id),
  };
}
