/**
 * Has the SDK run workflow code in our form of its thread (`workflow-thread.cjs`, which says why), and looks after it: a
 * thread that does not come back is ended. Its worker fails then, and is begun again as after any other failure, in the SDK's own thread.
 */

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';

const require = createRequire(import.meta.url);
const threads: { Worker: typeof Worker } = require('node:worker_threads');
const THEIRS = require.resolve('@temporalio/worker/lib/workflow/workflow-worker-thread');
const OURS = fileURLToPath(new URL('./workflow-thread.cjs', import.meta.url));

const LOOK_EVERY_MS = 5_000;
/** So many looks find the same call at work: half a minute. What a workflow does in one go takes milliseconds. */
const LOOKS = 6;

let isInPlace = false;

/**
 * To be called before the first worker is made; once is enough. The SDK has no setting for the thread it starts. After a thread
 * that did not come back, the next are the SDK's own: the workflow that held it up is begun again too, and there only its own
 * task fails.
 * @returns puts the SDK's own back
 */
export function useOwnWorkflowThread(everyMs = LOOK_EVERY_MS): () => void {
  if (isInPlace) return () => undefined;
  isInPlace = true;
  let wasStuck = false;
  const theirs = threads.Worker;
  threads.Worker = new Proxy(theirs, {
    construct(target, [file, ...rest], newTarget) {
      if (file !== THEIRS || wasStuck) return Reflect.construct(target, [file, ...rest], newTarget) as Worker;
      const thread = Reflect.construct(target, [OURS, ...rest], newTarget) as Worker;
      endWhenStuck(thread, everyMs, () => {
        wasStuck = true;
      });
      return thread;
    },
  });
  return () => {
    threads.Worker = theirs;
    isInPlace = false;
  };
}

/** The SDK numbers what it asks of the thread, and the answer has that number. Looks are counted: a process that was stopped is not late. */
export function endWhenStuck(
  thread: Pick<Worker, 'postMessage' | 'on' | 'terminate'>,
  everyMs: number,
  onStuck: () => void,
): void {
  const asked = new Set<unknown>();
  const post = thread.postMessage.bind(thread);
  thread.postMessage = (message, transfer) => {
    asked.add(numberOf(message));
    post(message, transfer as never);
  };
  thread.on('message', (message) => asked.delete(numberOf(message)));
  let oldest: unknown;
  let looks = 0;
  const looking = setInterval(() => {
    const [first] = asked;
    looks = first !== undefined && first === oldest ? looks + 1 : 0;
    oldest = first;
    if (looks < LOOKS) return;
    onStuck();
    void thread.terminate();
  }, everyMs).unref();
  thread.on('exit', () => clearInterval(looking));
}

function numberOf(message: unknown): unknown {
  return (message as { readonly requestId?: unknown } | null)?.requestId;
}
