/**
 * The thread that runs workflow code: the SDK's own, without two things that took most of its time and that nothing here needs (ADR 49).
 *
 * - The SDK looks at each promise that workflow code makes and settles, to show where a workflow waits, and compiles a function
 *   each time to learn whose promise it is.
 * - Each of some twenty calls into workflow code that an invoice takes is timed, for which Node starts a thread of its own. A call
 *   that does not end is noticed from outside instead (workflow-threads.ts).
 *
 * Plain CommonJS because it is started by its path, in a checkout as in the published package.
 */

const { ReusableVMWorkflowCreator } = require('@temporalio/worker/lib/workflow/reusable-vm');
const { globalHandlers } = require('@temporalio/worker/lib/workflow/vm-shared');

// The query for a stack is answered as before: there is none.
globalHandlers.setPromiseHook = () => {
  globalHandlers.promiseHookInstalled = true;
};

const { create } = ReusableVMWorkflowCreator;
ReusableVMWorkflowCreator.create = function createUntimed(bundle, _timeoutMs, ...rest) {
  return create.call(this, bundle, undefined, ...rest);
};

require('@temporalio/worker/lib/workflow/workflow-worker-thread');
