/**
 * Makes a lake again from the archive alone: the next generation is filled beside the one that counts, then takes its
 * place at one stroke. The one before stays until the next rebuild, in PostgreSQL and as files.
 *
 * With the settings pointing to another kind of warehouse than before, this is also the way over, in both directions.
 */

import { claimDataFolder } from '../data-folder.js';
import { WarehouseLockedError } from '../errors.js';
import type { RebuildOptions, Rebuilt } from '../rebuild.js';
import { generationPath } from './attach-lake.js';
import { currentGeneration, dropGenerations, moveTo } from './generation.js';
import { Ledger } from './ledger.js';
import { lakeAddress, openLake, prepareLake } from './open-lake.js';
import { removeFiles } from './remove-files.js';

/** @throws WarehouseLockedError a writer has the lake open; stop it first */
export async function rebuildLake(options: RebuildOptions): Promise<Rebuilt> {
  const { settings, log, onProgress } = options;
  const now = options.now ?? (() => new Date());
  const { address, dataPath } = lakeAddress(settings);
  await claimDataFolder(settings.dataDir, settings.environment);
  const current = await currentGeneration(address, settings.environment);
  const next = current + 1;
  const counted = new Ledger(address, { generation: current, role: 'rebuild' });
  const made = new Ledger(address, { generation: next, role: 'rebuild', isBeingMade: true });
  let rebuilt: Omit<Rebuilt, 'publication'>;
  let leave: (() => Promise<void>) | null = null;
  try {
    leave = await counted.presence('alone');
    if (leave === null) {
      throw new WarehouseLockedError(address.shown, null, (await counted.others()) || undefined);
    }
    const dropped = await dropGenerations(address, (generation) => generation !== current);
    for (const generation of [...dropped, next]) {
      await removeFiles(generationPath({ dataPath, generation }));
    }
    const { database, events, loadsRepeated } = await prepareLake({
      options: { ...options, ...(onProgress === undefined ? {} : { onCatchUp: onProgress }) },
      ledger: made,
      place: { address, dataPath, generation: next },
      now,
      isShown: false,
    });
    database.close();
    rebuilt = {
      events,
      loads: loadsRepeated,
      movedAside: await continueSequence({ counted, made, now, log }),
    };
    await moveTo(address, next);
  } finally {
    await leave?.();
    await counted.close();
    await made.close();
  }
  const warehouse = await openLake({ ...options, role: 'rebuild' });
  try {
    return { ...rebuilt, publication: await warehouse.publish() };
  } finally {
    await warehouse.close();
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
