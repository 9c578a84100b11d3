/** Every call has a deadline: without one a call hangs for 45 s or more when the server is suspended. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import protos from '@temporalio/proto';
import type { NativeConnectionOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { type Settings, SettingsError } from '../config/settings.ts';
import { messageOf, systemErrorIn } from '../system-errors.ts';
import { SEARCH_ATTRIBUTES } from '../wire/names.ts';
import { createDataConverter, encryptionKeys } from './codec.ts';
import { readEmbeddedRecord } from './embedded-record.ts';
import { isUnreachable, TemporalError } from './errors.ts';
import { activeTracing } from './tracing.ts';

export interface TemporalTarget {
  readonly address: string;
  readonly namespace: string;
  readonly isLocal: boolean;
  readonly connection: NativeConnectionOptions;
}

export interface TemporalConnection {
  readonly client: Client;
  readonly namespace: string;
  readonly address: string;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly log: Logger;
  /** True repeats the attempt until it succeeds or `signal` aborts; otherwise there is a single attempt. */
  readonly wait?: boolean;
  readonly signal?: AbortSignal;
}

type ClientSettings = Pick<Settings, 'dataDir' | 'temporalConfigured' | 'encryptionKeys'>;

const CALL_DEADLINE_MS = 10_000;
const SIGNAL_DEADLINE_MS = 5_000;
/** Deadline of a long poll, to which the server returns an empty response after at most 20 s. */
const POLL_DEADLINE_MS = 70_000;
const SIGNAL = /SignalWithStartWorkflowExecution$/;
const LONG_POLL = /GetWorkflowExecutionHistory|UpdateWorkflowExecution$|QueryWorkflow$/;

export async function temporalTarget(
  settings: Pick<Settings, 'dataDir' | 'temporalConfigured'>,
): Promise<TemporalTarget> {
  if (settings.temporalConfigured) {
    const { connectionOptions, namespace } = connectConfig();
    const address = connectionOptions.address ?? 'localhost:7233';
    return {
      address,
      namespace: namespace ?? 'default',
      isLocal: isLoopback(address),
      connection: { ...connectionOptions, address },
    };
  }
  const record = await readEmbeddedRecord(settings.dataDir);
  if (record === null) throw new TemporalError('temporal-not-started');
  const { address, namespace } = record;
  return { address, namespace, isLocal: true, connection: { address } };
}

function connectConfig(): ReturnType<typeof loadClientConnectConfig> {
  const files = Object.entries(process.env).filter(([name]) => /^TEMPORAL_.*(_PATH|CONFIG_FILE)$/.test(name));
  for (const [setting, path = ''] of files) {
    try {
      if (path !== '') readFileSync(path);
    } catch (error) {
      const { problem = messageOf(error) } = systemErrorIn(error) ?? {};
      throw new SettingsError([{ setting, message: `cannot be read: ${path}: ${problem}` }]);
    }
  }
  return loadClientConnectConfig();
}

export async function connectTemporal(
  settings: ClientSettings,
  { log, wait = false, signal }: ConnectOptions,
): Promise<TemporalConnection> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await connectOnce(settings);
    } catch (error) {
      if (!wait || !isUnreachable(error)) throw error;
      if (attempt % 15 === 0) log.warn({ reason: messageOf(error) }, 'waiting for Temporal');
      await sleep(Math.min(250 * 2 ** attempt, 2_000), undefined, { signal });
    }
  }
}

async function connectOnce(settings: ClientSettings): Promise<TemporalConnection> {
  const target = await temporalTarget(settings);
  const dataConverter = createDataConverter(await encryptionKeys(settings, target));
  const connection = await openConnection(target.connection);
  const { namespace, address } = target;
  try {
    await registerSearchAttributes(connection, namespace);
  } catch (error) {
    await connection.close();
    throw new TemporalError('temporal-unreachable', [address], { cause: error });
  }
  const tracing = activeTracing();
  const plugins = tracing === null ? [] : [tracing.plugin];
  return {
    client: new Client({ connection, namespace, dataConverter, plugins }),
    namespace,
    address,
    close: () => connection.close(),
  };
}

/** Registers the search attributes, of which a missing one blocks every workflow task. Several processes may call it at once. */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.values(SEARCH_ATTRIBUTES).filter((name) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return;
  const keyword = protos.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD;
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, keyword])),
  });
}

export interface TemporalLink {
  /** A single attempt: the caller retries. @throws temporal-unreachable and the errors of `work` */
  run<T>(work: (client: Client) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function openTemporalLink(settings: ClientSettings, options: { readonly log: Logger }): TemporalLink {
  let current: Promise<TemporalConnection> | null = null;
  const drop = (connection: Promise<TemporalConnection>): void => {
    if (current === connection) current = null;
    connection.then((opened) => opened.close()).catch(() => {});
  };
  return {
    async run(work) {
      current ??= connectTemporal(settings, options);
      const connection = current;
      try {
        const { client } = await connection;
        return await work(client);
      } catch (error) {
        if (isTransport(error)) drop(connection);
        throw error;
      }
    },
    async close() {
      if (current !== null) drop(current);
    },
  };
}

export async function openConnection(options: NativeConnectionOptions): Promise<Connection> {
  const retries = connectionRetries();
  class RetryingConnection extends Connection {
    override async close(): Promise<void> {
      await retries.end();
      await super.close();
    }
  }
  try {
    return await RetryingConnection.connect({
      ...(options as ConnectionOptions),
      connectTimeout: 3_000,
      // The library's default of 1 s would delay each connection to a server that is starting.
      channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100 },
      interceptors: [withDeadlines, retries.interceptor],
    });
  } catch (error) {
    throw new TemporalError('temporal-unreachable', [options.address ?? ''], { cause: error });
  }
}

type GrpcInterceptor = NonNullable<ConnectionOptions['interceptors']>[number];

const MAX_RETRY_DELAY_MS = 2_000;
const TIMER_MARGIN_MS = 50;

/**
 * The SDK retries from a timer, and a call on a closed channel throws there, uncaught. Closing a connection therefore
 * stops further retries and waits for those whose timer runs.
 */
function connectionRetries(): { readonly interceptor: GrpcInterceptor; end(): Promise<void> } {
  const { delayFunction, retryableDecider } = defaultGrpcRetryOptions();
  let isEnding = false;
  let lastRetryMs = 0;
  return {
    interceptor: makeGrpcRetryInterceptor({
      retryableDecider: (attempt, status) => !isEnding && retryableDecider(attempt, status),
      delayFunction(attempt, status) {
        const delayMs = Math.min(delayFunction(attempt, status), MAX_RETRY_DELAY_MS);
        lastRetryMs = Math.max(lastRetryMs, performance.now() + delayMs);
        return delayMs;
      },
    }),
    async end() {
      isEnding = true;
      const leftMs = lastRetryMs - performance.now();
      if (leftMs > 0) await sleep(leftMs + TIMER_MARGIN_MS);
    },
  };
}

/** The interceptor of deadlines is the first, so that a deadline spans the retries of the next one. */
const withDeadlines: GrpcInterceptor = (options, nextCall) => {
  const deadline = options.deadline ?? Date.now() + limitOf(options.method_definition.path);
  return nextCall({ ...options, deadline }) as ReturnType<GrpcInterceptor>;
};

function limitOf(method: string): number {
  if (SIGNAL.test(method)) return SIGNAL_DEADLINE_MS;
  return LONG_POLL.test(method) ? POLL_DEADLINE_MS : CALL_DEADLINE_MS;
}

function isLoopback(address: string): boolean {
  const host = address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

function isTransport(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isUnreachable(cause)) return true;
    if ('code' in cause && (cause.code === 14 || cause.code === 4)) return true;
  }
  return false;
}
