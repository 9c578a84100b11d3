/** Finds processes by their arguments: a pid from a file may belong to another program by now. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Pids of this machine's other processes that were started with every one of `wanted`, each a whole argument. */
export function findProcesses(wanted: readonly string[]): readonly number[] {
  return listProcesses()
    .filter(
      ({ pid, args, separator }) =>
        pid !== process.pid && wanted.every((arg) => args.includes(`${separator}${arg}${separator}`)),
    )
    .map(({ pid }) => pid);
}

interface ListedProcess {
  readonly pid: number;
  /** With a separator before the first and after the last argument. `ps` separates by blanks, which a path may contain. */
  readonly args: string;
  readonly separator: string;
}

function listProcesses(): readonly ListedProcess[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          const args = `\0${readFileSync(`/proc/${name}/cmdline`, 'utf8')}`;
          return [{ pid: Number(name), args, separator: '\0' }];
        } catch {
          return []; // The process ended meanwhile, or belongs to another user.
        }
      });
  }
  const lines = execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const match = /^\s*(\d+)\s+(.*)$/.exec(line);
    return match?.[1] && match[2] ? [{ pid: Number(match[1]), args: ` ${match[2]} `, separator: ' ' }] : [];
  });
}
