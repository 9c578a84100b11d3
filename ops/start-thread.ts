/** Starts one of our modules as a thread, compiled or, in a checkout, as it is written. */

import { type ResourceLimits, Worker } from 'node:worker_threads';

/**
 * A thread does not inherit the loader that compiles TypeScript: in a checkout it is given one.
 *
 * @param module where the module lies, as `import.meta.url` gives it: `new URL('./reader-thread.js', import.meta.url)`
 * @param resourceLimits a thread that outgrows them ends with `ERR_WORKER_OUT_OF_MEMORY`, and nothing else does
 */
export function startThread(module: URL, workerData: unknown, resourceLimits?: ResourceLimits): Worker {
  const options = { workerData, ...(resourceLimits === undefined ? {} : { resourceLimits }) };
  if (!import.meta.url.endsWith('.ts')) return new Worker(module, options);
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const source = JSON.stringify(module.href.replace(/\.js$/, '.ts'));
  const program = `import(${loader}).then(({ register }) => { register(); return import(${source}); });`;
  return new Worker(program, { eval: true, ...options });
}
