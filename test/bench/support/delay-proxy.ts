import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** @param port 0: a free one */
export async function startDelayProxy(targetPort: number, delayMs: number, port = 0) {
  const open = new Set<Socket>();
  let [messages, limit] = [0, Number.POSITIVE_INFINITY];
  const server = createServer((client) => {
    if (messages >= limit) return client.resetAndDestroy();
    const target = connect(targetPort, '127.0.0.1');
    let sent = Promise.resolve();
    client.on('data', (chunk) => {
      messages += 1;
      if (messages >= limit) for (const socket of open) socket.resetAndDestroy();
      const due = sleep(delayMs);
      sent = sent.then(() => due).then(() => void target.write(chunk));
    });
    target.on('data', (chunk) => client.write(chunk));
    for (const [end, other] of [
      [client, target],
      [target, client],
    ] as const) {
      open.add(end);
      end.on('close', () => {
        open.delete(end);
        void sent.then(() => other.destroy());
      });
      end.on('error', () => undefined);
      end.setNoDelay(true);
    }
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    /** The next message with this number ends all connections, and there are no new ones. @returns how many there were */
    endAt(number: number): number {
      const before = messages;
      [messages, limit] = [0, number];
      return before;
    },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
