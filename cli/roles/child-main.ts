/**
 * The entry of a process of `up`. It ends when `up` does, because the kernel closes the channel between them: a
 * killed `up` leaves no process that holds the port or the warehouse.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Alerts } from '../../lib/alerts/alerts.ts';
import { describeError, EXIT } from '../errors.ts';
import { type RoleContext, type RunningRole, serveRole } from './run-role.ts';
import type { ChildRole, FromChild, ToChild } from './up-role.ts';

const STATE_EVERY_MS = 1_000;
/** With the embedded Temporal, `ready` means that the worker polls it; another one may be away for longer. */
const POLLS_WITHIN_MS = 30_000;

process.umask(0o077);
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const role = process.argv[2] as ChildRole;
const stopping = new AbortController();
let context: RoleContext | null = null;
process.on('message', (message: ToChild) => {
  if (message.kind === 'run') void run(message);
  else if (message.kind === 'stop') stopping.abort(new Error('stopping'));
  else {
    const { components, metrics } = message.state;
    for (const [component, state] of Object.entries(components)) context?.health.set(component, state);
    context?.metrics.setNeighbours(metrics);
  }
});
// An end without a stop loses nothing: the service sends unanswered deliveries again, and everything else is on disk.
process.on('disconnect', () => process.exit(EXIT.checkFailed));

async function run({ settings, verbose }: Extract<ToChild, { kind: 'run' }>): Promise<void> {
  try {
    await serveRole({
      ...{ settings, role, verbose, start, stopping },
      // Alerts over a lake are kept in PostgreSQL, whose password the endpoint does not have; so `up` keeps the endpoint's alerts.
      ...(role === 'webhook' ? { alerts: ALERTS_OF_UP } : {}),
      onReady({ addresses }, { health, metrics }) {
        send({ kind: 'ready', addresses });
        const timer = setInterval(async () => {
          const { components } = health.report();
          send({ kind: 'state', state: { components, metrics: await metrics.ownText() } });
        }, STATE_EVERY_MS);
        return () => clearInterval(timer);
      },
    });
    process.exit(EXIT.done);
  } catch (error) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const described = describeError(error);
    send({ kind: 'failed', error: described, stack }, () => process.exit(described.exitCode));
  }
}

async function start(given: RoleContext): Promise<RunningRole> {
  context = given;
  if (role === 'webhook') return (await import('./webhook-role.ts')).startWebhookRole(given);
  if (role === 'dashboard') return (await import('./admin-role.ts')).startAdminRole(given);
  const { startWorkerRole } = await import('./worker-role.ts');
  const worker = await startWorkerRole(given);
  if (!given.settings.temporalConfigured) await Promise.race([worker.ready, sleep(POLLS_WITHIN_MS)]);
  return { addresses: {}, close: worker.close };
}

const ALERTS_OF_UP: Alerts = {
  raise: (alert) => send({ kind: 'alert', key: alert.key, alert }),
  resolve: (key) => send({ kind: 'alert', key, alert: null }),
  close: async () => undefined,
};

function send(message: FromChild, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent);
}
