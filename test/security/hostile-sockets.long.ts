/** 120,000 connections, 2,000 at a time, that only hold room: every honest delivery is answered with 200, nearly as fast as by a server without an attacker. */

import { expect, test } from 'vitest';
import { promisesOf, runHostileSockets } from '../chaos/hostile-sockets.ts';
import { attack } from '../support/attack.ts';

test('beside 2,000 hostile connections, renewed all the time, 1,500 deliveries are accepted in time', {
  timeout: 3_600_000,
}, async () => {
  const result = await runHostileSockets({ sockets: 2_000, deliveries: 500 });
  for (const { name, deliveries, inTime } of result.honest) {
    attack(`2,000 hostile connections: deliveries of ${name}`, { tries: deliveries, held: inTime });
  }
  expect(promisesOf(result).filter(({ found, atMost }) => !(found <= atMost))).toEqual([]);
});
