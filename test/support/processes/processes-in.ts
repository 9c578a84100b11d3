import { readdirSync, readFileSync } from 'node:fs';

/** Kills those whose folder for temporary files is one of these, where the system tells (Linux). @returns how many */
export function endProcessesIn(folders: readonly string[]): number {
  let ended = 0;
  for (const name of process.platform === 'linux' ? readdirSync('/proc') : []) {
    const pid = Number(name);
    if (!(pid > 0) || pid === process.pid) continue;
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
      if (!folders.some((folder) => environment.includes(`TMPDIR=${folder}`))) continue;
      process.kill(pid, 'SIGKILL');
      ended += 1;
    } catch {
      // It ended meanwhile, or is not ours to see.
    }
  }
  return ended;
}
