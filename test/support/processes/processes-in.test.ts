import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { endProcessesIn } from './processes-in.ts';

test('what a test started and did not end is found by its folder, and nothing else is', async () => {
  const start = (folder: string) =>
    spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log()'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const [left, other] = [start('/of/this'), start('/of/this/not')];
  try {
    await Promise.all([once(left.stdout, 'data'), once(other.stdout, 'data')]);
    const ended = once(left, 'exit');
    expect(endProcessesIn(['/of/this', '/of/nobody'])).toBe(1);
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(other.exitCode ?? other.signalCode).toBeNull();
  } finally {
    left.kill('SIGKILL');
    other.kill('SIGKILL');
  }
});
