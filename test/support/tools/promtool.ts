/** The tool of Prometheus that checks rules and metrics: from PATH, else out of Debian's package `prometheus`. */

import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { keepDebianTool } from './kept-tools.ts';

const run = promisify(execFile);

/** The path of an executable. @throws Error it is neither on PATH nor to be had; says what it needs */
export async function findPromtool(): Promise<string> {
  const onPath = await run('promtool', ['--version']).catch(() => null);
  if (onPath !== null) return 'promtool';
  return join(
    await keepDebianTool({ name: 'prometheus', packages: ['prometheus'] }),
    'usr',
    'bin',
    'promtool',
  );
}

/** Runs it. @returns its words of both streams, and how it ended */
export async function promtool(
  args: readonly string[],
  { cwd, input }: { readonly cwd?: string; readonly input?: string } = {},
): Promise<{ readonly exitCode: number | null; readonly said: string }> {
  const path = await findPromtool();
  const { status, stdout, stderr } = spawnSync(path, args, { encoding: 'utf8', timeout: 60_000, cwd, input });
  return { exitCode: status, said: stdout + stderr };
}
