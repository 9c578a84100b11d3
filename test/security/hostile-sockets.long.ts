/** Two minutes of 2,000 connections that only hold room: every honest delivery is answered with 200 within a second. */

import { expect, test } from 'vitest';
import { runHostileSockets } from '../chaos/hostile-sockets.js';
import { attack } from '../support/hostile/attack.js';

test('beside 2,000 hostile connections, renewed for two minutes, deliveries are accepted within a second', {
  timeout: 300_000,
}, async () => {
  const { honest, openedPerSecond } = await runHostileSockets({ sockets: 2_000, seconds: 120 });
  expect(openedPerSecond).toBeGreaterThan(300);
  for (const { name, deliveries, inTime } of honest) {
    attack(`2,000 hostile connections: deliveries of ${name}`, { tries: deliveries, held: inTime });
  }
});
