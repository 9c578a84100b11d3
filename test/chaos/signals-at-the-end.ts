/** 1,000 workflows, six signals around the end of each: all are processed and no handler is left unfinished. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { openConnection } from '../../temporal/connect.js';
import { startEmbeddedTemporal } from '../../temporal/embedded.js';
import { registerSearchAttributes } from '../../temporal/search-attributes.js';
import { createWorkers } from '../../worker/create-workers.js';
import { installRuntime } from '../../worker/runtime.js';
import { workflowBundle } from '../../worker/workflow-bundle.js';
import { anInvoiceRoute } from '../support/quick-route.js';
import { sendSignalsAroundTheEnd } from '../workflows/signals-at-the-end.js';
import { createTheatre } from '../workflows/theatre.js';

export const summary = '1,000 workflows with six signals around their end (signals-at-the-end [workflows])';

export async function main([count = '1000']: readonly string[]): Promise<void> {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  installRuntime(log);
  const dataDir = await mkdtemp(join(tmpdir(), 'signals-'));
  const server = await startEmbeddedTemporal({ dataDir, log });
  const connection = await openConnection({ address: server.address });
  const native = await NativeConnection.connect({ address: server.address });
  await registerSearchAttributes(connection, 'default');
  const client = new Client({ connection });
  const route = anInvoiceRoute();
  const theatre = createTheatre();
  const workers = await createWorkers({
    ...{ connection: native, namespace: 'default', queues: route.queues, dataConverter: {} },
    bundle: await workflowBundle(),
    ...{ billing: theatre.billing, warehouse: theatre.warehouse },
  });
  const running = Promise.all(workers.map((worker) => worker.run()));
  try {
    const began = performance.now();
    const workflows = Number(count);
    const figures = await sendSignalsAroundTheEnd(theatre, { client, route, workflows });
    const warnings = lines.filter((line) => /unfinished|TMPRL1102/i.test(line));
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    console.log(
      `${figures.workflows} workflows, ${figures.signals} signals, ${figures.processed} processed in ${figures.runs} runs, ${warnings.length} warnings of unfinished handlers, ${seconds} s`,
    );
    if (figures.processed !== figures.signals || warnings.length > 0) {
      throw new Error(`A signal was lost, or a handler left unfinished: ${warnings.slice(0, 3).join('')}`);
    }
  } finally {
    for (const worker of workers) worker.shutdown();
    await running;
    await native.close();
    await connection.close();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
