/** Finds processes by what they were started with; a pid from a file may long belong to somebody else. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Pids of this machine's processes whose arguments contain every one of `words`, each a whole argument. */
export function processesNaming(words: readonly string[]): readonly number[] {
  return listProcesses()
    .filter(
      ({ pid, args, separator }) =>
        pid !== process.pid && words.every((word) => args.includes(`${separator}${word}${separator}`)),
    )
    .map(({ pid }) => pid);
}

interface ListedProcess {
  readonly pid: number;
  /** With a separator before the first and behind the last; `ps` separates by blanks, which a path may hold too. */
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
          return []; // It ended while we were reading, or is not ours to see.
        }
      });
  }
  const lines = execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const match = /^\s*(\d+)\s+(.*)$/.exec(line);
    return match?.[1] && match[2] ? [{ pid: Number(match[1]), args: ` ${match[2]} `, separator: ' ' }] : [];
  });
}
