/**
 * Reports, in health and by an alert, what happens to schedules and workflows without our doing: a scheduled run that failed or did not
 * start, a schedule that was removed, a workflow that was terminated. What was removed or terminated is started again.
 */

import { type Client, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Settings } from '../lib/config/settings.ts';
import type { CheckedState, Health, StateWatch } from '../lib/health/health.ts';
import { taskQueues } from '../lib/wire/names.ts';
import { scheduleWatch } from '../workflows/client/look-at-schedules.ts';
import { applySchedule, scheduleId, showSchedule } from '../workflows/client/schedule.ts';

const MINUTE_MS = 60_000;
/** How long a terminated workflow keeps its alert open. */
const TERMINATED_FOR_MS = 60 * MINUTE_MS;
const MAX_TERMINATED = 1_000;
const HEALTHY: CheckedState = { isHealthy: true, detail: '' };

export function temporalWatches({
  settings,
  health,
  queues = taskQueues(settings.environment),
  everyMs = MINUTE_MS,
  now = () => new Date(),
}: {
  readonly settings: Pick<Settings, 'environment' | 'reconcileEvery'>;
  readonly health: Pick<Health, 'report'>;
  readonly queues?: { readonly billing: string; readonly warehouse: string };
  readonly everyMs?: number;
  readonly now?: () => Date;
}): {
  readonly watches: readonly StateWatch[];
  /** From now on this client is asked. */
  ask(client: Client): void;
} {
  const lookAtRuns = scheduleWatch(settings, now());
  const reconciled = new Set<string>();
  let asked: Client | null = null;

  /** While Temporal is away, which has an alert of its own, the last answer stays. */
  function whileConnected(look: (client: Client) => Promise<CheckedState>): () => Promise<CheckedState> {
    let last = HEALTHY;
    return async () => {
      if (asked === null || health.report().components.temporal?.isHealthy !== true) return last;
      last = await look(asked);
      return last;
    };
  }

  async function lookAtSchedules(client: Client): Promise<CheckedState> {
    if ((await showSchedule(client, settings)) !== null) return lookAtRuns(client, now());
    await applySchedule(client, settings, queues);
    return { isHealthy: false, detail: 'reconciliation: its schedule had been removed, and was made again' };
  }

  async function lookAtTerminated(client: Client): Promise<CheckedState> {
    const since = new Date(now().getTime() - TERMINATED_FOR_MS).toISOString();
    const found = await terminatedSince(client, Object.values(queues), since);
    if (found.length === 0) return HEALTHY;
    if (found.some(({ runId }) => !reconciled.has(runId))) {
      // Takes in what the archive has and starts every unfinished invoice; buffered, since a run of now may be past that.
      const schedule = client.schedule.getHandle(scheduleId(settings.environment));
      await schedule.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
      for (const { runId } of found) reconciled.add(runId);
    }
    const [first] = found;
    const count = found.length === MAX_TERMINATED ? `${MAX_TERMINATED} or more` : String(found.length);
    return {
      isHealthy: false,
      detail: `${count} within the last hour, the latest ${first?.workflowId}. A reconciliation was started; it continues all unfinished invoices from the archive. A backfill has to be started again.`,
    };
  }

  return {
    ask(client) {
      asked = client;
    },
    watches: [
      {
        component: 'schedule',
        isOutside: true,
        everyMs,
        alert: { key: 'schedule', title: 'A scheduled job failed or did not run' },
        look: whileConnected(lookAtSchedules),
      },
      {
        component: 'workflows',
        isOutside: true,
        everyMs,
        alert: { key: 'temporal/terminated', title: 'Workflows were terminated from outside' },
        look: whileConnected(lookAtTerminated),
      },
    ],
  };
}

/** billsync itself terminates and cancels no workflow. Latest first. */
async function terminatedSince(client: Client, queues: readonly string[], since: string) {
  const ours = queues.map((queue) => `TaskQueue = '${queue}'`).join(' OR ');
  const query = `ExecutionStatus IN ('Terminated', 'Canceled') AND CloseTime > '${since}' AND (${ours})`;
  const found: { readonly workflowId: string; readonly runId: string }[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query, pageSize: MAX_TERMINATED })) {
    found.push({ workflowId, runId });
    if (found.length === MAX_TERMINATED) break;
  }
  return found;
}
