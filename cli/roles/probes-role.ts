/** Probes and metrics of a role that runs beside a worker, or on a machine of its own. */

import { startProbes } from '../../dashboard/probes.ts';
import { temporalTarget } from '../../lib/temporal/connect.ts';
import type { RoleContext, RunningRole } from './run-role.ts';

/**
 * The worker owns the admin port (ADR 13). Only where Temporal is on another machine can we be alone on
 * ours; beside a worker, which may just not run yet, we take a free port, so that nobody's address ever changes hands.
 */
export async function startProbesRole(context: RoleContext): Promise<RunningRole> {
  const { settings } = context;
  const isBesideWorker = await temporalTarget(settings).then(
    ({ isLocal }) => isLocal,
    () => true,
  );
  const probes = await startProbes({
    ...context,
    admin: settings.admin,
    port: isBesideWorker ? null : settings.admin.port,
  });
  return { addresses: { probes: probes.url }, close: () => probes.close() };
}
