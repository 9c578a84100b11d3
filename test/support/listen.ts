import type { AddressInfo, Server } from 'node:net';

/** Listens on this machine only. @returns the free port that was taken */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
