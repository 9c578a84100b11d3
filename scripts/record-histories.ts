/**
 * Records a history for each scene of test/histories/scenes.ts that has none: `npm run record-histories [-- NAME…]`.
 * An old history shows that runs in progress still replay, so none is replaced. Payloads are in clear text; nothing
 * in them is real.
 */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { openConnection } from '../lib/temporal/connect.ts';
import { startEmbeddedTemporal } from '../lib/temporal/embedded.ts';
import { temporalExecutable } from '../lib/temporal/server-executable.ts';
import { HISTORY_SCENES } from '../test/histories/scenes.ts';
import { anInvoiceRoute } from '../test/support/quick-route.ts';
import { createScenes } from '../test/workflows/invoice-scenes.ts';
import { createWorkers } from '../worker/create-workers.ts';
import { installRuntime } from '../worker/runtime.ts';
import { workflowBundle } from '../worker/workflow-bundle.ts';

/** Fields that a replay does not read: they name the machine, or repeat the input. */
const UNREAD = new Set([
  ...[
    'identity',
    'requestId',
    'requestIds',
    'taskId',
    'stackTrace',
    'meteringMetadata',
    'workerVersion',
    'links',
  ],
  ...[
    'retryPolicy',
    'historySizeBytes',
    'firstWorkflowTaskBackoff',
    'originalExecutionRunId',
    'eventGroupMarkers',
  ],
  ...['scheduleToCloseTimeout', 'scheduleToStartTimeout', 'startToCloseTimeout', 'heartbeatTimeout'],
]);

function trimmed(history: string): string {
  const { events } = JSON.parse(history, (key, value) => {
    if (UNREAD.has(key)) return undefined;
    if (key === 'activityTaskScheduledEventAttributes') return { ...value, input: undefined };
    // A sticky queue is named after the process and its host.
    return typeof value === 'string' ? value.replace(/^\d+@[^-]+-(?=[0-9a-f]{32}$)/, 'recorded-') : value;
  }) as { readonly events: readonly unknown[] };
  return `{"events":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}\n`;
}

function selectHistories(files: readonly string[]): readonly string[] {
  const requested = process.argv.slice(2);
  const scenes = Object.keys(HISTORY_SCENES);
  const unknown = requested.filter((name) => !scenes.includes(name));
  const recorded = requested.filter((name) => files.includes(`${name}.json`));
  if (unknown.length > 0) {
    refuse(`There is no behaviour ${unknown.join(', ')}; test/histories/scenes.ts has them.`);
  }
  if (recorded.length > 0) {
    refuse(
      `${recorded.join(', ')} is recorded already. An old history shows that runs in progress still replay: ` +
        'give the changed behaviour a new name, and keep the old file.',
    );
  }
  return requested.length > 0 ? requested : scenes.filter((name) => !files.includes(`${name}.json`));
}

function refuse(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(2);
}

const folder = join(import.meta.dirname, '..', 'test', 'histories');
await mkdir(folder, { recursive: true });
const selected = selectHistories(await readdir(folder));
if (selected.length === 0) {
  process.stderr.write('Every behavior has its history.\n');
  process.exit(0);
}
const log = pino({ level: 'error' });
installRuntime(log);

const dataDir = await mkdtemp(join(tmpdir(), 'billsync-record-'));
const server = await startEmbeddedTemporal({
  dataDir,
  log,
  // So that a behavior which continues as new does so after a page of events, not after four thousand.
  dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': '60' },
});
const connection = await openConnection({ address: server.address });
const temporal = await temporalExecutable({});
const native = await NativeConnection.connect({ address: server.address });
const client = new Client({ connection });
const route = anInvoiceRoute();
const scenes = createScenes();
scenes.open(client, route);
const workers = await createWorkers({
  ...{ connection: native, namespace: 'default', queues: route.queues, dataConverter: {} },
  bundle: await workflowBundle(),
  billing: scenes.billing,
  warehouse: scenes.warehouse,
});
const runs = workers.map((worker) => worker.run());
try {
  for (const [name, scene] of Object.entries(HISTORY_SCENES)) {
    if (!selected.includes(name)) continue;
    const workflowId = await scene({ scenes, client, route });
    const { runId, raw } = await client.workflow.getHandle(workflowId).describe();
    const runIds = new Set([raw.workflowExecutionInfo?.firstRunId ?? runId, runId]);
    for (const [index, run] of [...runIds].entries()) {
      const show = ['workflow', 'show', '--workflow-id', workflowId, '--run-id', run, '--output', 'json'];
      const { stdout } = await promisify(execFile)(temporal, [...show, '--address', server.address]);
      const file = index === 0 ? `${name}.json` : `${name}-${index + 1}.json`;
      await writeFile(join(folder, file), trimmed(stdout), { flag: 'wx' });
      process.stderr.write(`${file}\n`);
    }
  }
} finally {
  for (const worker of workers) worker.shutdown();
  await Promise.all(runs);
  await native.close();
  await connection.close();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
