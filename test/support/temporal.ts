import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { inject } from 'vitest';
import { createDataConverter } from '../../lib/temporal/codec.ts';
import { connectTemporal, openConnection } from '../../lib/temporal/connect.ts';
import { createWorkers } from '../../worker/create-workers.ts';
import { installRuntime } from '../../worker/runtime.ts';
import type { Queues } from '../../workflows/activities.ts';

/** The same for every test process, since they share histories on one server. */
export const TEST_KEYS = [{ id: 'test', key: new Uint8Array(32).fill(7) }];
export const NAMESPACE = 'default';

export const foreignEvents: string[] = [];

export type TemporalForTests = Awaited<ReturnType<typeof connectForTests>>;

export async function connectForTests() {
  installRuntime(pino({ level: 'warn' }));
  const address = inject('temporalAddress');
  const connection = await openConnection({ address });
  const native = await NativeConnection.connect({ address });
  const dataConverter = createDataConverter(TEST_KEYS);
  return {
    client: new Client({ connection, namespace: NAMESPACE, dataConverter }),
    connection,
    native,
    async close() {
      await connection.close();
      await native.close();
    },
  };
}

export type RunningWorkers = Awaited<ReturnType<typeof startWorkers>>;

/** Both workers on the route's queues, until `stop`. Starting a pair costs half a second: share it within a file. */
export async function startWorkers(
  temporal: TemporalForTests,
  queues: Queues,
  activities: { readonly billing: object; readonly warehouse: object },
) {
  const workers = await createWorkers({
    connection: temporal.native,
    namespace: NAMESPACE,
    queues,
    bundle: { codePath: inject('workflowBundlePath') },
    dataConverter: createDataConverter(TEST_KEYS, { unencrypted: 'replace' }),
    ...activities,
    onForeignEvent: (workflowId) => foreignEvents.push(workflowId),
  });
  const runs = workers.map((worker) => worker.run());
  return {
    async stop() {
      for (const worker of workers) worker.shutdown();
      await Promise.all(runs.map((run) => run.catch(unlessStillCounted)));
    },
  };
}

/**
 * The SDK rarely reports that a drained worker is still in use because of its last poll. All work is done by
 * then, which the tests check.
 */
function unlessStillCounted(error: unknown): void {
  if (error instanceof Error && /Worker still in use/.test(error.message)) return;
  throw error;
}

/** @throws temporal-unreachable no server runs for that folder */
export async function withTemporalBeside<T>(
  dataDir: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const settings = { dataDir, temporalConfigured: false, encryptionKeys: [] };
  const connection = await connectTemporal(settings, { log: pino({ level: 'silent' }) });
  try {
    return await work(connection.client);
  } finally {
    await connection.close();
  }
}

declare module 'vitest' {
  export interface ProvidedContext {
    readonly temporalAddress: string;
    readonly workflowBundlePath: string;
  }
}
