/** `up` does no work of its own, so that a failure of the worker leaves the endpoint running (ADR 13). */

import { once } from 'node:events';
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireService, type Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { type LockFile, takeLock } from '../../lib/files/lock-file.ts';
import { createHealth } from '../../lib/health/health.ts';
import { findProcesses, isAlive } from '../../lib/processes.ts';
import { claimDataFolder } from '../../warehouse/data-folder.ts';
import { CliError, EXIT } from '../errors.ts';
import { argumentsOf, CHILD_ROLES, NAMES, startProcess, type UpProcess } from './child-process.ts';
import { type RoleContext, type RunningRole, startParts } from './run-role.ts';
import { reportEndpoint, watchEndpoint } from './watch-endpoint.ts';

const LOCK_WITHIN_MS = 2_000;
const ORPHANS_END_WITHIN_MS = 5_000;
const FORWARD_EVERY_MS = 1_000;
/** An event loop that blocks for this long does not recover. A kill loses nothing that was acknowledged. */
const KILLED_AFTER_MS = { webhook: 30_000, worker: 120_000 } as const;

/** @throws CliError (exit 8) another `up` runs for this data folder; the error of a part that cannot start */
export async function startUpRole(given: RoleContext): Promise<RunningRole> {
  const { log, stopping } = given;
  requireService(given.settings);
  await claimDataFolder(given.settings.dataDir, given.settings.environment);
  // The real path, because processes are found by it.
  const settings: Settings = { ...given.settings, dataDir: await realpath(given.settings.dataDir) };
  const context: RoleContext = { ...given, settings };
  return startParts(log, async (parts) => {
    const lock = await takeUpLock(settings);
    parts.add('lock', () => lock.release());
    await endOrphans(settings);
    const temporal = settings.temporalConfigured ? null : startTemporalRole(context);
    parts.add('temporal', async () => (await temporal?.catch(() => null))?.close());
    const endpoint = startProcess({
      ...{ role: 'webhook', context },
      settings: ({ webhook }) => ({ ...settings, webhook: withPort(settings.webhook, webhook) }),
    });
    parts.add('endpoint', () => endpoint.close());
    const worker = startProcess({
      ...{ role: 'worker', context },
      settings: ({ dashboard }) => ({ ...settings, admin: withPort(settings.admin, dashboard) }),
    });
    parts.add('worker', () => worker.close());
    const watch = watchProcesses({ endpoint, worker, context });
    parts.add('watch', async () => watch.close());
    stopping.throwIfAborted();
    const stopped = once(stopping, 'abort').then(() => Promise.reject(stopping.reason));
    await Promise.race([Promise.all([endpoint.started, worker.started, temporal]), stopped]);
    const addresses = { ...endpoint.addresses(), ...(await temporal)?.addresses, ...worker.addresses() };
    return { addresses, close: () => parts.close() };
  });
}

export async function startTemporalRole({ settings, log }: RoleContext): Promise<RunningRole> {
  await claimDataFolder(settings.dataDir, settings.environment);
  const { startEmbeddedTemporal } = await import('../../lib/temporal/embedded.ts');
  const address = process.env.TEMPORAL_ADDRESS;
  const server = await startEmbeddedTemporal({
    dataDir: settings.dataDir,
    log,
    ...(address ? { address } : {}),
    onProgress: (line) => log.info(line),
  });
  return { addresses: { temporal: server.address }, close: () => server.stop() };
}

async function takeUpLock({ dataDir }: Settings): Promise<LockFile> {
  const folder = dataFolder(dataDir).run;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return takeLock(join(folder, 'up.lock'), {
    ...{ role: 'up', now: new Date(), patienceMs: LOCK_WITHIN_MS },
    refusal: (_, owner) =>
      new CliError(
        EXIT.locked,
        `another \`billsync up\` runs for this data folder${owner === null ? '' : ` (pid ${owner.pid})`}`,
        { subject: dataDir, hint: 'stop it first, or set another BILLSYNC_DATA_DIR' },
      ),
  });
}

/** They end by themselves unless they are frozen or blocked. */
async function endOrphans(settings: Settings): Promise<void> {
  const orphans = () =>
    CHILD_ROLES.flatMap((role) => findProcesses(argumentsOf(role, settings))).filter(isAlive);
  const deadline = performance.now() + ORPHANS_END_WITHIN_MS;
  for (let left = orphans(); left.length > 0; left = orphans()) {
    if (performance.now() > deadline)
      throw new Error(`Process ${left.join(', ')} of an earlier \`up\` does not end.`);
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended meanwhile.
      }
    }
    await sleep(25);
  }
}

function watchProcesses(watched: {
  readonly endpoint: UpProcess;
  readonly worker: UpProcess;
  readonly context: Pick<RoleContext, 'log' | 'alerts' | 'metrics'>;
}): { close(): void } {
  const { endpoint, worker } = watched;
  const { log, alerts, metrics } = watched.context;
  const health = createHealth();
  const probe = watchEndpoint({
    url: () => (endpoint.state() === null ? null : (endpoint.addresses().webhook ?? null)),
    onState: reportEndpoint({ health, alerts }),
  });
  const timer = setInterval(() => void forwardStates(), FORWARD_EVERY_MS).unref();
  async function forwardStates(): Promise<void> {
    for (const [role, child] of [['webhook', endpoint] as const, ['worker', worker] as const]) {
      if (child.silentMs() < KILLED_AFTER_MS[role]) continue;
      log.error({ process: NAMES[role] }, 'a process does not respond and is killed');
      child.kill();
    }
    const state = endpoint.state();
    if (state === null)
      health.set('endpoint', { isHealthy: false, detail: 'Its process is being restarted.' });
    const components = { ...state?.components, ...health.report().components };
    worker.send({ kind: 'neighbour', name: 'webhook', state: { components, metrics: state?.metrics ?? '' } });
    const own = { components: {}, metrics: await metrics.ownText() };
    worker.send({ kind: 'neighbour', name: 'up', state: own });
  }
  return {
    close() {
      clearInterval(timer);
      probe.close();
    },
  };
}

/** Keeps a port that was free at the first start, so that the registration of the endpoint stays right. */
function withPort<T extends { readonly port: number }>(settings: T, address: string | undefined): T {
  return address === undefined
    ? settings
    : { ...settings, port: Number(new URL(address).port) || settings.port };
}
