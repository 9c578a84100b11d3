/** Tells the worker, whose admin port shows it, how the other processes of `up` are; and ends one that hears nothing. */

import type { ComponentHealth } from '../../lib/health/health.ts';
import { createHealth } from '../../lib/health/health.ts';
import { NAMES, type UpProcess } from './child-process.ts';
import type { RoleContext } from './run-role.ts';
import { type EndpointState, reportEndpoint, watchEndpoint } from './watch-endpoint.ts';

const LOOK_EVERY_MS = 1_000;
/** Each says every second how it is. */
const SILENT_AFTER_MS = 15_000;
/** The event loop of one that is silent for so long stands still for good; a kill -9 loses nothing acknowledged. */
const KILLED_AFTER_MS = { webhook: 30_000, worker: 120_000 } as const;

export interface WatchOptions {
  readonly endpoint: UpProcess;
  readonly worker: UpProcess;
  readonly context: Pick<RoleContext, 'log' | 'alerts' | 'metrics'>;
}

export function watchProcesses({ endpoint, worker, context }: WatchOptions): { close(): void } {
  const { log, alerts, metrics } = context;
  const health = createHealth();
  let endpointState: EndpointState = { isHealthy: true, detail: '' };
  const tell = reportEndpoint({ health, alerts });
  const endpointWatch = watchEndpoint({
    url: () => (endpoint.state() === null ? null : (endpoint.addresses().webhook ?? null)),
    onState(state) {
      endpointState = state;
      tell(state);
    },
  });

  const timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
  async function look(): Promise<void> {
    for (const [role, child] of [
      ['webhook', endpoint],
      ['worker', worker],
    ] as const) {
      const silentMs = silenceOf(child);
      const key = `process/${role}-silent` as const;
      if (silentMs < SILENT_AFTER_MS) {
        alerts.resolve(key);
        continue;
      }
      const detail = `Nothing was heard of it for ${Math.round(silentMs / 1_000)} s; it is ended and started again when that goes on.`;
      alerts.raise({ key, title: `The process of the ${NAMES[role]} does not respond`, detail });
      if (silentMs < KILLED_AFTER_MS[role]) continue;
      log.error({ process: NAMES[role] }, 'a process does not respond and is killed');
      child.kill();
    }
    health.set('endpoint', endpointNow());
    // The worker answers for itself while it runs: between two ends of a loop, that it is ready would be misleading.
    health.set('worker-process', {
      isHealthy: !worker.isLooping(),
      detail: worker.isLooping()
        ? 'It ended repeatedly and was started again; its alert names the reason.'
        : '',
    });
    const state = endpoint.state()?.state;
    const components: Record<string, ComponentHealth> = {
      ...state?.components,
      ...health.report().components,
    };
    worker.tell({ kind: 'neighbour', name: 'webhook', state: { components, metrics: state?.metrics ?? '' } });
    const own = { components: {}, metrics: await metrics.ownText() };
    worker.tell({ kind: 'neighbour', name: 'up', state: own });
  }

  function endpointNow(): EndpointState {
    if (endpoint.isLooping())
      return { isHealthy: false, detail: 'Its process ended repeatedly and was started again.' };
    if (endpoint.state() === null) return { isHealthy: false, detail: 'Its process is being started again.' };
    if (silenceOf(endpoint) >= SILENT_AFTER_MS)
      return { isHealthy: false, detail: 'Its process does not respond.' };
    return endpointState;
  }

  return {
    close() {
      clearInterval(timer);
      endpointWatch.close();
    },
  };
}

/** 0 for one that is away: that is told by who starts it again. */
function silenceOf(child: UpProcess): number {
  const last = child.state();
  return last === null ? 0 : performance.now() - last.atMs;
}
