/**
 * A port for a process that has to restart on the same one after a kill. It is below the range of ephemeral ports (32768 and up on
 * Linux), so that no other process gets it in between.
 */

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const [LOWEST, BEYOND] = [15_000, 32_768];

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, BEYOND);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
