/**
 * The entry of a process that `up` starts: the endpoint, or the worker with the admin port. What one of them does to
 * itself, up to running out of memory, leaves the other alone.
 *
 * It lives no longer than `up`: the kernel closes the channel between them whatever `up` died of, so that a kill -9
 * leaves nobody behind who holds the port or the warehouse.
 */

import { writeFileSync } from 'node:fs';
import { describeError, EXIT, printError } from '../errors.ts';
import type { ChildRole, ChildState, FromChild, ToChild } from './child-messages.ts';
import type { RoleContext, RunningRole } from './run-role.ts';

const TELL_EVERY_MS = 1_000;
/** What is being answered gets out; everything else is safe on disk. */
const ORPHAN_ENDS_WITHIN_MS = 1_000;
/** The kernel, short of memory, ends the worker before the endpoint and before `up`. */
const FIRST_TO_GO = '500';

process.umask(0o077);
for (const stream of [process.stdout, process.stderr]) {
  // A reader that went away is no failure of ours.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

const role = process.argv[2] as ChildRole;
const stopping = new AbortController();
let context: RoleContext | null = null;
process.on('message', (message: ToChild) => {
  if (message.kind === 'run') void run(message);
  else if (message.kind === 'stop') stopping.abort(new Error('stopping'));
  else hearOfNeighbour(message.name, message.state);
});
process.on('disconnect', () => {
  if (role === 'worker') process.exit(EXIT.checkFailed);
  stopping.abort(new Error('up is gone'));
  setTimeout(() => process.exit(EXIT.checkFailed), ORPHAN_ENDS_WITHIN_MS).unref();
});

async function run({ settings, verbose }: Extract<ToChild, { kind: 'run' }>): Promise<void> {
  try {
    if (role === 'worker') offerAsFirstToGo();
    const [{ serveRole }, start] = await Promise.all([import('./run-role.ts'), startOf(role)]);
    await serveRole({
      ...{ settings, role, verbose, stopping },
      start(given) {
        context = given;
        return start(given);
      },
      onReady({ addresses }, { health, metrics }) {
        tell({ kind: 'ready', addresses });
        const telling = setInterval(() => void tellState(), TELL_EVERY_MS);
        async function tellState(): Promise<void> {
          const { components } = health.report();
          tell({ kind: 'state', state: { components, metrics: await metrics.ownText() } });
        }
        return () => clearInterval(telling);
      },
    });
    process.exit(EXIT.done);
  } catch (error) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const described = describeError(error);
    tell({ kind: 'failed', error: described, stack }, () => process.exit(described.exitCode));
  }
}

async function startOf(which: ChildRole): Promise<(context: RoleContext) => Promise<RunningRole>> {
  if (which === 'webhook') return (await import('./webhook-role.ts')).startWebhookRole;
  const { startWorkerAloneRole } = await import('./worker-role.ts');
  return async (given) => {
    const worker = await startWorkerAloneRole(given);
    worker.ready.then(
      () => tell({ kind: 'polling' }),
      () => undefined,
    );
    return worker;
  };
}

/** The admin port is the worker's, and tells of all of `up`. */
function hearOfNeighbour(name: string, { components, metrics }: ChildState): void {
  for (const [component, state] of Object.entries(components)) context?.health.set(component, state);
  context?.metrics.setNeighbour(name, metrics);
}

/** @param then when the message is on its way, or nobody is there to hear it */
function tell(message: FromChild, then: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, undefined, undefined, then);
  else then();
}

function offerAsFirstToGo(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', FIRST_TO_GO);
  } catch {
    // Not Linux, or not allowed: the kernel chooses by itself.
  }
}

process.on('uncaughtException', (error) => {
  process.exit(printError(error, { verbose: true }));
});
