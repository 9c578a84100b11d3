/**
 * `up` looks after two processes: the endpoint, and the worker with the admin port. It does no work of its own, so that
 * nothing the worker meets (a damaged file, no memory, a fault of the engine) can take the endpoint with it: the
 * service tells a thing only twice (ADR 13).
 */

import { realpath } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireService, type Settings } from '../../lib/config/settings.ts';
import { lockOwner } from '../../lib/files/lock-file.ts';
import { claimDataFolder, warehousePaths } from '../../warehouse/data-folder.ts';
import { warehouseLocked } from '../../warehouse/errors.ts';
import { startProcess } from './child-process.ts';
import { type RoleContext, type RunningRole, startParts } from './run-role.ts';
import { refuseTakenPorts } from './taken-ports.ts';
import { endOrphans, takeUpLock } from './up-lock.ts';
import { watchProcesses } from './watch-processes.ts';

/** With our own Temporal `ready` means that work is taken; a configured one may be away, then it is waited for behind. */
const READY_WITHIN_MS = 30_000;

/** @throws CliError (exit 8) another `up` or `worker` has this data folder; else what keeps a part from starting */
export async function startUpRole(given: RoleContext): Promise<RunningRole> {
  const { log, stopping } = given;
  requireService(given.settings);
  await claimDataFolder(given.settings.dataDir, given.settings.environment);
  // Processes are found by the folder they were started for, however it was spelled.
  const settings: Settings = { ...given.settings, dataDir: await realpath(given.settings.dataDir) };
  const context: RoleContext = { ...given, settings };
  return startParts(log, async (parts) => {
    const lock = await takeUpLock(settings);
    parts.add('lock', () => lock.release());
    await endOrphans(settings, log);
    await refuseWriter(context);
    await refuseTakenPorts(settings);

    // All at once: each takes a while to load, and waits for the others by itself. The server first, since it needs nobody's code.
    const temporal = settings.temporalConfigured ? null : startTemporal(context);
    // The worker and the forwarder say goodbye to Temporal, so it goes last.
    parts.add('temporal', async () => (await temporal?.catch(() => null))?.close());
    const endpoint = startProcess({
      ...{ role: 'webhook', context },
      settings: ({ webhook }) => ({ ...settings, webhook: withPort(settings.webhook, webhook) }),
    });
    const worker = startProcess({
      ...{ role: 'worker', context },
      settings: ({ dashboard }) => ({ ...settings, admin: withPort(settings.admin, dashboard) }),
    });
    parts.add('endpoint', () => endpoint.close());
    parts.add('worker', () => worker.close());

    const watching = watchProcesses({ endpoint, worker, context });
    parts.add('watch', async () => watching.close());
    await unlessStopped(stopping, [endpoint.started, worker.started, temporal]);
    if (temporal !== null)
      await Promise.race([worker.polling, sleep(READY_WITHIN_MS, undefined, { signal: stopping })]);
    const addresses = { ...endpoint.addresses(), ...(await temporal)?.addresses, ...worker.addresses() };
    return { addresses, close: () => parts.close() };
  });
}

async function startTemporal(context: RoleContext): Promise<RunningRole> {
  const { startTemporalRole } = await import('./temporal-role.ts');
  return startTemporalRole(context);
}

/** Whoever found a free port keeps it, so that the service's registration stays right. */
function withPort<T extends { readonly port: number }>(wanted: T, address: string | undefined): T {
  return address === undefined ? wanted : { ...wanted, port: Number(new URL(address).port) || wanted.port };
}

function unlessStopped(stopping: AbortSignal, parts: readonly (Promise<unknown> | null)[]): Promise<unknown> {
  const stopped = new Promise<never>((_, reject) => {
    if (stopping.aborted) reject(stopping.reason);
    stopping.addEventListener('abort', () => reject(stopping.reason), { once: true });
  });
  return Promise.race([Promise.all(parts), stopped]);
}

/** One that was killed while it wrote to disk takes a moment to be gone. */
const DYING_WITHIN_MS = 2_000;

/** Before anything listens, so that the refusal says who is there and not that a port is taken. */
async function refuseWriter({ settings, stopping }: RoleContext): Promise<void> {
  if (settings.warehouse.kind !== 'duckdb') return;
  const { lock, database } = warehousePaths(settings);
  const deadline = Date.now() + DYING_WITHIN_MS;
  for (let owner = await lockOwner(lock); owner !== null; owner = await lockOwner(lock)) {
    if (Date.now() > deadline) throw warehouseLocked(database, owner);
    await sleep(100, undefined, { signal: stopping });
  }
}
