/**
 * Runs a Temporal server of our own beside the data folder, so that one command on one machine needs nothing else.
 *
 * The server is a child in our process group and survives a kill -9 of its parent; a new start finds it by its
 * database file, adopts it when it is healthy and ends it by pid when it is not, since one database file serves one
 * server. Somebody always looks after it: when it dies it is started again on the same port, and who found it in the
 * care of another process takes over when that one ends.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, realpath, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { makeFolders } from '../files/durable-files.ts';
import { replaceFile } from '../files/files.ts';
import { isAlive, isStillRunning, ownIdentity } from '../processes.ts';
import { BillsyncError, EXIT } from '../wire/errors.ts';
import { type EmbeddedRecord, readEmbeddedRecord } from './embedded-record.ts';
import { pause } from './pause.ts';
import { temporalExecutable } from './server-executable.ts';
import {
  answers,
  databaseOf,
  endServer,
  freeAddress,
  isSameAddress,
  launchServer,
  NAMESPACE,
  ServerEndedError,
  type ServerPlace,
  serversOf,
} from './server-process.ts';

export interface EmbeddedTemporal {
  readonly address: string;
  /** Of the server; changes when it had to be started again. */
  readonly pid: number;
  /** Ends the server unless another live process looks after it. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDir: string;
  /** `host:port` to listen on; else the port used last, or any free one, on loopback. */
  readonly address?: string;
  readonly log: Logger;
  readonly onProgress?: (line: string) => void;
  /** Further dynamic configuration, e.g. `limit.historyCount.suggestContinueAsNew`, for tests of limits. */
  readonly dynamicConfig?: Readonly<Record<string, string>>;
}

/** A server that runs, and who looks after it. */
interface Hold {
  readonly record: EmbeddedRecord;
  readonly isOurs: boolean;
  /** Absent for an adopted server, whose end is only seen by asking for its pid. */
  readonly child?: ChildProcess;
}

interface Take extends ServerPlace {
  readonly log: Logger;
  readonly address: string | undefined;
  readonly onProgress: ((line: string) => void) | undefined;
  readonly signal: AbortSignal;
}

/** How often an adopted server, or another one's owner, is looked at. */
const LOOK_EVERY_MS = 250;
/** A server that does not answer will not end when asked to, either. */
const HUNG_STOP_WITHIN_MS = 2_000;
const MOST_STARTS = 3;

/** @throws PortTakenError, ServerEndedError, TemporalServerMissingError */
export async function startEmbeddedTemporal(options: EmbeddedOptions): Promise<EmbeddedTemporal> {
  const { log } = options;
  await makeFolders(options.dataDir);
  const dataDir = await realpath(options.dataDir);
  const stopping = new AbortController();
  const take: Take = {
    ...{ dataDir, log, address: options.address, onProgress: options.onProgress },
    dynamicConfig: options.dynamicConfig ?? {},
    signal: stopping.signal,
  };
  let hold = await takeHold(take);
  const { address } = hold.record;

  const watching = (async () => {
    for (;;) {
      await untilNobodyCares(dataDir, hold, stopping.signal);
      const { pid } = hold.record;
      log.warn({ pid }, 'nobody looks after the embedded Temporal server, or it ended; taking hold of it');
      hold = await takeHoldInTheEnd({ ...take, address });
    }
  })().catch((error: unknown) => {
    if (!stopping.signal.aborted)
      log.error({ err: error }, 'nobody looks after the embedded Temporal server');
  });

  return {
    address,
    get pid() {
      return hold.record.pid;
    },
    async stop() {
      stopping.abort(new Error('stopping'));
      await watching;
      if (!hold.isOurs) return;
      // First, so that who waits to take over starts a server of its own and does not find ours about to end.
      if ((await readEmbeddedRecord(dataDir))?.pid === hold.record.pid) await rm(recordPath(dataDir));
      if (await answers(address)) await endServer(hold.record.pid);
      else await endServer(hold.record.pid, HUNG_STOP_WITHIN_MS);
    },
  };
}

/**
 * Moves the database of the embedded server aside, so that the next start makes an empty one.
 *
 * @returns where it is now; null when there was none. @throws DatabaseInUseError
 */
export async function moveDatabaseAside(dataDir: string, now: Date): Promise<string | null> {
  const database = databaseOf({ dataDir: await realpath(dataDir) });
  if (serversOf({ dataDir: await realpath(dataDir) }).length > 0) throw new DatabaseInUseError(database);
  if (!existsSync(database)) return null;
  const folder = join(dataDir, 'temporal', 'aside');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const aside = join(folder, `temporal-${now.toISOString().replace(/[:.]/g, '-')}.db`);
  for (const part of ['-wal', '-shm', '']) {
    if (existsSync(`${database}${part}`)) await rename(`${database}${part}`, `${aside}${part}`);
  }
  return aside;
}

/** A server runs on it. */
export class DatabaseInUseError extends BillsyncError {
  readonly code = 'temporal-database-in-use';
  override readonly exitCode = EXIT.locked;

  constructor(database: string) {
    super('An embedded Temporal server runs on the database.', {
      subject: database,
      hint: 'stop `billsync up` or `billsync temporal` first',
    });
  }
}

/** Finds the folder's server, or makes one. What is in the way and does not answer is ended. */
async function takeHold(take: Take): Promise<Hold> {
  const { dataDir, log } = take;
  const known = await readEmbeddedRecord(dataDir);
  const running = serversOf(take);
  const [survivor] = running;
  if (known !== null && survivor === known.pid && running.length === 1) {
    const wanted = take.address ?? known.address;
    if (isSameAddress(wanted, known.address) && (await answers(known.address))) {
      if (isOwned(known)) return { record: known, isOurs: false };
      const record = { ...known, ...ownedByUs() };
      writeRecord(dataDir, record);
      log.info({ pid: known.pid, address: known.address }, 'adopted the embedded Temporal server');
      return { record, isOurs: true };
    }
  }
  for (const pid of running) await endServer(pid, HUNG_STOP_WITHIN_MS);
  const { address, child } = await launch(take, known?.address);
  const record = { address, pid: child.pid ?? 0, namespace: NAMESPACE, ...ownedByUs() };
  writeRecord(dataDir, record);
  log.info({ pid: record.pid, address }, 'embedded Temporal server is ready');
  return { record, isOurs: true, child };
}

/** Several that start at once are given the same free ports: the one that comes second looks for others. */
async function launch(
  take: Take,
  last: string | undefined,
): Promise<{ readonly address: string; readonly child: ChildProcess }> {
  const executable = await temporalExecutable(take.onProgress ? { onProgress: take.onProgress } : {});
  for (let attempt = 1; ; attempt += 1) {
    const address = take.address ?? (await freeAddress(last));
    try {
      const child = await launchServer(take, { executable, address, signal: take.signal });
      return { address, child };
    } catch (error) {
      if (!(error instanceof ServerEndedError) || attempt === MOST_STARTS) throw error;
      take.log.warn({ err: error }, 'the embedded Temporal server ended while it started; trying again');
    }
  }
}

async function takeHoldInTheEnd(take: Take): Promise<Hold> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await takeHold(take);
    } catch (error) {
      take.signal.throwIfAborted();
      take.log.error({ err: error }, 'the embedded Temporal server does not start');
      await pause(Math.min(1_000 * 2 ** attempt, 30_000), take.signal);
    }
  }
}

/** Until our server has ended, or the owner of somebody else's, or our record was replaced. */
async function untilNobodyCares(dataDir: string, hold: Hold, signal: AbortSignal): Promise<void> {
  const { record, isOurs, child } = hold;
  if (isOurs && child !== undefined) {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal });
    return;
  }
  if (isOurs) {
    while (isAlive(record.pid)) await pause(LOOK_EVERY_MS, signal);
    return;
  }
  for (let now: EmbeddedRecord | null = record; now !== null && isOwned(now); ) {
    await pause(LOOK_EVERY_MS, signal);
    now = await readEmbeddedRecord(dataDir);
  }
}

function isOwned({ ownerPid, ownerStarted = null }: EmbeddedRecord): boolean {
  return ownerPid !== process.pid && isStillRunning({ pid: ownerPid, started: ownerStarted });
}

function ownedByUs(): Pick<EmbeddedRecord, 'ownerPid' | 'ownerStarted'> {
  const { pid, started } = ownIdentity();
  return { ownerPid: pid, ownerStarted: started };
}

function writeRecord(dataDir: string, record: EmbeddedRecord): void {
  replaceFile(recordPath(dataDir), `${JSON.stringify(record)}\n`);
}

function recordPath(dataDir: string): string {
  return join(dataDir, 'run', 'temporal.json');
}
