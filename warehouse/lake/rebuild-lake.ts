/**
 * Fills the next generation beside the current one and then switches; the previous one stays until the next rebuild. Also the
 * way to move between kinds of warehouse.
 */

import { rm } from 'node:fs/promises';
import { claimDataFolder } from '../data-folder.ts';
import { readStoredRecords, type StoredRecord } from '../ledger/archive-diff.ts';
import type { CompletedRebuild, RebuildOptions, RebuildOutcome } from '../rebuild.ts';
import { outcomeOf, RebuildLossError } from '../rebuild.ts';
import { generationPath } from './attach-lake.ts';
import { currentGeneration, dropGenerations, moveTo } from './generation.ts';
import { Ledger } from './ledger.ts';
import { enterLake, lakeAddress, openLake, prepareLake, recordUnrecorded } from './open-lake.ts';

/** @throws warehouse-locked a writer has the lake open; RebuildLossError the new lake would hold less */
export async function rebuildLake(options: RebuildOptions): Promise<CompletedRebuild> {
  const { acceptLoss = false } = options;
  const rebuilt = await makeNext(options, async ({ made, movedAside, moveHere, printable }) => {
    if (made.holdsLess && !acceptLoss) throw new RebuildLossError(printable, made);
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

export function dryRunLakeRebuild(options: RebuildOptions): Promise<RebuildOutcome> {
  return makeNext(options, async ({ made }) => made);
}

interface Next {
  readonly made: RebuildOutcome;
  readonly movedAside: string | null;
  readonly printable: string;
  readonly moveHere: () => Promise<void>;
}

/** Keeps writers out until `use` has ended. A new generation that `use` did not move to is removed. */
async function makeNext<T>(options: RebuildOptions, use: (next: Next) => Promise<T>): Promise<T> {
  const { settings, log } = options;
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
    leave = await enterLake(counted, address.printable, 'alone');
    await dropNext();
    const before = await readBefore(counted, options);
    const { database, ...caughtUp } = await prepareLake({
      options,
      ledger: made,
      place: { address, dataPath, generation: next },
      now,
      isPublished: false,
    });
    database.close();
    try {
      return await use({
        made: await outcomeOf(made, caughtUp, before),
        movedAside: await continueSequence(counted, made, { now, log }),
        printable: address.printable,
        moveHere: async () => {
          await moveTo(address, next);
          isMoved = true;
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

/** @returns no records when there is no readable generation, because replacing it is the purpose of a rebuild */
async function readBefore(
  counted: Ledger,
  { archive, log }: RebuildOptions,
): Promise<readonly StoredRecord[]> {
  try {
    const storedRecords = await readStoredRecords(counted);
    // Facts that a crash has left out are only in the warehouse, so they are archived first.
    await recordUnrecorded(counted, archive, log);
    return storedRecords;
  } catch (error) {
    if (!isMissingTable(error)) throw error;
    return [];
  }
}

/** Continues the numbers of publications. @returns the place of the old warehouse; null when there was none */
async function continueSequence(
  counted: Ledger,
  made: Ledger,
  { now, log }: Pick<RebuildOptions, 'log'> & { readonly now: () => Date },
): Promise<string | null> {
  try {
    const { sequence } = await counted.first('last-sequence');
    const { loads } = await counted.first('count-loads');
    // The first process that opens a lake creates generation 1. Without publications and loads it is empty, so there is no old
    // warehouse to report.
    if (Number(sequence) + Number(loads) === 0) return null;
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

/** PostgreSQL's code for a missing table: the first generation was never filled. */
function isMissingTable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42P01';
}

export async function removeFiles(path: string): Promise<void> {
  if (path.startsWith('s3://')) await removeObjects(new URL(path));
  else await rm(path, { recursive: true, force: true });
}

/** One listing has, and one deletion takes, up to a thousand keys. */
async function removeObjects({ hostname: Bucket, pathname }: URL): Promise<void> {
  const [{ DeleteObjectsCommand, ListObjectsV2Command }, { openS3Client }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('../../archive/s3/bucket.ts'),
  ]);
  const client = openS3Client();
  try {
    for (;;) {
      const { Contents = [] } = await client.send(
        new ListObjectsV2Command({ Bucket, Prefix: pathname.replace(/^\/+/, '') }),
      );
      const Objects = Contents.flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]));
      if (Objects.length === 0) return;
      const { Errors = [] } = await client.send(
        new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
      );
      if (Errors.length > 0) throw new Error(`S3 did not remove ${Errors[0]?.Key}: ${Errors[0]?.Message}`);
    }
  } finally {
    client.destroy();
  }
}
