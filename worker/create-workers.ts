import type { Context } from '@temporalio/activity';
import type { DataConverter } from '@temporalio/common';
import {
  type ActivityInterceptors,
  type ActivityInterceptorsFactory,
  type InjectedSinks,
  type NativeConnection,
  Worker,
} from '@temporalio/worker';
import { translateErrors } from '../activities/failures.ts';
import { heartbeatEvery } from '../activities/heartbeat.ts';
import { TemporalError } from '../lib/temporal/errors.ts';
import { activeTracing } from '../lib/temporal/tracing.ts';
import { isUnencrypted } from '../lib/wire/names.ts';
import type { Queues } from '../workflows/activities.ts';
import type { InvoiceSinks } from '../workflows/messages.ts';
import type { WorkflowBundle } from './workflow-bundle.ts';

export interface WorkerParts {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly queues: Queues;
  readonly bundle: WorkflowBundle;
  readonly dataConverter: DataConverter;
  readonly billing: object;
  readonly warehouse: object;
  readonly interceptor?: ActivityInterceptorsFactory;
  readonly onForeignEvent?: (workflowId: string) => void;
}

/** The default of zero cancels running activities as soon as SIGTERM arrives. */
const SHUTDOWN_GRACE = '20 s';
/** Activities are given up before the 60 s that `up` has to stop. */
const SHUTDOWN_FORCE = '40 s';

export async function createWorkers(parts: WorkerParts): Promise<readonly [Worker, Worker]> {
  const tracing = activeTracing();
  const { interceptor } = parts;
  const activity = [
    refuseUnencrypted,
    heartbeatWhileRunning,
    ...(interceptor === undefined ? [] : [interceptor]),
    translateErrors,
  ];
  const common = {
    connection: parts.connection,
    namespace: parts.namespace,
    workflowBundle: parts.bundle,
    dataConverter: parts.dataConverter,
    interceptors: { activity },
    plugins: tracing === null ? [] : [tracing.plugin],
    sinks: createSinks(parts),
    shutdownGraceTime: SHUTDOWN_GRACE,
    shutdownForceTime: SHUTDOWN_FORCE,
    // An activity learns of its cancellation by a heartbeat; the default throttle delays that by 24 s.
    maxHeartbeatThrottleInterval: '1 s',
    defaultHeartbeatThrottleInterval: '1 s',
  } as const;
  return Promise.all([
    Worker.create({
      ...common,
      taskQueue: parts.queues.billing,
      activities: parts.billing,
      maxConcurrentActivityTaskExecutions: 32,
    }),
    Worker.create({
      ...common,
      taskQueue: parts.queues.warehouse,
      activities: parts.warehouse,
      // The writer runs one at a time; a few more may wait in the process, so that short ones need no poll first.
      maxConcurrentActivityTaskExecutions: 8,
    }),
  ]);
}

function createSinks({ onForeignEvent }: WorkerParts): InjectedSinks<InvoiceSinks> {
  return {
    invoices: {
      foreignEvent: { fn: ({ workflowId }) => onForeignEvent?.(workflowId), callDuringReplay: false },
    },
  };
}

export function refuseUnencrypted(): ActivityInterceptors {
  return {
    inbound: {
      async execute(input, next) {
        if (!input.args.some(isUnencrypted)) return next(input);
        throw new TemporalError('unencrypted-payload', ['an activity']);
      },
    },
  };
}

/** Activities that send their progress with each heartbeat; a heartbeat without details would erase it. */
const REPORT_PROGRESS = new Set(['surveyInvoices', 'verifyWarehouse']);
/** Well below the 15 s after which an attempt counts as lost. */
const HEARTBEAT_INTERVAL_MS = 3_000;

/** Sends heartbeats while an activity runs, so that an attempt interrupted by a kill -9 is retried within seconds. */
export function heartbeatWhileRunning(context: Context): ActivityInterceptors {
  const { activityType, heartbeatTimeoutMs } = context.info;
  if (heartbeatTimeoutMs === undefined || REPORT_PROGRESS.has(activityType)) return {};
  return {
    inbound: {
      async execute(input, next) {
        const heartbeats = heartbeatEvery(HEARTBEAT_INTERVAL_MS, () => context.heartbeat());
        try {
          return await next(input);
        } finally {
          heartbeats.stop();
        }
      },
    },
  };
}
