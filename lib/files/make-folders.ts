/** Makes a folder with its parents, one after the other: Node's own way asks for ever where none can be made, as below /proc. */

import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemErrorIn } from '../config/system-error.ts';
import { BillsyncError, EXIT } from '../wire/errors.ts';

/** A folder that is needed cannot be made. */
export class FolderError extends BillsyncError {
  readonly code = 'folder';
  override readonly exitCode = EXIT.usage;
}

/**
 * Private to the user (0700). What is there already is left as it is.
 *
 * @returns the first folder that was made; undefined when all were there
 * @throws FolderError
 */
export async function makeFolders(path: string): Promise<string | undefined> {
  const missing: string[] = [];
  for (let folder = resolve(path); !isFolder(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Made meanwhile by somebody who starts beside us.
      if ((error as NodeJS.ErrnoException).code === 'EEXIST' && isFolder(folder)) continue;
      throw cannotBeMade(folder, error);
    }
  }
  return missing[0];
}

function isFolder(path: string): boolean {
  try {
    if (statSync(path).isDirectory()) return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw cannotBeMade(path, error);
  }
  throw new FolderError('a folder is needed where something else is', {
    subject: path,
    hint: 'move it away, or choose another folder',
  });
}

function cannotBeMade(path: string, cause: unknown): FolderError {
  return new FolderError(`a folder cannot be made: ${systemErrorIn(cause)?.words ?? String(cause)}`, {
    subject: path,
    hint: 'choose a folder that can be written (BILLSYNC_DATA_DIR), or give this user the right to',
    cause,
  });
}
