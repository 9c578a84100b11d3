/** Lists a folder that need not be there. */

import { readdir } from 'node:fs/promises';

/** What lies in a folder; nothing when it is not there. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
