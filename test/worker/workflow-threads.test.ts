/** The thread that runs workflow code: nothing there is timed or traced call by call, and one that does not come back is ended. */

import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { DefaultLogger } from '@temporalio/worker';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endWhenStuck, useOwnWorkflowThread } from '../../worker/workflow-threads.ts';
import { eventually } from '../support/eventually.ts';
import { aRig } from './rig.ts';

const require = createRequire(import.meta.url);

let putBack: () => void;
beforeEach(() => {
  putBack = useOwnWorkflowThread();
});
afterEach(() => putBack());

/** As the SDK begins one for a worker. @param preload workflow code that is run at once */
async function begin(preload: string): Promise<void> {
  const { ThreadedVMWorkflowCreator } = require('@temporalio/worker/lib/workflow/threaded-vm');
  const creator = await ThreadedVMWorkflowCreator.create({
    workflowBundle: {
      code: `/* globalThis.__webpack_module_cache__ */
        var looks = 0;
        Object.defineProperty(globalThis, '__TEMPORAL_ACTIVATOR__', { get: () => { looks += 1; }, configurable: true });
        var __TEMPORAL__ = { api: { destroy() {} }, preloadModules() { ${preload} } };`,
      sourceMap: { version: 3, sources: [], names: [], mappings: '' },
      filename: 'bundle.js',
    },
    ...{ threadPoolSize: 1, isolateExecutionTimeoutMs: 1, reuseV8Context: true },
    ...{ registeredActivityNames: new Set(), logger: new DefaultLogger('ERROR') },
  });
  await creator.destroy();
}

test('a call into workflow code is not timed', async () => {
  await begin('for (const until = Date.now() + 50; Date.now() < until; ) {}');
});

test('a promise of workflow code is not looked at', async () => {
  await begin("Promise.resolve().then(() => 1); if (looks > 0) throw new Error('looked at');");
});

test('a thread that does not come back is ended, and what waits for it fails', async () => {
  const stuck = await aThread('for (;;) {}');
  const onStuck = vi.fn();
  endWhenStuck(stuck, 20, onStuck);
  stuck.postMessage({ requestId: 1n });
  const [code] = await once(stuck, 'exit');
  expect(code).toBe(1);
  expect(onStuck).toHaveBeenCalled();
});

test('after such a thread the SDK times each call itself, so that only the task that does not end fails', async () => {
  putBack();
  putBack = useOwnWorkflowThread(100);
  await expect(begin('for (;;) {}')).rejects.toThrow('exited');
  await expect(begin('for (;;) {}')).rejects.toThrow('timed out');
});

test('a thread that answers goes on, however long it is asked one thing after the other', async () => {
  const thread = await aThread('setTimeout(() => parentPort.postMessage({ requestId }), 40)');
  endWhenStuck(thread, 100, () => expect.fail('it answers'));
  for (let requestId = 0n; requestId < 20n; requestId += 1n) {
    thread.postMessage({ requestId });
    await once(thread, 'message');
  }
  expect(await thread.terminate()).toBe(1);
});

test('a worker whose thread was ended begins again, and loads what came meanwhile', async () => {
  const begun = noteThreads();
  const rig = await aRig();
  try {
    await rig.startTemporal();
    const worker = await rig.startWorker();
    await worker.ready;
    const ended = begun.splice(0);
    for (const thread of ended) await thread.terminate();
    const { invoiceId } = await rig.service.createInvoice({ tenant: 'One', rows: 3 });
    await rig.service.finalize(invoiceId);
    await rig.forward();
    await eventually(async () => (await worker.warehouse.invoice(invoiceId))?.state === 'loaded');
    expect(begun).toHaveLength(ended.length);
    expect(rig.logged()).toContain('no task is taken from Temporal; trying again');
  } finally {
    await rig.close();
  }
});

/** @returns each thread that the SDK begins from here on, until the end of the test */
function noteThreads(): Worker[] {
  const begun: Worker[] = [];
  const threads: { Worker: typeof Worker } = require('node:worker_threads');
  putBack();
  const plain = threads.Worker;
  threads.Worker = class extends plain {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      begun.push(this);
    }
  };
  const putOursBack = useOwnWorkflowThread();
  putBack = () => {
    putOursBack();
    threads.Worker = plain;
  };
  return begun;
}

/** @param answer what it does when it is asked for `requestId` */
async function aThread(answer: string): Promise<Worker> {
  const thread = new Worker(
    `const { parentPort } = require('node:worker_threads'); parentPort.on('message', ({ requestId }) => { ${answer} });`,
    { eval: true },
  );
  await once(thread, 'online');
  return thread;
}
