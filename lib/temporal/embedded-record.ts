import { dataFolder } from '../files/data-folder.ts';
import { readIfThere, replaceFile } from '../files/files.ts';
import { isStillRunning, ownIdentity } from '../processes.ts';
import { jsonOrNull } from '../text.ts';

export interface EmbeddedRecord {
  readonly address: string;
  readonly pid: number;
  readonly namespace: string;
  /** The process that owns the server; once it has ended, the next start ends the server. */
  readonly ownerPid: number;
  readonly ownerStarted?: string | null;
}

export async function readEmbeddedRecord(dataDir: string): Promise<EmbeddedRecord | null> {
  const file = await readIfThere(dataFolder(dataDir).embeddedTemporal);
  return jsonOrNull(String(file)) as EmbeddedRecord | null;
}

export function writeEmbeddedRecord(
  dataDir: string,
  server: Pick<EmbeddedRecord, 'address' | 'pid' | 'namespace'>,
): void {
  const owner = ownIdentity();
  const record: EmbeddedRecord = { ...server, ownerPid: owner.pid, ownerStarted: owner.started };
  replaceFile(dataFolder(dataDir).embeddedTemporal, `${JSON.stringify(record)}\n`);
}

export function isSupervised({ ownerPid, ownerStarted = null }: EmbeddedRecord): boolean {
  return ownerPid !== process.pid && isStillRunning({ pid: ownerPid, started: ownerStarted });
}
