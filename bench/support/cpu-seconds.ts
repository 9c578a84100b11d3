/** What a whole process took, its start included: user and system time in seconds, which hardly change with what else the machine does. */

import { runMeasured } from './run-measured.ts';

/** The shell tells what its child took; Node has no way to ask. @throws Error the command failed */
export async function cpuSeconds(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const script = 'TIMEFORMAT="%U %S"; { time "$0" "$@" >/dev/null 2>/dev/null; } 2>&1';
  const { stdout } = await runMeasured(['bash', '-c', script, ...command], env);
  const [user, system] = stdout.trim().split(' ').map(Number);
  return (user ?? Number.NaN) + (system ?? Number.NaN);
}
