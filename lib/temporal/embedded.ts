/**
 * The server survives a kill -9 of its parent. A new start finds it by the data folder among its arguments and ends it first: one
 * database file serves one server.
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
import { endProcess } from '../processes.ts';
import { isSupervised, readEmbeddedRecord, writeEmbeddedRecord } from './embedded-record.ts';
import { isTemporalError, TemporalError } from './errors.ts';
import { temporalExecutable } from './server-executable.ts';
import {
  databaseOf,
  findServers,
  freeAddress,
  isResponding,
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
  /** Address of the server; by default the previous port, or any free one, on loopback. */
  readonly address?: string;
  readonly log: Logger;
  readonly onProgress?: (line: string) => void;
  readonly dynamicConfig?: Readonly<Record<string, string>>;
}

interface Server {
  readonly address: string;
  readonly child: ChildProcess;
}

type StartRequest = EmbeddedOptions & ServerPlace & { readonly signal: AbortSignal };

/** A server that does not respond does not handle SIGTERM either. */
const HUNG_STOP_TIMEOUT_MS = 2_000;
const MAX_STARTS = 3;
const MAX_RESTART_DELAY_MS = 30_000;

/** @throws temporal-database-in-use while another process runs the server of this data folder */
export async function startEmbeddedTemporal(options: EmbeddedOptions): Promise<EmbeddedTemporal> {
  const { log } = options;
  await makeFolders(options.dataDir);
  const dataDir = await realpath(options.dataDir);
  const stopping = new AbortController();
  const { signal } = stopping;
  const request = { ...options, dataDir, dynamicConfig: options.dynamicConfig ?? {}, signal };
  let server = await start(request);
  const { address } = server;

  const supervising = (async () => {
    for (;;) {
      const { child } = server;
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal });
      log.warn({ pid: child.pid }, 'the embedded Temporal server ended and is started again');
      server = await startUntilDone({ ...request, address });
    }
  })().catch((error: unknown) => {
    if (!signal.aborted) log.error({ err: error }, 'the embedded Temporal server is not supervised');
  });

  const pid = (): number => server.child.pid ?? 0;
  return {
    address,
    get pid() {
      return pid();
    },
    async stop() {
      stopping.abort();
      await supervising;
      await rm(dataFolder(dataDir).embeddedTemporal, { force: true });
      if (await isResponding(address)) await endProcess(pid());
      else await endProcess(pid(), HUNG_STOP_TIMEOUT_MS);
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

async function start(request: StartRequest): Promise<Server> {
  const { dataDir, log } = request;
  const known = await readEmbeddedRecord(dataDir);
  const running = findServers(request);
  if (known !== null && isSupervised(known) && running.includes(known.pid))
    throw new TemporalError('temporal-database-in-use', [], { subject: databaseOf(request) });
  for (const pid of running) await endProcess(pid, HUNG_STOP_TIMEOUT_MS);
  const server = await launch(request, known?.address);
  const { address, child } = server;
  writeEmbeddedRecord(dataDir, { address, pid: child.pid ?? 0, namespace: NAMESPACE });
  log.info({ pid: child.pid, address }, 'embedded Temporal server is ready');
  return server;
}

async function launch(request: StartRequest, previous: string | undefined): Promise<Server> {
  const { onProgress, signal } = request;
  const executable = await temporalExecutable({ onProgress });
  for (let attempt = 1; ; attempt += 1) {
    const address = request.address ?? (await freeAddress(previous));
    try {
      const child = await launchServer(request, { executable, address, signal, onProgress });
      return { address, child };
    } catch (error) {
      if (!isTemporalError(error, 'temporal-ended') || attempt === MAX_STARTS) throw error;
      request.log.warn({ err: error }, 'the embedded Temporal server ended during its start; retrying');
    }
  }
}

async function startUntilDone(request: StartRequest): Promise<Server> {
  const { signal, log } = request;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await start(request);
    } catch (error) {
      signal.throwIfAborted();
      log.error({ err: error }, 'the embedded Temporal server does not start');
      await sleep(Math.min(1_000 * 2 ** attempt, MAX_RESTART_DELAY_MS), undefined, { signal });
    }
  }
}
