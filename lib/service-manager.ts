/**
 * Tells systemd how a role is (sd_notify(3)): ready, alive, stopping. Without systemd nothing is told.
 *
 * Node opens no datagram sockets of the unix family, so systemd's own `systemd-notify` sends the words; it is there
 * wherever systemd is. The unit says `NotifyAccess=all`, since the sender is a child of the role.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Logger } from './log/log.ts';

const run = promisify(execFile);
const SAID_WITHIN_MS = 10_000;

export interface ServiceManager {
  /** From here on it is also told, twice in each watchdog interval, that the event loop turns. */
  ready(status: string): void;
  stopping(): void;
}

export interface ServiceManagerOptions {
  /** NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, as systemd sets them. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Pick<Logger, 'warn'>;
}

/** Telling never throws and is never waited for; what could not be told is a warning in the log, once. */
export function serviceManager({ env, log }: ServiceManagerOptions): ServiceManager {
  if (!env.NOTIFY_SOCKET) return { ready: () => undefined, stopping: () => undefined };
  let last: Promise<unknown> = Promise.resolve();
  let hasFailed = false;
  /** One after the other: the manager takes what comes last for what holds. */
  function say(...words: readonly string[]): void {
    last = last
      .then(() => run('systemd-notify', words, { env: { ...env }, timeout: SAID_WITHIN_MS }))
      .catch((error: unknown) => {
        if (!hasFailed) log.warn({ err: error }, 'systemd cannot be told how this process is');
        hasFailed = true;
      });
  }
  const watchdogMs = watchdogOf(env);
  let alive: NodeJS.Timeout | undefined;
  return {
    ready(status) {
      say('READY=1', `STATUS=${status}`);
      if (watchdogMs !== null) alive = setInterval(() => say('WATCHDOG=1'), watchdogMs / 2).unref();
    },
    stopping() {
      clearInterval(alive);
      say('STOPPING=1', 'STATUS=draining');
    },
  };
}

/** null: nobody watches, or somebody else is watched. */
function watchdogOf({ WATCHDOG_USEC, WATCHDOG_PID }: ServiceManagerOptions['env']): number | null {
  if (WATCHDOG_PID !== undefined && Number(WATCHDOG_PID) !== process.pid) return null;
  const milliseconds = Number(WATCHDOG_USEC) / 1_000;
  return milliseconds > 0 ? milliseconds : null;
}
