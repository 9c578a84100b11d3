/**
 * sd_notify(3) by `systemd-notify`, since Node has no datagram sockets of the unix family. The unit has
 * `NotifyAccess=all`, because a child process sends.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from './log/log.ts';

const run = promisify(execFile);
const NOTIFY_TIMEOUT_MS = 10_000;

export function serviceManager(env: NodeJS.ProcessEnv, log: Pick<Logger, 'warn'>) {
  if (!env.NOTIFY_SOCKET) return { ready: (_status: string) => undefined, stopping: () => undefined };
  let last: Promise<unknown> = Promise.resolve();
  let hasFailed = false;
  /** Messages are sent in order, because systemd uses the newest one. */
  function notify(...messages: readonly string[]): void {
    last = last
      .then(() => run('systemd-notify', messages, { env: { ...env }, timeout: NOTIFY_TIMEOUT_MS }))
      .catch((error: unknown) => {
        if (!hasFailed) log.warn({ err: error }, 'systemd cannot be notified of the state of this process');
        hasFailed = true;
      });
  }
  const watchdogMs = watchdogOf(env);
  let alive: NodeJS.Timeout | undefined;
  return {
    ready(status: string) {
      notify('READY=1', `STATUS=${status}`);
      if (watchdogMs !== null) alive = setInterval(() => notify('WATCHDOG=1'), watchdogMs / 2).unref();
    },
    stopping() {
      clearInterval(alive);
      notify('STOPPING=1', 'STATUS=draining');
    },
  };
}

function watchdogOf({ WATCHDOG_USEC, WATCHDOG_PID }: NodeJS.ProcessEnv): number | null {
  if (WATCHDOG_PID !== undefined && Number(WATCHDOG_PID) !== process.pid) return null;
  const milliseconds = Number(WATCHDOG_USEC) / 1_000;
  return milliseconds > 0 ? milliseconds : null;
}
