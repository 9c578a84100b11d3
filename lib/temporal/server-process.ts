import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { endProcess, findProcesses, listenOnce } from '../processes.ts';
import { SEARCH_ATTRIBUTES } from '../wire/names.ts';
import { openConnection } from './connect.ts';
import { TemporalError } from './errors.ts';

export interface ServerPlace {
  /** The data folder as an absolute path without symbolic links, by which servers are found. */
  readonly dataDir: string;
  readonly dynamicConfig: Readonly<Record<string, string>>;
}

const DAMAGED = /file is not a database|database disk image is malformed|unsupported file format/i;

export const NAMESPACE = 'default';
/** The server ignores this key. It identifies the data folder, because the database has the same relative name everywhere. */
const DATA_FOLDER_KEY = 'billsync.dataFolder';
const DATABASE_NAME = 'temporal.db';
const RESPONSE_TIMEOUT_MS = 3_000;
const TELL_EVERY_MS = 15_000;
const PORT_TIMEOUT_MS = 5_000;

export function serverIdentity({ dataDir }: Pick<ServerPlace, 'dataDir'>): readonly string[] {
  return ['start-dev', `${DATA_FOLDER_KEY}=${folderName(dataDir)}`];
}

/** The folder's name is a JSON string, because the server parses the values of its dynamic configuration. */
function folderName(dataDir: string): string {
  return JSON.stringify(pathToFileURL(dataDir).href);
}

export function findServers(place: Pick<ServerPlace, 'dataDir'>): readonly number[] {
  return findProcesses(serverIdentity(place));
}

export async function launchServer(
  place: ServerPlace,
  start: {
    readonly executable: string;
    readonly address: string;
    readonly signal: AbortSignal;
    readonly onProgress?: ((line: string) => void) | undefined;
  },
): Promise<ChildProcess> {
  const { host, port } = splitAddress(start.address);
  await untilFree(start.address, start.signal);
  const folder = join(place.dataDir, 'temporal');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const logPath = join(folder, 'server.log');
  // The output is a file, because the server may outlive us and writing to a pipe without a reader would end it.
  const output = await open(logPath, 'w', 0o600);
  let child: ChildProcess;
  try {
    child = spawn(resolve(start.executable), serverArguments({ ...place, host, port }), {
      // The server puts the database name unencoded into a URI, so the name is relative and plain.
      cwd: folder,
      stdio: ['ignore', output.fd, output.fd],
      env: serverEnvironment(process.env),
    });
    await once(child, 'spawn');
  } finally {
    await output.close();
  }
  try {
    const startedAt = performance.now();
    let toldMs = 0;
    while (!(await isResponding(start.address))) {
      if (child.exitCode !== null || child.signalCode !== null) {
        const text = await readFile(logPath, 'utf8');
        if (DAMAGED.test(text)) {
          const subject = databaseOf(place);
          throw new TemporalError('temporal-database-damaged', [errorLine(text)], { subject });
        }
        const how = child.signalCode ?? `exit code ${child.exitCode}`;
        const waited = `${start.address} to answer, ${seconds(startedAt)} s (${how})`;
        throw new TemporalError('temporal-ended', [waited, errorLine(text)], { hint: `see ${logPath}` });
      }
      // A busy machine may need minutes; a process that lives is waited for.
      if (performance.now() - startedAt > toldMs + TELL_EVERY_MS) {
        toldMs += TELL_EVERY_MS;
        start.onProgress?.(
          `waiting for Temporal (process ${child.pid}) at ${start.address} for ${seconds(startedAt)} s`,
        );
      }
      await sleep(50, undefined, { signal: start.signal });
    }
  } catch (error) {
    if (child.pid !== undefined) await endProcess(child.pid);
    throw error;
  }
  return child;
}

function seconds(since: number): number {
  return Math.round((performance.now() - since) / 1_000);
}

function errorLine(output: string): string {
  const lines = output.trim().split('\n');
  return lines.find((line) => /error|panic|fatal/i.test(line)) ?? lines.at(-1) ?? '';
}

/** Requests the namespace: an open port alone may belong to any program. */
export async function isResponding(address: string): Promise<boolean> {
  try {
    const connection = await openConnection({ address });
    try {
      await connection.withDeadline(Date.now() + RESPONSE_TIMEOUT_MS, () =>
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

/** Returns the previous address if it is free, so that processes that remember it reconnect. */
export async function freeAddress(previous: string | undefined): Promise<string> {
  if (previous !== undefined && (await isFree(previous))) return previous;
  return `127.0.0.1:${await listenOnce({ host: '127.0.0.1', port: 0 })}`;
}

export function databaseOf({ dataDir }: Pick<ServerPlace, 'dataDir'>): string {
  return join(dataDir, 'temporal', DATABASE_NAME);
}

/**
 * The poll rates make the one history shard three times faster, and timers are up to 1 s late by default. WAL with
 * synchronous=1 doubles the rate of signalWithStart; events lost in a power failure are still in the archive. The
 * HTTP API accepts JSON from any web page and cannot be turned off; no request can have the one host name that it allows.
 */
function serverArguments(
  server: ServerPlace & { readonly host: string; readonly port: number },
): readonly string[] {
  const dynamicConfig = {
    'history.transferProcessorMaxPollRPS': '1000',
    'history.timerProcessorMaxPollRPS': '1000',
    'history.timerProcessorMaxTimeShift': '"10ms"',
    'system.forceSearchAttributesCacheRefreshOnRead': 'false',
    'frontend.httpAllowedHosts': JSON.stringify(['/']),
    ...server.dynamicConfig,
    [DATA_FOLDER_KEY]: folderName(server.dataDir),
  };
  return [
    ...['server', 'start-dev', '--headless', '--log-level', 'error', '--namespace', NAMESPACE],
    ...['--ip', server.host, '--port', String(server.port), '--db-filename', DATABASE_NAME],
    ...['journal_mode=WAL', 'synchronous=1', 'wal_autocheckpoint=10000'].flatMap((pragma) => [
      '--sqlite-pragma',
      pragma,
    ]),
    ...Object.entries(dynamicConfig).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]),
    ...Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
  ];
}

/** Only these variables are passed on: every other may be a secret of ours, or a setting that the Temporal CLI would read. */
const INHERITED = [
  ...['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'],
  ...['GODEBUG', 'GOGC', 'GOMAXPROCS', 'GOMEMLIMIT'],
];

export function serverEnvironment(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    INHERITED.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])),
  );
}

async function untilFree(address: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + PORT_TIMEOUT_MS;
  while (!(await isFree(address))) {
    if (Date.now() > deadline) throw new TemporalError('port-taken', [address]);
    await sleep(100, undefined, { signal });
  }
}

async function isFree(address: string): Promise<boolean> {
  try {
    await listenOnce(splitAddress(address));
    return true;
  } catch {
    return false;
  }
}

function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host: host === 'localhost' ? '127.0.0.1' : host, port: Number(address.slice(colon + 1)) };
}
