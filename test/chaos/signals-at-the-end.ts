/** 1,000 workflows with six signals around the end of each: all are processed and no handler is left unfinished. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import type { Logger } from '../../lib/log/log.ts';
import { openConnection, registerSearchAttributes } from '../../lib/temporal/connect.ts';
import { startEmbeddedTemporal } from '../../lib/temporal/embedded.ts';
import { createWorkers } from '../../worker/create-workers.ts';
import { installRuntime } from '../../worker/runtime.ts';
import { workflowBundle } from '../../worker/workflow-bundle.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { createScenes } from '../workflows/invoice-scenes.ts';
import { sendSignalsAroundTheEnd } from '../workflows/signals-at-the-end.ts';

export const summary = '1,000 workflows with six signals around their end (signals-at-the-end [workflows])';

export async function main([count = '1000']: readonly string[]): Promise<void> {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const scenes = createScenes();
  const { billing, warehouse } = scenes;
  const workers = await startRealWorkers(log, { billing, warehouse });
  const { client, route } = workers;
  try {
    const began = performance.now();
    const workflows = Number(count);
    const counts = await sendSignalsAroundTheEnd(scenes, { client, route, workflows });
    const warnings = lines.filter((line) => /unfinished|TMPRL1102/i.test(line));
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    console.log(
      `${counts.workflows} workflows, ${counts.signals} signals, ${counts.processed} processed in ${counts.runs} runs, ${warnings.length} warnings of unfinished handlers, ${seconds} s`,
    );
    if (counts.processed !== counts.signals || warnings.length > 0) {
      throw new Error(`A signal was lost, or a handler left unfinished: ${warnings.slice(0, 3).join('')}`);
    }
  } finally {
    await workers.close();
  }
}

type Activities = Pick<Parameters<typeof createWorkers>[0], 'billing' | 'warehouse'>;

async function startRealWorkers(log: Logger, activities: Activities) {
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
