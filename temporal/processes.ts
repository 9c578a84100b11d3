/** Finds processes by what they were started with; a pid from a file may long belong to somebody else. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Pids of this machine's processes whose arguments contain every one of `words`, each a whole argument. */
export function processesNaming(words: readonly string[]): readonly number[] {
  return listProcesses()
    .filter(({ pid, args }) => pid !== process.pid && words.every((word) => args.includes(word)))
    .map(({ pid }) => pid);
}

function listProcesses(): readonly { readonly pid: number; readonly args: readonly string[] }[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          return [{ pid: Number(name), args: readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0') }];
        } catch {
          return []; // It ended while we were reading, or is not ours to see.
        }
      });
  }
  const lines = execFileSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const match = /^\s*(\d+)\s+(.*)$/.exec(line);
    return match?.[1] && match[2] ? [{ pid: Number(match[1]), args: match[2].split(' ') }] : [];
  });
}
