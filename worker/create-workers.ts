/** The two Temporal workers of a process: `billing` for network work, `warehouse` beside the one writer. */

import type { DataConverter } from '@temporalio/common';
import {
  type ActivityInterceptorsFactory,
  type InjectedSinks,
  type NativeConnection,
  Worker,
} from '@temporalio/worker';
import { activeTracing } from '../lib/temporal/tracing.ts';
import type { InvoiceSinks } from '../workflows/messages.ts';
import { beatWhileRunning } from './beat-while-running.ts';
import { refuseUnencrypted } from './refuse-unencrypted.ts';
import type { WorkflowBundle } from './workflow-bundle.ts';

export interface QueueNames {
  readonly billing: string;
  readonly warehouse: string;
}

export interface WorkerParts {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly queues: QueueNames;
  readonly bundle: WorkflowBundle;
  readonly dataConverter: DataConverter;
  /** By name; `createBillingActivities` and `createWarehouseActivities` make them. */
  readonly billing: object;
  readonly warehouse: object;
  /** Sees every attempt of every activity. */
  readonly watch?: ActivityInterceptorsFactory;
  /** Told of an event of another invoice that was sent to this workflow; once, not when its history is read again. */
  readonly onForeignEvent?: (workflowId: string) => void;
}

/** Zero, the default, cancels running activities the moment SIGTERM comes. */
const SHUTDOWN_GRACE = '20 s';
/** Below the 60 s that `up` has to be gone. */
const SHUTDOWN_FORCE = '40 s';

export async function createWorkers(parts: WorkerParts): Promise<readonly [Worker, Worker]> {
  const tracing = activeTracing();
  const activity = [refuseUnencrypted, beatWhileRunning, ...(parts.watch === undefined ? [] : [parts.watch])];
  const common = {
    connection: parts.connection,
    namespace: parts.namespace,
    workflowBundle: parts.bundle,
    dataConverter: parts.dataConverter,
    interceptors: { activity },
    plugins: tracing === null ? [] : [tracing.plugin],
    sinks: sinksOf(parts),
    shutdownGraceTime: SHUTDOWN_GRACE,
    shutdownForceTime: SHUTDOWN_FORCE,
    // A cancelled download is told with its next heartbeat; the default throttle makes that 24 s.
    maxHeartbeatThrottleInterval: '1 s',
    defaultHeartbeatThrottleInterval: '1 s',
  } as const;
  // Each starts a thread of its own and waits for it.
  const billing = Worker.create({
    ...common,
    taskQueue: parts.queues.billing,
    activities: parts.billing,
    maxConcurrentActivityTaskExecutions: 32,
  });
  const warehouse = Worker.create({
    ...common,
    taskQueue: parts.queues.warehouse,
    activities: parts.warehouse,
    // The writer takes turns inside; a few may wait there, so that the small ones are not behind a poll.
    maxConcurrentActivityTaskExecutions: 8,
  });
  return Promise.all([billing, warehouse]);
}

function sinksOf({ onForeignEvent }: WorkerParts): InjectedSinks<InvoiceSinks> {
  return {
    invoices: {
      foreignEvent: { fn: ({ workflowId }) => onForeignEvent?.(workflowId), callDuringReplay: false },
    },
  };
}
