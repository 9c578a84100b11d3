/** Hostile connections from a process of their own, at a lower priority, with a count of those that were opened so far. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export type Opened = Readonly<Record<string, number>>;

export type AttackInProgress = ReturnType<typeof startAttack>;

/** @param sources addresses that the connections come from, in turn */
export function startAttack(port: string, sockets: number, sources: readonly string[]) {
  const program = fileURLToPath(new URL('./sockets.ts', import.meta.url));
  const attacker = spawn(process.execPath, [program, port, String(sockets), sources.join(',')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  setPriority(attacker.pid ?? Number.NaN, constants.priority.PRIORITY_BELOW_NORMAL);
  let latest: Opened = {};
  createInterface({ input: attacker.stdout }).on('line', (line) => {
    latest = JSON.parse(line) as Opened;
  });
  const ended = once(attacker, 'close');
  return {
    opened: () => totalOf(latest),
    async hasOpened(count: number) {
      while (totalOf(latest) < count) {
        if (attacker.exitCode !== null) throw new Error('The attacker ended.');
        await sleep(50);
      }
    },
    async end() {
      attacker.stdin.end();
      await ended;
      return latest;
    },
  };
}

export function totalOf(opened: Opened): number {
  return Object.values(opened).reduce((sum, count) => sum + count, 0);
}
