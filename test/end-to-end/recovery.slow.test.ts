/** The short form of `npm run chaos -- worker-points` (docs/proofs.md). */

import { expect, test } from 'vitest';
import { runWorkerPoints } from '../chaos/worker-points.ts';

test('loses and doubles nothing when the worker is killed around commit and publication', async () => {
  const points = ['committed before', 'committed after', 'renamed before'] as const;
  const result = await runWorkerPoints({ rounds: 1, points });
  expect(Object.keys(result.deaths)).toEqual(points);
  expect(result.shipments).toBe(7 * points.length);
  expect(result.violations).toEqual([]);
  expect(result.complaints).toEqual([]);
});
