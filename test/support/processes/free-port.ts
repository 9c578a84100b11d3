/**
 * A port for a process that has to come back on the same one after a kill. It lies below those that the system gives to
 * whoever asks for any (32768 and up, as Linux is set), so that nobody else is given it while the process is away.
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
