/** One `up` per data folder; what an `up` that was killed left behind is ended before the next begins. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../../lib/config/settings.ts';
import { type LockFile, takeLock } from '../../lib/files/lock-file.ts';
import type { Logger } from '../../lib/log/log.ts';
import { findProcesses, isAlive } from '../../lib/processes.ts';
import { CliError, EXIT } from '../errors.ts';
import { CHILD_ROLES } from './child-messages.ts';
import { wordsOf } from './child-process.ts';

/** One that was killed while it wrote to disk takes a moment to be gone. */
const DYING_WITHIN_MS = 2_000;
/** They see by themselves that their `up` is gone; one that is frozen or busy does not. */
const ORPHANS_END_WITHIN_MS = 1_500;
const KILLED_WITHIN_MS = 5_000;

/** @throws CliError (exit 8) another `up` runs */
export async function takeUpLock({ dataDir }: Pick<Settings, 'dataDir'>): Promise<LockFile> {
  const folder = join(dataDir, 'run');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return takeLock(join(folder, 'up.lock'), {
    ...{ role: 'up', now: new Date(), patienceMs: DYING_WITHIN_MS },
    refusal(_, owner) {
      const who = owner === null ? '' : ` (pid ${owner.pid})`;
      return new CliError(EXIT.locked, `another \`billsync up\` runs for this data folder${who}`, {
        subject: dataDir,
        hint: 'stop it first, or give this one another BILLSYNC_DATA_DIR',
      });
    },
  });
}

/** To be called by who holds the lock: whatever runs for the folder belongs to an `up` that is gone. */
export async function endOrphans(settings: Pick<Settings, 'dataDir'>, log: Logger): Promise<void> {
  const orphans = (): readonly number[] =>
    CHILD_ROLES.flatMap((role) => findProcesses(wordsOf(role, settings))).filter(isAlive);
  for (const [withinMs, signal] of [
    [ORPHANS_END_WITHIN_MS, 'SIGKILL'],
    [KILLED_WITHIN_MS, null],
  ] as const) {
    const deadline = performance.now() + withinMs;
    for (let left = orphans(); left.length > 0; left = orphans()) {
      if (performance.now() > deadline) {
        if (signal === null) throw new Error(`Process ${left.join(', ')} of an earlier \`up\` does not end.`);
        log.warn({ pids: left }, 'ending what an earlier up left behind');
        for (const pid of left) killed(pid, signal);
        break;
      }
      await sleep(25);
    }
  }
}

function killed(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself meanwhile.
  }
}
