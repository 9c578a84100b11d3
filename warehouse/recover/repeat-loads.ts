/** Loads again what the archive tells of: an opening does so with what is missing, a rebuild with everything. */

import type { Archive } from '../../archive/archive.ts';
import { purgedFilesOf } from '../../archive/retention.ts';
import type { Logger } from '../../lib/log/log.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { CSV_TOLERANCES } from '../../lib/wire/csv-file.ts';
import { KeyedMutex } from '../duckdb/read-write-lock.ts';
import type { Ledgers } from '../duckdb/statements.ts';
import { FileNotArchivedError, MisreadError } from '../errors.ts';
import { findUnrepeated, type LoadFact } from '../ledger/ingest.ts';
import { isRecordError } from '../ledger/set-aside.ts';
import type { FileLoad } from '../load/file-load.ts';
import { BatchingLoader, type LoadWays } from '../load/load-batch.ts';
import { inWaves } from '../load/waves.ts';
import type { LoadOutcome } from '../warehouse.ts';

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
  return error instanceof FileNotArchivedError || error instanceof MisreadError || isRecordError(error);
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
