/** Temporal's client over the Temporal of a simulation. */

import type { Duration } from '@temporalio/common';
import { msToNumber } from '@temporalio/common/lib/time.js';
import type { VirtualTemporal, WorkflowStart } from './virtual-temporal.ts';

/** As much of Temporal's client as `temporal/invoice-client.ts` and the activities use. */
export function clientOf(temporal: VirtualTemporal): unknown {
  interface Options {
    readonly workflowId: string;
    readonly taskQueue: string;
    readonly args: readonly unknown[];
    readonly startDelay?: Duration;
    readonly signal: { readonly name: string };
    readonly signalArgs: readonly unknown[];
  }
  const startOf = (
    workflowType: string,
    { workflowId, taskQueue, args, startDelay = 0 }: Options,
  ): WorkflowStart => ({
    ...{ workflowType, workflowId, taskQueue, args, delayMs: msToNumber(startDelay) },
  });
  return {
    withDeadline: async (_deadline: number, work: () => Promise<unknown>) => work(),
    withAbortSignal: async (_signal: unknown, work: () => Promise<unknown>) => work(),
    workflow: {
      async signalWithStart(workflowType: string, options: Options) {
        temporal.signalWithStart(startOf(workflowType, options), options.signal.name, options.signalArgs);
      },
      async start(workflowType: string, options: Options) {
        temporal.assertThere();
        if (!temporal.isOpen(options.workflowId)) temporal.start(startOf(workflowType, options));
      },
      async *list() {
        temporal.assertThere();
        for (const workflowId of temporal.openIds()) yield { workflowId };
      },
    },
  };
}
