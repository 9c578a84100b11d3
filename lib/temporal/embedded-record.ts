/** What an embedded server leaves in the data folder; apart from the client, which who only looks after the server does not load. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What the embedded server leaves in `run/temporal.json` of the data folder. */
export interface EmbeddedRecord {
  readonly address: string;
  readonly pid: number;
  readonly namespace: string;
  /** The process that looks after the server; another may adopt it once this one is gone. */
  readonly ownerPid: number;
  /** The kernel's start time of the owner, so that a reused pid is not taken for it; null: not known. */
  readonly ownerStarted?: string | null;
}

/** What a server that billsync started left in the data folder; null when there is none, or it was written half. */
export async function readEmbeddedRecord(dataDir: string): Promise<EmbeddedRecord | null> {
  try {
    return JSON.parse(await readFile(join(dataDir, 'run', 'temporal.json'), 'utf8')) as EmbeddedRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return null;
    throw error;
  }
}
