import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createHealth, startChecks } from '../../lib/health/health.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

test('runs at its interval beside failing and hung checks', async () => {
  const lines: string[] = [];
  const start = () =>
    startChecks({
      log: pino({}, { write: (line: string) => void lines.push(line) }),
      ...{ health: createHealth(), alerts: memoryAlerts().alerts },
    });
  const checks = start();
  const runs = { quick: 0, slow: 0, hanging: 0 };
  let isAborted = false;
  const count = (name: 'quick' | 'slow') => (): void => {
    runs[name] += 1;
  };
  const fails = (): never => {
    throw new Error('no answer');
  };
  checks.add(
    { component: 'failing', everyMs: 5, run: fails },
    { component: 'quick', everyMs: 5, run: count('quick') },
    { component: 'slow', everyMs: 3_600_000, run: count('slow') },
    {
      component: 'hanging',
      everyMs: 5,
      run: (signal) =>
        new Promise<void>((resolve) => {
          runs.hanging += 1;
          signal.addEventListener('abort', () => {
            isAborted = true;
            resolve();
          });
        }),
    },
  );
  await expect.poll(() => runs.quick).toBeGreaterThan(2);
  expect(runs).toMatchObject({ slow: 1, hanging: 1 });
  expect(lines[0]).toContain('"component":"failing","msg":"a check failed"');
  await checks.close();
  expect(isAborted).toBe(true);
  const { quick } = runs;
  // Others with the same interval run meanwhile.
  const others = start();
  let later = 0;
  const run = (): void => {
    later += 1;
  };
  others.add({ component: 'later', everyMs: 5, run });
  await expect.poll(() => later).toBeGreaterThan(3);
  await others.close();
  expect(runs.quick).toBe(quick);
});
