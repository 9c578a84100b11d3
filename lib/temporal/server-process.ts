/** The embedded Temporal server as a process: started, asked whether it answers, ended; an argument names its data folder. */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isAlive, listenOnce } from '../processes.ts';
import { BillsyncError, EXIT } from '../wire/errors.ts';
import { SEARCH_ATTRIBUTES } from '../wire/names.ts';
import { openConnection } from './connect.ts';
import { pause } from './pause.ts';
import { processesNaming } from './processes.ts';

export interface ServerPlace {
  /** Absolute, without symbolic links: servers are found by it. */
  readonly dataDir: string;
  /** Further dynamic configuration, by key. */
  readonly dynamicConfig: Readonly<Record<string, string>>;
}

/** Something else listens where the server should. */
export class PortTakenError extends BillsyncError {
  readonly code = 'port-taken';
  override readonly exitCode = EXIT.locked;
  readonly address: string;

  constructor(address: string) {
    super(`Another process listens at ${address}. End it, or set TEMPORAL_ADDRESS to a free port.`);
    this.address = address;
  }
}

/**
 * It ended before it answered. Nothing was served yet, so it may be started again: most often somebody else was given one of its
 * ports between our look and its start, of which it takes several besides the one it serves.
 */
export class ServerEndedError extends BillsyncError {
  readonly code = 'temporal-ended';
  override readonly exitCode = EXIT.unreachable;

  constructor(said: string, logPath: string) {
    super(`The Temporal server ended at once: ${tellingLine(said)}`, { hint: `see ${logPath}` });
  }
}

/** SQLite cannot read the server's database: another start would fail as well. */
export class DatabaseDamagedError extends BillsyncError {
  readonly code = 'temporal-database-damaged';
  override readonly exitCode = EXIT.checkFailed;

  constructor(path: string, said: string) {
    super(`The database of the embedded Temporal server is damaged: ${tellingLine(said)}`, {
      subject: path,
      hint: '`billsync temporal reset` moves it aside and sends every received event again; nothing is lost',
    });
  }
}

const DAMAGED = /file is not a database|database disk image is malformed|unsupported file format/i;

export const NAMESPACE = 'default';
/** The server has no use for this key; it names the data folder among its arguments, whose database has the same name everywhere. */
const DATA_FOLDER_KEY = 'billsync.dataFolder';
const DATABASE_NAME = 'temporal.db';
const ANSWERS_WITHIN_MS = 3_000;
const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 10_000;
/** What was killed a moment ago may hold its port for another. */
const PORT_WITHIN_MS = 5_000;

/** The arguments by which the server of a data folder is found. */
export function serverWords({ dataDir }: Pick<ServerPlace, 'dataDir'>): readonly string[] {
  return ['start-dev', `${DATA_FOLDER_KEY}=${folderName(dataDir)}`];
}

/** A JSON string, as the server parses the values of its dynamic configuration. */
function folderName(dataDir: string): string {
  return JSON.stringify(pathToFileURL(dataDir).href);
}

/** Pids of the servers on that folder's database, whoever started them. */
export function serversOf(place: Pick<ServerPlace, 'dataDir'>): readonly number[] {
  return processesNaming(serverWords(place));
}

/**
 * @param start.signal ends the wait for it to answer, and the server with it
 * @returns once the server answers
 * @throws PortTakenError, ServerEndedError
 */
export async function launchServer(
  place: ServerPlace,
  start: { readonly executable: string; readonly address: string; readonly signal: AbortSignal },
): Promise<ChildProcess> {
  const { host, port } = splitAddress(start.address);
  await untilFree(start.address, start.signal);
  const folder = join(place.dataDir, 'temporal');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // A file, not a pipe: a pipe's reader dies with us, and the server, adopted later, would die of its next line.
  const output = await open(join(folder, 'server.log'), 'w', 0o600);
  let child: ChildProcess;
  try {
    child = spawn(resolve(start.executable), serverArguments({ ...place, host, port }), {
      // The server puts the name of its database into a URI without encoding it, so the name is relative and plain.
      cwd: folder,
      stdio: ['ignore', output.fd, output.fd],
      env: serverEnvironment(process.env),
    });
    // Right after the start, so that a kill -9 of ours from here on leaves a server that can be found.
    await once(child, 'spawn');
  } finally {
    await output.close();
  }
  try {
    await untilReady(child, { ...start, logPath: join(folder, 'server.log'), database: databaseOf(place) });
  } catch (error) {
    await endServer(child.pid ?? 0);
    throw error;
  }
  return child;
}

async function untilReady(
  child: ChildProcess,
  wait: {
    readonly address: string;
    readonly signal: AbortSignal;
    readonly logPath: string;
    readonly database: string;
  },
): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await answers(wait.address))) {
    if (child.exitCode !== null || child.signalCode !== null) {
      const said = await readFile(wait.logPath, 'utf8');
      if (DAMAGED.test(said)) throw new DatabaseDamagedError(wait.database, said);
      throw new ServerEndedError(said, wait.logPath);
    }
    if (Date.now() > deadline)
      throw new Error(`The Temporal server was not ready within ${READY_WITHIN_MS / 1000} s.`);
    await pause(50, wait.signal);
  }
}

/** The first that names an error: behind it, a program in Go may print where each of its routines stood. */
function tellingLine(said: string): string {
  const lines = said.trim().split('\n');
  return lines.find((line) => /error|panic|fatal/i.test(line)) ?? lines.at(-1) ?? '';
}

/** Answers for the namespace, not only for the port: anything may listen there. */
export async function answers(address: string): Promise<boolean> {
  try {
    const connection = await openConnection({ address });
    try {
      const deadline = Date.now() + ANSWERS_WITHIN_MS;
      await connection.withDeadline(deadline, () =>
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

/**
 * SIGTERM, then SIGKILL; resolves once the process is gone, since only then its database file is free.
 *
 * @param withinMs how long it may take to end by itself; one that does not answer will not, and a kill -9 loses
 * nothing that it acknowledged
 */
export async function endServer(pid: number, withinMs = STOP_WITHIN_MS): Promise<void> {
  if (pid <= 0) return;
  for (const [signal, limitMs] of [
    ['SIGTERM', withinMs],
    ['SIGKILL', STOP_WITHIN_MS],
  ] as const) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    const deadline = Date.now() + limitMs;
    while (Date.now() < deadline) {
      if (!isAlive(pid)) return;
      await pause(25);
    }
  }
  throw new Error(`The Temporal server (pid ${pid}) does not end.`);
}

/** `host:port` on loopback that nobody uses; the one used last is preferred, so that whoever remembers it finds us. */
export async function freeAddress(last: string | undefined): Promise<string> {
  if (last !== undefined && (await isFree(splitAddress(last)))) return last;
  return `127.0.0.1:${await listenOnce({ host: '127.0.0.1', port: 0 })}`;
}

export function isSameAddress(one: string, other: string): boolean {
  const [a, b] = [splitAddress(one), splitAddress(other)];
  return a.host === b.host && a.port === b.port;
}

export function databaseOf({ dataDir }: Pick<ServerPlace, 'dataDir'>): string {
  return join(dataDir, 'temporal', DATABASE_NAME);
}

/**
 * The two poll rates make the one history shard three times faster than its default of 20 polls a second. A timer comes no
 * earlier than the shift after it was set, by default 1 s: a time limit of 100 ms took 1,026 ms and takes 230 (medians of 8).
 * WAL with synchronous=1 doubles signalWithStart, and what a power cut could take of it the archive still has. The WAL is folded into the
 * file from 40 MB on, not from 4, which takes nine of ten reads. Which search attributes there are is asked once a minute, not for each
 * workflow: those of ours are made with the start.
 *
 * The HTTP API cannot be switched off, and accepts JSON from any web page that a browser on this machine shows. It serves no host
 * name but a random one, so that it answers 403 to everything; gRPC is not affected.
 */
function serverArguments(
  server: ServerPlace & { readonly host: string; readonly port: number },
): readonly string[] {
  const dynamicConfig = {
    'history.transferProcessorMaxPollRPS': '1000',
    'history.timerProcessorMaxPollRPS': '1000',
    'history.timerProcessorMaxTimeShift': '"10ms"',
    'system.forceSearchAttributesCacheRefreshOnRead': 'false',
    'frontend.httpAllowedHosts': JSON.stringify([randomBytes(16).toString('hex')]),
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

/** What a program needs to run at all. Every other variable may be a secret of ours, or a setting that the CLI would take. */
const INHERITED = [
  'PATH',
  'HOME',
  'USER',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'GODEBUG',
  'GOGC',
  'GOMAXPROCS',
  'GOMEMLIMIT',
];

/** Of the Temporal server, from ours. */
export function serverEnvironment(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    INHERITED.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])),
  );
}

/** @throws PortTakenError it is still taken when the time is over */
async function untilFree(address: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + PORT_WITHIN_MS;
  while (!(await isFree(splitAddress(address)))) {
    if (Date.now() > deadline) throw new PortTakenError(address);
    await pause(100, signal);
  }
}

interface Place {
  readonly host: string;
  readonly port: number;
}

async function isFree(place: Place): Promise<boolean> {
  try {
    await listenOnce(place);
    return true;
  } catch {
    return false;
  }
}

function splitAddress(address: string): Place {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host: host === 'localhost' ? '127.0.0.1' : host, port: Number(address.slice(colon + 1)) };
}
