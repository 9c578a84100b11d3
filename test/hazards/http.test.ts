/** Traps of HTTP and JSON that the client is built around (hazards 33 to 40): an upgrade that changes one is noticed here. */

import { timingSafeEqual } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { parse } from 'lossless-json';
import { request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('hazard 33: fetch inflates and follows, undici.request does neither', () => {
  test('a compressed body', async () => {
    const packed = gzipSync(Buffer.alloc(5_000_000));
    const url = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
    );
    expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(5_000_000);
    const { body, headers } = await request(url);
    expect((await body.arrayBuffer()).byteLength).toBe(packed.length);
    expect(headers['content-encoding']).toBe('gzip');
  });

  test('a redirect', async () => {
    const url = await serve((incoming, response) => {
      if (incoming.url === '/elsewhere') return response.end('followed');
      return response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect(await (await fetch(url)).text()).toBe('followed');
    const { statusCode, body } = await request(url);
    await body.dump();
    expect(statusCode).toBe(302);
  });
});

test('hazard 34: a body closed early without Content-Length is a clean 200', async () => {
  const url = await serve((_, response) => {
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, { connection: 'close' });
    response.write('only the first half', () => response.socket?.end());
  });
  const { statusCode, body } = await request(url);
  expect(statusCode).toBe(200);
  expect(await body.text()).toBe('only the first half');
});

test('hazard 35: bodyTimeout restarts with every chunk, so a drip outlives it', async () => {
  const url = await serve((_, response) => {
    let sent = 0;
    const drip = setInterval(() => {
      response.write('.');
      if (++sent < 12) return;
      clearInterval(drip);
      response.end();
    }, 100);
  });
  const { body } = await request(url, { bodyTimeout: 1_000 });
  const startedAt = performance.now();
  expect(await body.text()).toHaveLength(12);
  expect(performance.now() - startedAt).toBeGreaterThan(1_000);
});

test('hazard 36: JSON.parse loses digits of money, lossless-json keeps them', () => {
  expect(String((JSON.parse('{"a":12345678901234567.89}') as { a: number }).a)).not.toBe(
    '12345678901234567.89',
  );
  expect(String((parse('{"a":12345678901234567.89}') as { a: unknown }).a)).toBe('12345678901234567.89');
});

test('hazard 38: timingSafeEqual throws on unequal lengths', () => {
  expect(() => timingSafeEqual(Buffer.from('a'), Buffer.from('ab'))).toThrow(RangeError);
});

test.each(['2130706433', '0x7f.1', '017700000001'])(
  'hazard 39: new URL() turns %s into 127.0.0.1',
  (host) => {
    expect(new URL(`https://${host}/`).hostname).toBe('127.0.0.1');
  },
);

test('hazard 39: new URL() strips CR and LF', () => {
  expect(new URL('https://exa\r\nmple.com/a\nb').href).toBe('https://example.com/ab');
});

test('hazard 40: z.uuid() and a plain datetime() refuse what the service may send', () => {
  const id = '11111111-1111-1111-1111-111111111111';
  expect([z.uuid().safeParse(id).success, z.guid().safeParse(id).success]).toEqual([false, true]);
  const at = '2026-11-01T10:00:00+00:00';
  expect([
    z.iso.datetime().safeParse(at).success,
    z.iso.datetime({ offset: true }).safeParse(at).success,
  ]).toEqual([false, true]);
});
