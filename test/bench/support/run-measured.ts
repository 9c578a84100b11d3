/** Runs a command as a process and measures it, start included. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

export async function runMeasured(
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = {},
) {
  const [file, ...args] = command;
  const began = performance.now();
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text: Buffer) => {
    stdout += text.toString();
  });
  child.stderr.on('data', (text: Buffer) => {
    stderr = (stderr + text.toString()).slice(-2_000);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const ms = performance.now() - began;
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}`);
  return { ms, stdout };
}
