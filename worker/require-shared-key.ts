import { type Client, isGrpcServiceError, ScheduleNotFoundError } from '@temporalio/client';
import type { Settings } from '../lib/config/settings.ts';
import { isTemporalError } from '../lib/temporal/errors.ts';
import type { Queues } from '../workflows/activities.ts';
import { scheduleId } from '../workflows/client/schedules.ts';

const MAX_RUNS = 10;
const PERMISSION_DENIED = 7;

/**
 * Compares the key with that of the processes before, by which Temporal's data are encrypted: the schedule, else an open workflow. A
 * worker with another key would take tasks that it cannot read. @throws unknown-encryption-key, undecryptable-payload; any other error:
 * it is not known
 */
export async function requireSharedKey(
  client: Client,
  { environment }: Pick<Settings, 'environment'>,
  queues: Queues,
): Promise<void> {
  try {
    await client.schedule.getHandle(scheduleId(environment)).describe();
    return;
  } catch (error) {
    // Another program may have made the schedule, and our account may have no right to read it.
    const isSilent = error instanceof ScheduleNotFoundError || isTemporalError(error, 'unencrypted-payload');
    if (!isSilent && !isDenied(error)) throw error;
  }
  const ours = Object.values(queues).map((queue) => `TaskQueue = '${queue}'`);
  const query = `ExecutionStatus = 'Running' AND (${ours.join(' OR ')})`;
  let read = 0;
  for await (const { workflowId, runId } of client.workflow.list({ query, pageSize: MAX_RUNS })) {
    if (await isReadable(client, { workflowId, runId })) return;
    read += 1;
    if (read === MAX_RUNS) return;
  }
}

/** Returns false when the payload is not encrypted. */
async function isReadable(
  client: Client,
  execution: { readonly workflowId: string; readonly runId: string },
): Promise<boolean> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    ...{ namespace: client.options.namespace, execution, maximumPageSize: 1 },
  });
  const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const { workflowId } = execution;
  const context = { type: 'workflow', namespace: client.options.namespace, workflowId } as const;
  try {
    for (const codec of client.options.loadedDataConverter.payloadCodecs)
      await codec.decode(payloads, context);
    return true;
  } catch (error) {
    if (isTemporalError(error, 'unencrypted-payload')) return false;
    throw error;
  }
}

function isDenied(error: unknown): boolean {
  const { cause } = error instanceof Error ? error : {};
  return isGrpcServiceError(cause) && Number(cause.code) === PERMISSION_DENIED;
}
