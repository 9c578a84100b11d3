/** A data folder belongs to one environment for ever: test and production refuse each other's. */

import { join } from 'node:path';
import { naming } from '../config/system-error.js';
import type { EnvironmentName } from '../contract/names.js';
import { createDurably } from '../ops/durable-files.js';
import { keepPrivate } from '../ops/private-folder.js';
import { readIfThere } from '../ops/replace-file.js';
import { EnvironmentMismatchError } from './errors.js';

/** @throws EnvironmentMismatchError the folder was marked by the other environment; FolderError it cannot be ours */
export async function claimDataFolder(dataDir: string, environment: EnvironmentName): Promise<void> {
  await keepPrivate(dataDir);
  const marker = join(dataDir, 'environment');
  const found = (await readMarker(marker)) ?? (await writeMarker(marker, environment));
  if (found !== environment) throw new EnvironmentMismatchError(dataDir, { wanted: environment, found });
}

async function readMarker(marker: string): Promise<string | null> {
  return (await readIfThere(marker))?.toString().trim() ?? null;
}

async function writeMarker(marker: string, environment: EnvironmentName): Promise<string> {
  const isNew = await createDurably(marker, `${environment}\n`).catch(naming(marker));
  return isNew ? environment : ((await readMarker(marker)) ?? environment);
}
