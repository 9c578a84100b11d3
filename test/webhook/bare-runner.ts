/**
 * The floor under the endpoint: the least that serves the same request with the same promise. HTTPS with a certificate of the
 * same kind, the body read to its end, the password compared, a line flushed to disk, then 200; it parses nothing, knows no
 * duplicates, and forwards nothing. Its answer times are the reference for those of the endpoint.
 *
 * Started and killed by `createEndpointProcess`, as endpoint-runner.ts is. Arguments: data folder, port.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { open } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createLogger } from '../../lib/log/log.ts';
import { prepareCertificate, readCertificate } from '../../webhook/certificate.ts';
import { basic, testSettings } from './a-delivery.ts';

const [dataDir = '', port = '0'] = process.argv.slice(2);
process.stdin.resume().on('close', () => process.exit(0));

const settings = testSettings(dataDir);
const log = createLogger(settings, 'webhook', { write: () => undefined });
const pair = await readCertificate(await prepareCertificate(settings, log));
const expected = digest(basic());
const kept = await open(join(dataDir, 'kept'), 'a');

const server = createServer(pair, async (request, response) => {
  const body = await buffer(request);
  if (!timingSafeEqual(expected, digest(request.headers.authorization ?? ''))) {
    response.writeHead(401).end();
    return;
  }
  await kept.appendFile(Buffer.concat([body, Buffer.from('\n')]));
  await kept.datasync();
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"accepted"}');
});
server.listen(Number(port), '127.0.0.1', () => {
  const bound = (server.address() as AddressInfo).port;
  const ready = `https://127.0.0.1:${bound}${settings.webhook.path}`;
  process.stdout.write(`${JSON.stringify({ ready, port: bound })}\n`);
});

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
