/** `doctor` comes to its end whatever a check waits for. */

import { expect, test } from 'vitest';
import type { Check } from '../../cli/doctor/connection-checks.ts';
import { diagnose, exitCodeOf } from '../../cli/doctor/diagnose.ts';
import type { Settings } from '../../lib/config/settings.ts';

test('a check that never ends fails as unreachable, and those after it are made', async () => {
  const checks: Check[] = [
    { name: 'hangs', isInFolder: false, run: () => new Promise(() => undefined) },
    { name: 'works', isInFolder: false, run: async () => ({ result: 'ok', detail: 'fine', hint: null }) },
  ];
  const found = await Array.fromAsync(diagnose({} as Settings, { checks, limitMs: 20, minMs: 20 }));
  expect(found).toMatchObject([
    { check: 'hangs', result: 'failed', detail: expect.stringContaining('no answer within'), exit_code: 5 },
    { check: 'works', result: 'ok', detail: 'fine' },
  ]);
  expect(exitCodeOf(found)).toBe(5);
});
