/** `run/temporal.json` in the data folder: the embedded server of all processes of this machine. */

import { readFile } from 'node:fs/promises';
import { dataFolder } from '../files/data-folder.ts';
import { replaceFile } from '../files/files.ts';
import { isStillRunning, ownIdentity } from '../processes.ts';

export interface EmbeddedRecord {
  readonly address: string;
  readonly pid: number;
  readonly namespace: string;
  /** The process that supervises the server; another process may adopt the server once this one has ended. */
  readonly ownerPid: number;
  /** Kernel start time of the owner, to detect a reused pid; null: not known. */
  readonly ownerStarted?: string | null;
}

/** @returns null when there is no record, or only a partial one */
export async function readEmbeddedRecord(dataDir: string): Promise<EmbeddedRecord | null> {
  try {
    return JSON.parse(await readFile(dataFolder(dataDir).embeddedTemporal, 'utf8')) as EmbeddedRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Makes this process the owner. */
export function writeEmbeddedRecord(
  dataDir: string,
  server: Pick<EmbeddedRecord, 'address' | 'pid' | 'namespace'>,
): EmbeddedRecord {
  const { address, pid, namespace } = server;
  const owner = ownIdentity();
  const record = { address, pid, namespace, ownerPid: owner.pid, ownerStarted: owner.started };
  replaceFile(dataFolder(dataDir).embeddedTemporal, `${JSON.stringify(record)}\n`);
  return record;
}

/** Whether another process supervises the server. */
export function isSupervised({ ownerPid, ownerStarted = null }: EmbeddedRecord): boolean {
  return ownerPid !== process.pid && isStillRunning({ pid: ownerPid, started: ownerStarted });
}
