/** A user id without a passwd entry, as OpenShift and `docker run -u 12345` give one. */

import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

test('names a user without a passwd entry by its id, and needs no home folder', () => {
  // Only root may become another user.
  if (process.getuid?.() !== 0) return;
  const script = `
    const { userName, userCache } = await import(${JSON.stringify(new URL('../../lib/runtime.ts', import.meta.url).href)});
    process.seteuid(1234567);
    console.log(JSON.stringify([userName(), userCache()]));`;
  const finished = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: {},
  });
  expect([finished.stdout, finished.stderr]).toEqual(['["uid 1234567","/.cache/billsync"]\n', '']);
});
