/**
 * Runs a Temporal server of our own beside the data folder, so that one command on one machine needs nothing else.
 *
 * The server is a child in our process group and survives a kill -9 of its parent; a new start finds it by its
 * database file, adopts it when it is healthy and ends it by pid when it is not, since one database file serves one
 * server. When the child dies by itself it is started again on the same port.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { SEARCH_ATTRIBUTES } from '../contract/names.js';
import { type EmbeddedRecord, openConnection, pause, readEmbeddedRecord } from './connect.js';
import { isAlive, processesNaming } from './processes.js';
import { temporalExecutable } from './server-executable.js';

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

/** Something else listens where the server should. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
  readonly code = 'port-taken';
  readonly address: string;

  constructor(address: string) {
    super(`Another process listens at ${address}. End it, or set TEMPORAL_ADDRESS to a free port.`);
    this.address = address;
  }
}

const NAMESPACE = 'default';
const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 10_000;

/** @throws PortTakenError, TemporalServerMissingError */
export async function startEmbeddedTemporal(options: EmbeddedOptions): Promise<EmbeddedTemporal> {
  const { log } = options;
  const dataDir = resolve(options.dataDir);
  const databaseFile = join(dataDir, 'temporal', 'temporal.db');
  const place = { dataDir, databaseFile, log, dynamicConfig: options.dynamicConfig ?? {} };
  const known = await readEmbeddedRecord(dataDir);
  const running = processesNaming(['start-dev', databaseFile]);
  const [survivor] = running;

  if (known !== null && survivor === known.pid && running.length === 1) {
    const wanted = options.address ?? known.address;
    if (sameAddress(wanted, known.address) && (await isHealthy(known.address))) {
      const owned = known.ownerPid === process.pid || !isAlive(known.ownerPid);
      if (!owned) return { address: known.address, pid: known.pid, stop: async () => {} };
      log.info({ pid: known.pid, address: known.address }, 'adopted the embedded Temporal server');
      return supervise({ ...place, record: { ...known, ownerPid: process.pid } });
    }
  }
  for (const pid of running) await end(pid);

  const address = options.address ?? (await freeAddress(known?.address));
  const executable = await temporalExecutable(options.onProgress ? { onProgress: options.onProgress } : {});
  const child = await launch({ ...place, executable, address });
  const record = { address, pid: child.pid ?? 0, namespace: NAMESPACE, ownerPid: process.pid };
  return supervise({ ...place, record, child, executable });
}

interface Place {
  readonly dataDir: string;
  readonly databaseFile: string;
  readonly log: Logger;
  readonly dynamicConfig: Readonly<Record<string, string>>;
}

interface Supervised extends Place {
  readonly record: EmbeddedRecord;
  /** Absent for an adopted server, whose end is only seen by asking for its pid. */
  readonly child?: ChildProcess;
  readonly executable?: string;
}

/** Starts the server again whenever it is gone, until `stop`. */
async function supervise(start: Supervised): Promise<EmbeddedTemporal> {
  const { dataDir, log } = start;
  const stopping = new AbortController();
  let record = start.record;
  let child = start.child;
  await writeRecord(dataDir, record);

  const watch = async (): Promise<void> => {
    for (;;) {
      await gone(record.pid, child, stopping.signal);
      if ((await readEmbeddedRecord(dataDir))?.pid !== record.pid) return; // Another process took over.
      log.warn({ pid: record.pid }, 'the embedded Temporal server ended; starting it again');
      for (let attempt = 0; ; attempt += 1) {
        try {
          const executable = start.executable ?? (await temporalExecutable());
          child = await launch({ ...start, executable, address: record.address });
          break;
        } catch (error) {
          log.error({ err: error }, 'the embedded Temporal server does not start');
          await pause(Math.min(1_000 * 2 ** attempt, 30_000), stopping.signal);
        }
      }
      record = { ...record, pid: child.pid ?? 0 };
      await writeRecord(dataDir, record);
    }
  };
  const watching = watch().catch((error: unknown) => {
    if (!stopping.signal.aborted)
      log.error({ err: error }, 'nobody looks after the embedded Temporal server');
  });

  return {
    address: record.address,
    get pid() {
      return record.pid;
    },
    async stop() {
      stopping.abort(new Error('stopping'));
      await watching;
      await end(record.pid);
      await rm(join(dataDir, 'run', 'temporal.json'), { force: true });
    },
  };
}

interface Launch extends Place {
  readonly executable: string;
  readonly address: string;
}

async function launch(start: Launch): Promise<ChildProcess> {
  const { executable, dataDir, databaseFile, dynamicConfig, address, log } = start;
  const { host, port } = splitAddress(address);
  if (!(await isFree(host, port))) throw new PortTakenError(address);
  await mkdir(join(dataDir, 'temporal'), { recursive: true, mode: 0o700 });
  // A file, not a pipe: a pipe's reader dies with us, and the server, adopted later, would die of its next line.
  const output = await open(join(dataDir, 'temporal', 'server.log'), 'w', 0o600);
  let child: ChildProcess;
  try {
    child = spawn(executable, serverArguments({ host, port, databaseFile, dynamicConfig }), {
      stdio: ['ignore', output.fd, output.fd],
      env: environmentWithoutTemporal(),
    });
    // Right after the start, so that a kill -9 of ours from here on leaves a server that can be found.
    await once(child, 'spawn');
  } finally {
    await output.close();
  }
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await isHealthy(address))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`The Temporal server ended at once; see ${join(dataDir, 'temporal', 'server.log')}.`);
    }
    if (Date.now() > deadline) {
      await end(child.pid ?? 0);
      throw new Error(`The Temporal server was not ready within ${READY_WITHIN_MS / 1000} s.`);
    }
    await pause(50);
  }
  log.info({ pid: child.pid, address }, 'embedded Temporal server is ready');
  return child;
}

/**
 * The two poll rates make the one history shard three times faster than its default of 20 polls a second;
 * WAL with synchronous=1 doubles signalWithStart, and what a power cut could take of it the archive still has.
 */
function serverArguments(server: {
  readonly host: string;
  readonly port: number;
  readonly databaseFile: string;
  readonly dynamicConfig: Readonly<Record<string, string>>;
}): readonly string[] {
  const dynamicConfig = {
    'history.transferProcessorMaxPollRPS': '1000',
    'history.timerProcessorMaxPollRPS': '1000',
    ...server.dynamicConfig,
  };
  return [
    ...['server', 'start-dev', '--headless', '--log-level', 'error', '--namespace', NAMESPACE],
    ...['--ip', server.host, '--port', String(server.port), '--db-filename', server.databaseFile],
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=1'],
    ...Object.entries(dynamicConfig).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]),
    ...Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
  ];
}

/** The CLI reads TEMPORAL_* too and would mistake our target for its own settings. */
function environmentWithoutTemporal(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TEMPORAL|BILLSYNC)_/.test(name)),
  );
}

/** Answers for the namespace, not only for the port: anything may listen there. */
async function isHealthy(address: string): Promise<boolean> {
  try {
    const connection = await openConnection({ address });
    try {
      await connection.withDeadline(Date.now() + 2_000, () =>
        connection.workflowService.describeNamespace({ namespace: NAMESPACE }),
      );
      return true;
    } finally {
      await connection.close();
    }
  } catch {
    return false;
  }
}

/** SIGTERM, then SIGKILL; resolves once the process is gone, since only then its database file is free. */
async function end(pid: number): Promise<void> {
  if (pid <= 0) return;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    const deadline = Date.now() + STOP_WITHIN_MS;
    while (Date.now() < deadline) {
      if (!isAlive(pid)) return;
      await pause(25);
    }
  }
  throw new Error(`The Temporal server (pid ${pid}) does not end.`);
}

async function gone(pid: number, child: ChildProcess | undefined, signal: AbortSignal): Promise<void> {
  if (child !== undefined) {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal });
    return;
  }
  while (isAlive(pid)) await pause(1_000, signal);
}

/** The port used last is preferred, so that processes which remember it find the server again. */
async function freeAddress(last: string | undefined): Promise<string> {
  if (last !== undefined) {
    const { host, port } = splitAddress(last);
    if (await isFree(host, port)) return last;
  }
  return `127.0.0.1:${await withListener('127.0.0.1', 0, (port) => port)}`;
}

async function isFree(host: string, port: number): Promise<boolean> {
  try {
    return await withListener(host, port, () => true);
  } catch {
    return false;
  }
}

async function withListener<T>(host: string, port: number, use: (port: number) => T): Promise<T> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const address = server.address();
  const result = use(typeof address === 'object' && address !== null ? address.port : port);
  server.close();
  await once(server, 'close');
  return result;
}

function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host: host === 'localhost' ? '127.0.0.1' : host, port: Number(address.slice(colon + 1)) };
}

function sameAddress(one: string, other: string): boolean {
  const [a, b] = [splitAddress(one), splitAddress(other)];
  return a.host === b.host && a.port === b.port;
}

async function writeRecord(dataDir: string, record: EmbeddedRecord): Promise<void> {
  const folder = join(dataDir, 'run');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `temporal.json.${process.pid}.tmp`);
  await writeFile(temporary, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  await rename(temporary, join(folder, 'temporal.json'));
}
