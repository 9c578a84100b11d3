/** A data folder belongs to one environment for ever: test and production refuse each other's. */

import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { naming } from '../config/system-error.js';
import type { EnvironmentName } from '../contract/names.js';
import { keepPrivate } from '../ops/private-folder.js';
import { EnvironmentMismatchError } from './errors.js';

/** @throws EnvironmentMismatchError the folder was marked by the other environment; FolderError it cannot be ours */
export async function claimDataFolder(dataDir: string, environment: EnvironmentName): Promise<void> {
  await keepPrivate(dataDir);
  const marker = join(dataDir, 'environment');
  const found = (await readMarker(marker)) ?? (await writeMarker(marker, environment));
  if (found !== environment) throw new EnvironmentMismatchError(dataDir, { wanted: environment, found });
}

async function readMarker(marker: string): Promise<string | null> {
  try {
    return (await readFile(marker, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Linked into place, so that of two processes that start at once one wins and none reads half a word. */
async function writeMarker(marker: string, environment: EnvironmentName): Promise<string> {
  const draft = `${marker}.${process.pid}.tmp`;
  await writeFile(draft, `${environment}\n`, { mode: 0o600 }).catch(naming(draft));
  try {
    await link(draft, marker);
    return environment;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await readMarker(marker)) ?? environment;
  } finally {
    await rm(draft, { force: true });
  }
}
