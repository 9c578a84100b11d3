import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** @param port 0: a free one */
export async function startDelayProxy(targetPort: number, delayMs: number, port = 0) {
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    let sent = Promise.resolve();
    client.on('data', (chunk) => {
      const due = sleep(delayMs);
      sent = sent.then(() => due).then(() => void target.write(chunk));
    });
    target.on('data', (chunk) => client.write(chunk));
    for (const [end, other] of [
      [client, target],
      [target, client],
    ] as const) {
      end.on('close', () => void sent.then(() => other.destroy()));
      end.on('error', () => undefined);
      end.setNoDelay(true);
    }
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
