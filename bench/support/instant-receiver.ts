/**
 * A webhook endpoint in a process of its own that answers at once and keeps nothing: what a burst of deliveries is
 * measured against. It says its port when it listens, and when as many requests have come as it was told to expect.
 */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createTlsMaterial } from '../../sandbox/security/tls.ts';

export type ReceiverMessage =
  | { readonly port: number }
  | { readonly expecting: number }
  | { readonly reached: number };

const { certPem, keyPem } = await createTlsMaterial();
let received = 0;
let expected = Number.POSITIVE_INFINITY;

const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
  request.resume();
  request.once('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"accepted"}');
    received += 1;
    if (received === expected) say({ reached: received });
  });
});

process.on('message', (more: number) => {
  received = 0;
  expected = more;
  say({ expecting: more });
});
server.listen(0, '127.0.0.1', () => say({ port: (server.address() as AddressInfo).port }));

function say(message: ReceiverMessage): void {
  process.send?.(message);
}
