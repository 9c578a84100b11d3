/** Several machines on one lake under faults, in two minutes; `npm run chaos -- lake` is the long form. */

import { expect, test } from 'vitest';
import { runDrill } from '../../chaos/lake.ts';

test('loses, doubles and shows in part no invoice while workers, endpoints, PostgreSQL and S3 fail', async () => {
  const result = await runDrill({ seed: 1, isShort: true });
  expect(result.broken).toEqual([]);
  expect(result.acknowledged).toBeGreaterThan(100);
  expect(result.reads).toBeGreaterThan(20);
  // Six, and one for moments for the files that people make.
  expect(result.connections.worker, JSON.stringify(result.ofWorker)).toBeLessThanOrEqual(7);
}, 900_000);
