/** The short variants of the chaos runs of the endpoint; the long ones are programs (`npm run chaos`). */

import { describe, expect, test } from 'vitest';
import { runDurablePoints } from '../chaos/durable-points.ts';

describe('endpoint', () => {
  test('loses nothing when killed after each durable point', {
    timeout: 120_000,
  }, async () => {
    const result = await runDurablePoints(1);
    expect(result).toMatchObject({ lost: [], leaks: [], temporaryFiles: [] });
    const [d1, d2, d3, d4, d5] = result.answers;
    expect(d1).toEqual({ point: 'D1', first: null, retry: 'accepted' });
    expect(d2).toEqual({ point: 'D2', first: null, retry: 'duplicate' });
    // After D3 the answer is on its way; whether it arrives before the connection breaks is up to the network.
    for (const answer of [d3, d4, d5])
      expect(['accepted', 'duplicate']).toContain(answer?.first ?? answer?.retry);
  });
});
