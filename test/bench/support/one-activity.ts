/** Runs workflows with one activity each on a server, worker and client in this process: prints one JSON line. */

import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { openConnection } from '../../../lib/temporal/connect.ts';

const [address = '', count = '300'] = process.argv.slice(2);
const AT_ONCE = 32;

Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address });
const taskQueue = `floor-${process.pid}`;
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('./one-activity-workflow.ts', import.meta.url)),
  activities: { answer: async (input: { readonly id: string }) => input },
});
const running = worker.run();
const clientConnection = await openConnection({ address });
const client = new Client({ connection: clientConnection });
await runAll(AT_ONCE, 'warm');
const [began, before] = [performance.now(), process.cpuUsage()];
console.log(JSON.stringify({ began: true }));
await runAll(Number(count), 'counted');
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ ms: performance.now() - began, cpuMs: (user + system) / 1000 }));
await clientConnection.close();
worker.shutdown();
await running;
await connection.close();

async function runAll(of: number, name: string): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let id = next++; id < of; id = next++) {
        const workflowId = `${taskQueue}/${name}/${id}`;
        await client.workflow.execute('oneActivity', { taskQueue, workflowId, args: [{ id: workflowId }] });
      }
    }),
  );
}
