/** Tries a port by listening there for a moment; whoever wants it has to try again by itself. */

import { once } from 'node:events';
import { createServer } from 'node:net';

/** @returns the port, which for 0 is a free one; @throws the system's error, EADDRINUSE where somebody listens */
export async function listenOnce({
  host,
  port,
}: {
  readonly host: string;
  readonly port: number;
}): Promise<number> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : port;
}
