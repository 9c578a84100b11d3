import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('twenty faults drawn at random are made, and the tests beside the code notice some of them', async () => {
  const program = join(import.meta.dirname, 'main.ts');
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|TEST_|TMPDIR$|NODE_OPTIONS$)/.test(name),
  );
  const child = spawn(process.execPath, [program, '--count', '20', '--near'], {
    env: Object.fromEntries(own),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
}, 3_600_000);
