import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ForeignService, startForeignService } from './foreign-service.ts';
import { makeCertificates, readBody, stop } from './foreign-wire.ts';

let service: ForeignService;
let receiver: Server;
let connections = 0;

beforeAll(async () => {
  const { certPem, keyPem } = await makeCertificates();
  receiver = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    void readBody(request).then(() => response.end());
  });
  receiver.on('secureConnection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  service = await startForeignService();
});

afterAll(async () => {
  await service.close();
  await stop(receiver);
});

test.each([
  [false, 3],
  [true, 1],
])('delivers over kept connections (%s): three deliveries take %i', async (keepsConnections, expected) => {
  const url = `https://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  service.register({ url, keepsConnections });
  connections = 0;
  for (let time = 0; time < 3; time += 1) expect(await service.deliver('{}')).toBe(200);
  expect(connections).toBe(expected);
});
