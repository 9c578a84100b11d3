/**
 * A data folder belongs to one environment for ever: test and production refuse each other's. And it has a form, which an
 * older billsync than the one that wrote it refuses.
 */

import { join } from 'node:path';
import { createDurably } from '../lib/files/durable-files.ts';
import { readIfThere } from '../lib/files/files.ts';
import { keepPrivate } from '../lib/files/private-folder.ts';
import { naming } from '../lib/system-errors.ts';
import type { EnvironmentName } from '../lib/wire/names.ts';
import { DataFolderTooNewError, EnvironmentMismatchError } from './errors.ts';

/**
 * Of inbox, archive, keys and what lies beside them; the warehouse has numbered migrations of its own. It rises when an older
 * billsync would read the new form wrongly.
 */
export const DATA_FOLDER_FORM = 1;

/**
 * @throws EnvironmentMismatchError the folder was marked by the other environment; DataFolderTooNewError; FolderError it
 * cannot be ours
 */
export async function claimDataFolder(dataDir: string, environment: EnvironmentName): Promise<void> {
  await keepPrivate(dataDir);
  if ((await checkDataFolderForm(dataDir)) === null)
    await createDurably(join(dataDir, FORM), `${DATA_FOLDER_FORM}\n`).catch(naming(join(dataDir, FORM)));
  const marker = join(dataDir, 'environment');
  const found = (await readMarker(marker)) ?? (await writeMarker(marker, environment));
  if (found !== environment) throw new EnvironmentMismatchError(dataDir, { wanted: environment, found });
}

/** @returns its form; null for a new folder. @throws DataFolderTooNewError */
export async function checkDataFolderForm(dataDir: string): Promise<number | null> {
  const text = await readMarker(join(dataDir, FORM));
  if (text === null) return null;
  const found = Number(text);
  if (found > DATA_FOLDER_FORM) throw new DataFolderTooNewError(dataDir, { found, known: DATA_FOLDER_FORM });
  return found;
}

const FORM = 'form';

async function readMarker(marker: string): Promise<string | null> {
  return (await readIfThere(marker))?.toString().trim() ?? null;
}

async function writeMarker(marker: string, environment: EnvironmentName): Promise<string> {
  const isNew = await createDurably(marker, `${environment}\n`).catch(naming(marker));
  return isNew ? environment : ((await readMarker(marker)) ?? environment);
}
