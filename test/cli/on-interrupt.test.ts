/** Ctrl-C while a command waits: what goes on is said, and the process ends as the signal asks. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

const WAITING = `
  import { onInterrupt } from './cli/terminal/interaction.ts';
  await onInterrupt('It is over already.', async () => 1);
  setInterval(() => undefined, 1_000);
  await onInterrupt('The worker goes on.', async () => {
    process.stdout.write('waiting');
    await new Promise(() => undefined);
  });
`;

test('reports what continues and ends by the signal', async () => {
  const args = ['--input-type=module', '--eval', WAITING];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let words = '';
  child.stderr.on('data', (text) => {
    words += text;
  });
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  const [code, signal] = await once(child, 'close');
  expect({ code, signal, words }).toEqual({ code: null, signal: 'SIGINT', words: '\nThe worker goes on.\n' });
});
