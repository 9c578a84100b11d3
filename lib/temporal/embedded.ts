/**
 * The server survives a kill -9 of its parent. A new start finds it by the data folder among its arguments and adopts
 * it, or ends it when it is not healthy: one database file serves one server.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, realpath, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { dataFolder } from '../files/data-folder.ts';
import { makeFolders } from '../files/durable-files.ts';
import { endProcess, isAlive } from '../processes.ts';
import {
  type EmbeddedRecord,
  isSupervised,
  readEmbeddedRecord,
  writeEmbeddedRecord,
} from './embedded-record.ts';
import { isTemporalError, TemporalError } from './errors.ts';
import { temporalExecutable } from './server-executable.ts';
import {
  databaseOf,
  findServers,
  freeAddress,
  isResponding,
  isSameAddress,
  launchServer,
  NAMESPACE,
  type ServerPlace,
} from './server-process.ts';

export interface EmbeddedTemporal {
  readonly address: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDir: string;
  /** By default the previous port, or any free one, on loopback. */
  readonly address?: string;
  readonly log: Logger;
  readonly onProgress?: (line: string) => void;
  readonly dynamicConfig?: Readonly<Record<string, string>>;
}

interface Server {
  readonly record: EmbeddedRecord;
  readonly isOurs: boolean;
  /** Absent for an adopted server, whose end is detected by its pid. */
  readonly child?: ChildProcess;
}

type StartRequest = EmbeddedOptions & ServerPlace & { readonly signal: AbortSignal };

const CHECK_INTERVAL_MS = 250;
/** A server that does not respond does not handle SIGTERM either. */
const HUNG_STOP_TIMEOUT_MS = 2_000;
const MAX_STARTS = 3;
const MAX_RESTART_DELAY_MS = 30_000;

export async function startEmbeddedTemporal(options: EmbeddedOptions): Promise<EmbeddedTemporal> {
  const { log } = options;
  await makeFolders(options.dataDir);
  const dataDir = await realpath(options.dataDir);
  const stopping = new AbortController();
  const { signal } = stopping;
  const request = { ...options, dataDir, dynamicConfig: options.dynamicConfig ?? {}, signal };
  let server = await findOrStart(request);
  const { address } = server.record;

  const supervising = (async () => {
    for (;;) {
      await untilUnsupervised(dataDir, server, signal);
      const { pid } = server.record;
      log.warn({ pid }, 'the embedded Temporal server or its supervisor ended; taking over');
      server = await findOrStartUntilDone({ ...request, address });
    }
  })().catch((error: unknown) => {
    if (!signal.aborted) log.error({ err: error }, 'the embedded Temporal server is not supervised');
  });

  return {
    address,
    get pid() {
      return server.record.pid;
    },
    async stop() {
      stopping.abort();
      await supervising;
      if (!server.isOurs) return;
      // Before the server ends, so that another process starts its own instead of adopting this one.
      if ((await readEmbeddedRecord(dataDir))?.pid === server.record.pid)
        await rm(dataFolder(dataDir).embeddedTemporal);
      if (await isResponding(address)) await endProcess(server.record.pid);
      else await endProcess(server.record.pid, HUNG_STOP_TIMEOUT_MS);
    },
  };
}

export async function moveDatabaseAside(dataDir: string, now: Date): Promise<string | null> {
  const place = { dataDir: await realpath(dataDir) };
  const database = databaseOf(place);
  if (findServers(place).length > 0)
    throw new TemporalError('temporal-database-in-use', [], { subject: database });
  if (!existsSync(database)) return null;
  const folder = join(dataDir, 'temporal', 'aside');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const aside = join(folder, `temporal-${now.toISOString().replace(/[:.]/g, '-')}.db`);
  for (const part of ['-wal', '-shm', '']) {
    if (existsSync(`${database}${part}`)) await rename(`${database}${part}`, `${aside}${part}`);
  }
  return aside;
}

async function findOrStart(request: StartRequest): Promise<Server> {
  const { dataDir, log } = request;
  const known = await readEmbeddedRecord(dataDir);
  const running = findServers(request);
  if (known !== null && running.length === 1 && running[0] === known.pid) {
    const address = request.address ?? known.address;
    if (isSameAddress(address, known.address) && (await isResponding(known.address))) {
      if (isSupervised(known)) return { record: known, isOurs: false };
      const record = writeEmbeddedRecord(dataDir, known);
      log.info({ pid: known.pid, address: known.address }, 'adopted the embedded Temporal server');
      return { record, isOurs: true };
    }
  }
  for (const pid of running) await endProcess(pid, HUNG_STOP_TIMEOUT_MS);
  const { address, child } = await launch(request, known?.address);
  const record = writeEmbeddedRecord(dataDir, { address, pid: child.pid ?? 0, namespace: NAMESPACE });
  log.info({ pid: record.pid, address }, 'embedded Temporal server is ready');
  return { record, isOurs: true, child };
}

async function launch(
  request: StartRequest,
  previous: string | undefined,
): Promise<{ readonly address: string; readonly child: ChildProcess }> {
  const { onProgress, signal } = request;
  const executable = await temporalExecutable({ onProgress });
  for (let attempt = 1; ; attempt += 1) {
    const address = request.address ?? (await freeAddress(previous));
    try {
      const child = await launchServer(request, { executable, address, signal });
      return { address, child };
    } catch (error) {
      if (!isTemporalError(error, 'temporal-ended') || attempt === MAX_STARTS) throw error;
      request.log.warn({ err: error }, 'the embedded Temporal server ended during its start; retrying');
    }
  }
}

async function findOrStartUntilDone(request: StartRequest): Promise<Server> {
  const { signal, log } = request;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await findOrStart(request);
    } catch (error) {
      signal.throwIfAborted();
      log.error({ err: error }, 'the embedded Temporal server does not start');
      await sleep(Math.min(1_000 * 2 ** attempt, MAX_RESTART_DELAY_MS), undefined, { signal });
    }
  }
}

/** Resolves when our server has ended, when the owner of another server has, or when the record was replaced. */
async function untilUnsupervised(dataDir: string, server: Server, signal: AbortSignal): Promise<void> {
  const { record, isOurs, child } = server;
  if (child !== undefined) {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal });
    return;
  }
  if (isOurs) {
    while (isAlive(record.pid)) await sleep(CHECK_INTERVAL_MS, undefined, { signal });
    return;
  }
  for (let current: EmbeddedRecord | null = record; current !== null && isSupervised(current); ) {
    await sleep(CHECK_INTERVAL_MS, undefined, { signal });
    current = await readEmbeddedRecord(dataDir);
  }
}
