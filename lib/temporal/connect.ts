/**
 * Connects to Temporal, wherever it is: configured by Temporal's own variables, or embedded beside the data folder.
 *
 * Every call has a deadline: without one a call hangs 45 s and more when the server is stopped, and fails only after
 * 19 s when it is gone.
 */

import { readFileSync } from 'node:fs';
import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnectionOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { type Settings, SettingsError } from '../config/settings.ts';
import { messageOf, systemErrorIn } from '../system-errors.ts';
import { BillsyncError, EXIT } from '../wire/errors.ts';
import { createDataConverter } from './codec.ts';
import { readEmbeddedRecord } from './embedded-record.ts';
import { encryptionKeys } from './encryption-keys.ts';
import { pause } from './pause.ts';
import { registerSearchAttributes } from './search-attributes.ts';
import { activeTracing } from './tracing.ts';

/** Where Temporal is, as far as the settings and the data folder tell. */
export interface TemporalTarget {
  readonly address: string;
  readonly namespace: string;
  /** On this machine: embedded, or a loopback address. */
  readonly isLocal: boolean;
  /** TLS, API key and headers, for clients and workers alike. */
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
  /** Try until it works or `signal` aborts; else one try. */
  readonly wait?: boolean;
  readonly signal?: AbortSignal;
}

/** Nobody answers, or no server was ever started for the data folder. */
export class TemporalUnreachableError extends BillsyncError {
  readonly code = 'temporal-unreachable';
  override readonly exitCode = EXIT.unreachable;
  readonly address: string | null;

  constructor(address: string | null, options?: ErrorOptions) {
    super(
      address === null
        ? 'No Temporal server runs for this data folder. Start `billsync up` or `billsync temporal`, or set TEMPORAL_ADDRESS.'
        : `Temporal at ${address} does not answer. Start it, or correct TEMPORAL_ADDRESS.`,
      options,
    );
    this.address = address;
  }
}

const CALL_DEADLINE_MS = 10_000;
/** What the endpoint and its forwarder say; the forwarder tries again, for ever. */
const SIGNAL_DEADLINE_MS = 5_000;
/** Long polls: the server itself answers after 20 s at most, empty-handed. */
const POLL_DEADLINE_MS = 70_000;
const SIGNAL = /SignalWithStartWorkflowExecution$/;
const LONG_POLL = /GetWorkflowExecutionHistory|UpdateWorkflowExecution$|QueryWorkflow$/;

/** @throws TemporalUnreachableError when an embedded server is meant and none was started */
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
  if (record === null) throw new TemporalUnreachableError(null);
  const { address, namespace } = record;
  return { address, namespace, isLocal: true, connection: { address } };
}

/** Temporal's own variables. A file that one of them names has to be there. @throws SettingsError */
function connectConfig(): ReturnType<typeof loadClientConnectConfig> {
  const files = Object.entries(process.env).filter(([name]) => /^TEMPORAL_.*(_PATH|CONFIG_FILE)$/.test(name));
  for (const [setting, path = ''] of files) {
    try {
      if (path !== '') readFileSync(path);
    } catch (error) {
      const { words = messageOf(error) } = systemErrorIn(error) ?? {};
      throw new SettingsError([{ setting, message: `cannot be read: ${path}: ${words}` }]);
    }
  }
  return loadClientConnectConfig();
}

/**
 * A client with our codec, deadlines and search attributes in place.
 *
 * @throws TemporalUnreachableError, EncryptionKeyMissingError
 */
export async function connectTemporal(
  settings: Pick<Settings, 'dataDir' | 'temporalConfigured' | 'encryptionKeys'>,
  options: ConnectOptions,
): Promise<TemporalConnection> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await connectOnce(settings);
    } catch (error) {
      if (!options.wait || !(error instanceof TemporalUnreachableError)) throw error;
      if (attempt % 15 === 0) options.log.warn({ address: error.address }, 'waiting for Temporal');
      await pause(Math.min(250 * 2 ** attempt, 2_000), options.signal);
    }
  }
}

/** Calls with a client that follows Temporal to another address; for processes that outlive the server. */
export interface TemporalLink {
  /** One try: the caller owns retries. @throws TemporalUnreachableError and whatever `work` throws */
  run<T>(work: (client: Client) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A connection that is opened at the first use, kept, and opened anew after it broke. */
export function openTemporalLink(
  settings: Pick<Settings, 'dataDir' | 'temporalConfigured' | 'encryptionKeys'>,
  options: { readonly log: Logger },
): TemporalLink {
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
        // Whatever went wrong, a fresh connection costs little and the old one may point at a dead server.
        if (isTransport(error)) drop(connection);
        throw error;
      }
    },
    async close() {
      if (current !== null) drop(current);
    },
  };
}

async function connectOnce(
  settings: Pick<Settings, 'dataDir' | 'temporalConfigured' | 'encryptionKeys'>,
): Promise<TemporalConnection> {
  const target = await temporalTarget(settings);
  const dataConverter = createDataConverter(await encryptionKeys(settings, target));
  const connection = await openConnection(target.connection);
  const { namespace, address } = target;
  try {
    await registerSearchAttributes(connection, namespace);
  } catch (error) {
    await connection.close();
    throw new TemporalUnreachableError(address, { cause: error });
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

/** @throws TemporalUnreachableError after 3 s */
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
      // A second by default, which a server that is starting would be waited for each time.
      channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100 },
      interceptors: [withDeadlines, retries.interceptor],
    });
  } catch (error) {
    throw new TemporalUnreachableError(options.address ?? null, { cause: error });
  }
}

type GrpcInterceptor = NonNullable<ConnectionOptions['interceptors']>[number];

const MAX_RETRY_DELAY_MS = 2_000;
const TIMER_MARGIN_MS = 50;

/**
 * The SDK retries from a timer, and a call on a closed channel throws there, uncaught. So no further retry is begun, and those whose
 * timer runs are waited for, before a connection is closed.
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
      if (leftMs > 0) await pause(leftMs + TIMER_MARGIN_MS);
    },
  };
}

/** The first interceptor: its deadline spans the retries that the next one makes. */
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

/** gRPC's UNAVAILABLE and DEADLINE_EXCEEDED, however deep the SDK wrapped them, or no connection at all. */
function isTransport(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof TemporalUnreachableError) return true;
    if ('code' in cause && (cause.code === 14 || cause.code === 4)) return true;
  }
  return false;
}
