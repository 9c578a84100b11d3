/** A Temporal server and both workers with the activities of a test, for programs that run thousands of workflows. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Logger } from '../../lib/log/log.ts';
import { openConnection, registerSearchAttributes } from '../../lib/temporal/connect.ts';
import { startEmbeddedTemporal } from '../../lib/temporal/embedded.ts';
import { createWorkers } from '../../worker/create-workers.ts';
import { installRuntime } from '../../worker/runtime.ts';
import { workflowBundle } from '../../worker/workflow-bundle.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';

type Activities = Pick<Parameters<typeof createWorkers>[0], 'billing' | 'warehouse'>;

export async function startRealWorkers(log: Logger, activities: Activities) {
  installRuntime(log);
  const dataDir = await mkdtemp(join(tmpdir(), 'billsync-chaos-'));
  const server = await startEmbeddedTemporal({ dataDir, log });
  const connection = await openConnection({ address: server.address });
  const native = await NativeConnection.connect({ address: server.address });
  await registerSearchAttributes(connection, 'default');
  const route = anInvoiceRoute();
  const workers = await createWorkers({
    ...{ connection: native, namespace: 'default', queues: route.queues, dataConverter: {} },
    bundle: await workflowBundle(),
    ...activities,
  });
  const running = Promise.all(workers.map((worker) => worker.run()));
  return {
    client: new Client({ connection }),
    route,
    async close(): Promise<void> {
      for (const worker of workers) worker.shutdown();
      await running;
      await native.close();
      await connection.close();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
