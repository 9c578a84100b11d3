/** The short variants of the chaos runs of the endpoint; the long ones are programs (`npm run chaos`). */

import { randomUUID } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runDurablePoints } from '../chaos/durable-points.ts';
import { runEndpointKills } from '../chaos/endpoint-kills.ts';
import { checkEndpoint } from './check-endpoint.ts';

describe('endpoint', () => {
  test('the check of these runs notices what is lost, wrongly sent, leaked or left over', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'check-'));
    const [lost, wronglySent] = [randomUUID(), randomUUID()];
    await writeFile(join(dataDir, 'sent'), `${lost}\n${wronglySent}\n${wronglySent}\n`);
    await writeFile(join(dataDir, 'leak.tmp'), 'x?presigned-secret');
    const findings = await checkEndpoint(dataDir, [
      { eventId: lost, kind: 'event' },
      { eventId: wronglySent, kind: 'test' },
    ]);
    expect(findings).toMatchObject({
      lost: [lost, wronglySent],
      wronglySent: [wronglySent],
      sentAgain: 1,
      leaks: [join(dataDir, 'leak.tmp')],
      temporaryFiles: ['leak.tmp'],
    });
  });

  test('kill -9 while deliveries come in and Temporal is down half of the time loses nothing acknowledged', {
    timeout: 120_000,
  }, async () => {
    const result = await runEndpointKills({ deliveries: 200, kills: 3, seed: 7 });
    expect(result).toMatchObject({ lost: [], wronglySent: [], leaks: [], temporaryFiles: [], kills: 3 });
    expect(result.acknowledged).toBeGreaterThan(190);
  });

  test('kill -9 right after each durable point loses nothing and is answered as the fault matrix says', {
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
