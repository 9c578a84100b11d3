/**
 * Makes a lake again from the archive alone: the next generation is filled beside the one that counts, then takes its
 * place at one stroke. The one before stays until the next rebuild, in PostgreSQL and as files. One that was killed is gone on with
 * by the next (`draft.ts`).
 *
 * With the settings pointing to another kind of warehouse than before, this is also the way over, in both directions.
 */

import { claimDataFolder } from '../data-folder.ts';
import type { Database } from '../duckdb/database.ts';
import { RebuildLossError } from '../errors.ts';
import { countsOf, type HeldRecord, lackingFrom, readHeldRecords } from '../ledger/archive-diff.ts';
import { findLosses, markPartialRebuild, type PartialCounts, resumePartialRebuild } from '../rebuild.ts';
import type { CompletedRebuild, RebuildOptions, RebuildOutcome } from '../warehouse.ts';
import { generationPath } from './attach-lake.ts';
import { currentGeneration, dropGenerations, moveTo } from './generation.ts';
import { Ledger } from './ledger.ts';
import { removeLeftovers } from './leftovers.ts';
import { enterLake, lakeAddress, openLake, prepareLake, recordMissingFacts } from './open-lake.ts';
import { removeFiles } from './remove-files.ts';

/** @throws warehouse-locked a writer has the lake open, stop it first; RebuildLossError it would hold less */
export async function rebuildLake(options: RebuildOptions): Promise<CompletedRebuild> {
  const { acceptLoss = false } = options;
  const rebuilt = await makeNext(options, async ({ made, movedAside, moveHere, shown }) => {
    if (made.holdsLess && !acceptLoss) throw new RebuildLossError(shown, made);
    await moveHere();
    return { ...made, movedAside };
  });
  const warehouse = await openLake({ ...options, role: 'rebuild' });
  try {
    return { ...rebuilt, publication: await warehouse.publish() };
  } finally {
    await warehouse.close();
  }
}

/** Makes all of it, to say what a rebuild would make and lose; replaces nothing. @throws warehouse-locked */
export function dryRunLakeRebuild(options: RebuildOptions): Promise<RebuildOutcome> {
  return makeNext(options, async ({ made }) => made);
}

interface Next {
  readonly made: RebuildOutcome;
  /** Where the old one lies; null when there was none. */
  readonly movedAside: string | null;
  /** As people know the lake. */
  readonly shown: string;
  readonly moveHere: () => Promise<void>;
}

/** With no writer in the lake until `use` has ended; what did not come to count is gone afterwards. */
async function makeNext<T>(options: RebuildOptions, use: (next: Next) => Promise<T>): Promise<T> {
  const { settings, log, onProgress } = options;
  const now = options.now ?? (() => new Date());
  const { address, dataPath } = lakeAddress(settings);
  await claimDataFolder(settings.dataDir, settings.environment);
  const current = await currentGeneration(address, settings.environment);
  const next = current + 1;
  const counted = new Ledger(address, { generation: current, role: 'rebuild' });
  const made = new Ledger(address, { generation: next, role: 'rebuild', isBeingMade: true });
  let isMoved = false;
  let leave: (() => Promise<void>) | null = null;
  const drop = async (isMeant: (generation: number) => boolean): Promise<void> => {
    for (const generation of await dropGenerations(address, isMeant)) {
      await removeFiles(generationPath({ dataPath, generation }));
    }
  };
  const dropNext = async (): Promise<void> => {
    await drop((generation) => generation > current);
    await removeFiles(generationPath({ dataPath, generation: next }));
  };
  try {
    leave = await enterLake(counted, address.shown, 'alone');
    const done = await leftInNext(made, options);
    if (done === null) await dropNext();
    const before = await readBefore(counted, options);
    const { database, events, loadsRepeated, losses, purged } = await prepareLake({
      options: { ...options, ...(onProgress === undefined ? {} : { onCatchUp: onProgress }) },
      ledger: made,
      place: { address, dataPath, generation: next },
      now,
      isShown: false,
      whenMade: (rows) => (done === null ? markPartialRebuild(options, made) : removeUncommitted(rows, made)),
    });
    database.close();
    try {
      await made.all('finish-partial-rebuild');
      const { invoices, shipments } = await made.first('count-made');
      const there = {
        events: events + (done?.events ?? 0),
        loads: loadsRepeated + (done?.loads ?? 0),
        invoices: Number(invoices),
        shipments: Number(shipments),
      };
      return await use({
        made: {
          ...there,
          ...findLosses(losses, {
            lacking: lackingFrom(countsOf(await readHeldRecords(made)), before ?? []),
            purged,
          }),
          ...(purged.length === 0 ? {} : { purgedLoads: purged.length }),
          ...(done === null ? {} : { loadsBefore: done.loads }),
        },
        movedAside: await continueSequence({ counted, made, now, log }),
        shown: address.shown,
        moveHere: async () => {
          await moveTo(address, next);
          isMoved = true;
          // The one before stays until the next rebuild.
          await drop((generation) => generation < current);
        },
      });
    } finally {
      if (!isMoved) await dropNext();
    }
  } finally {
    await leave?.();
    await counted.close();
    await made.close();
  }
}

/** What an interrupted rebuild had made of the next generation; null: nothing that may go on. */
async function leftInNext(made: Ledger, options: RebuildOptions): Promise<PartialCounts | null> {
  try {
    return await resumePartialRebuild(options, made);
  } catch (error) {
    if (!isMissingTable(error)) throw error;
    return null;
  }
}

/** Rows whose load did not come to count go, since it is repeated under the same id. */
async function removeUncommitted(rows: Database, made: Ledger): Promise<void> {
  await removeLeftovers(rows, made);
  await made.all('mark-all-recorded');
}

/** null when there is none yet. A generation that cannot be read is none either: to make it again is what this is for. */
async function readBefore(
  counted: Ledger,
  { archive, log }: RebuildOptions,
): Promise<readonly HeldRecord[] | null> {
  try {
    const heldRecords = await readHeldRecords(counted);
    // As opening does: what a crash kept from the archive is in the warehouse alone.
    await recordMissingFacts(counted, archive, log);
    return heldRecords;
  } catch (error) {
    if (!isMissingTable(error)) throw error;
    return null;
  }
}

/**
 * Readers count publications; a rebuilt warehouse goes on where the old one stopped.
 *
 * @returns where the old one lies; null when there was none
 */
async function continueSequence({
  counted,
  made,
  now,
  log,
}: {
  readonly counted: Ledger;
  readonly made: Ledger;
  readonly now: () => Date;
  readonly log: RebuildOptions['log'];
}): Promise<string | null> {
  try {
    const { sequence } = await counted.first('last-sequence');
    if (Number(sequence) > 0) {
      await made.all('seed-publication', {
        sequence: Number(sequence),
        published_at: now().toISOString(),
      });
    }
    return `generation ${counted.generation} of the catalogue`;
  } catch (error) {
    if (!isMissingTable(error))
      log.warn({ err: error }, 'the old ledgers cannot be read, publications are counted from 1 again');
    return null;
  }
}

/** PostgreSQL's code for a table that is not there: the first generation was never filled. */
function isMissingTable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42P01';
}
