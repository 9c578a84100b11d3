/** Names of files that are being written: none is given twice, and what a dead process left is told from what is in work. */

import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { namesIn } from '../names-in.ts';
import { isAlive } from '../process-identity.ts';

/** Of this machine, or container: on a folder that several share, a pid says nothing of another's processes. */
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
/** Of this run of the process: in a container a dead one often had our own pid. */
const RUN = randomBytes(4).toString('hex');
let namesGiven = 0;

/**
 * A name nobody else uses; it tells the process, so that a later one can sweep what a dead one left. For the first thread
 * alone: others of the process would be taken for dead.
 */
export function temporaryName(folder: string): string {
  namesGiven += 1;
  return join(folder, `.${HOST}-${process.pid}-${RUN}${namesGiven.toString(16).padStart(8, '0')}.tmp`);
}

/**
 * Removes what has a `temporaryName` of a process that is dead, files and folders. Of another machine's nobody here can
 * tell: it goes when it is a day old, since nothing takes so long to write.
 */
export async function sweepLeftBehind(folder: string): Promise<void> {
  for (const name of await namesIn(folder)) {
    if (isLeftBehind(folder, name)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

const LONG_AGO_MS = 24 * 60 * 60_000;

function isLeftBehind(folder: string, name: string): boolean {
  const [, host, pid, run] = /^\.([0-9a-f]{8})-(\d+)-([0-9a-f]{8})[0-9a-f]{8}\.tmp$/.exec(name) ?? [];
  if (pid === undefined) return false;
  if (host !== HOST) {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return found !== undefined && Date.now() - found.mtimeMs > LONG_AGO_MS;
  }
  return Number(pid) === process.pid ? run !== RUN : !isAlive(Number(pid));
}
