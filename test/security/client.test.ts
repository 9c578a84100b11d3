import { writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { isListedHost, targetOf } from '../../billing/address-guard.ts';
import { createHttp, type Http } from '../../billing/http.ts';
import { serviceSettings } from '../billing/service-settings.ts';
import { attack, attackEach } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { makeCertificates, stop } from '../support/foreign-billing.ts';
import { listen } from '../support/listen.ts';

const LIMITS = { deadlineMs: 10_000, maxBodyBytes: 10_000 };

const certificates: string[] = [];
const tunnels: string[] = [];
const clients: Http[] = [];

const folder = testFolder();
const { caPem, certPem, keyPem } = await makeCertificates();
const caFile = join(folder, 'ca.pem');
const certFile = join(folder, 'cert.pem');
const keyFile = join(folder, 'key.pem');
await Promise.all([writeFile(caFile, caPem), writeFile(certFile, certPem), writeFile(keyFile, keyPem)]);
const options = { key: keyPem, cert: certPem, ca: caPem, requestCert: true, rejectUnauthorized: false };
const service = createServer(options, (request, response) => {
  const { subject } = (request.socket as TLSSocket).getPeerCertificate();
  certificates.push(String(subject?.CN ?? ''));
  const { searchParams } = new URL(request.url ?? '/', 'https://here.invalid');
  const [status, to] = [searchParams.get('status'), searchParams.get('to')];
  if (request.url?.startsWith('/busy')) return void response.writeHead(429, { 'retry-after': '86400' }).end();
  if (to !== null) return void response.writeHead(Number(status ?? 302), { location: to }).end('elsewhere');
  if (searchParams.has('echo')) return response.end(`${request.method} ${request.headers.authorization}`);
  response.end('here');
});
const proxy = createHttpServer().on('connect', (request, socket) => {
  tunnels.push(`${request.url} ${request.headers['proxy-authorization'] ?? ''}`.trim());
  if (request.url?.startsWith('forbidden')) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  // As a proxy that resolves names does: ours cannot be resolved anywhere else.
  const through = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    through.pipe(socket).pipe(through);
  });
  for (const each of [socket, through]) each.on('error', () => undefined);
});
/** The first lines of requests, as bytes; it answers what `answerRaw` says. */
const requested: string[] = [];
const HERE = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhere';
let answerRaw = HERE;
const raw = createTlsServer({ key: keyPem, cert: certPem }, (socket) => {
  socket
    .on('error', () => undefined)
    .on('data', (bytes) => {
      requested.push(bytes.toString('latin1').split('\r\n', 1)[0] ?? '');
      socket.write(answerRaw);
    });
});
const port = await listen(service);
const rawPort = await listen(raw);
const proxyUrl = `http://us%40er:p%3Ass@127.0.0.1:${await listen(proxy)}`;
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await stop(service);
  raw.close();
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
});

function client(changes: Partial<ReturnType<typeof serviceSettings>['service']> = {}): Http {
  const own = `https://127.0.0.1:${port}`;
  const credentials = { baseUrl: own, authUrl: own, caFile, clientId: '', clientSecret: '' };
  const { service: settings } = serviceSettings(credentials, { dataDir: folder, ...changes });
  const made = createHttp({ ...settings, connectionsPerHost: 4 });
  clients.push(made);
  return made;
}

function get(http: Http, url: string): Promise<string> {
  return http.send({ method: 'GET', url }, LIMITS).then(
    ({ body }) => Buffer.from(body).toString(),
    (error: { code?: string }) => String(error.code),
  );
}

describe('the text of a URL', () => {
  const part = fc.oneof(
    fc.constantFrom(
      '.',
      '..',
      '%2e%2E',
      './',
      '/',
      '//',
      "'",
      '%27',
      '%2F',
      '\\',
      '?',
      '&',
      '=',
      '+',
      '~',
      '@',
      ':',
      '[',
      '"',
      '<',
    ),
    fc.string({ unit: 'grapheme-ascii', maxLength: 6 }),
    fc.string({ unit: 'binary', maxLength: 3 }),
  );
  const tail = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''));

  test('reaches the host byte for byte as it was signed', async () => {
    const http = client();
    const signed = [
      "/bucket/O'Neil/../a/./b//c%2e%2e/%2E/d.csv?X-Sig=a%2Fb+c'd&e=%7e~\"<>|{}^`",
      ...fc
        .sample(tail, { numRuns: 200, seed: 14 })
        .map((text) => `/${text.replaceAll(/[^\x21-\x7e]|#/g, '')}`),
    ];
    for (const path of signed) {
      requested.length = 0;
      expect(await get(http, `https://127.0.0.1:${rawPort}${path}#fragment`), path).toBe('here');
      expect(requested).toEqual([`GET ${path} HTTP/1.1`]);
    }
    requested.length = 0;
    await get(http, `https://127.0.0.1:${rawPort}/ü\r\nX: 1\ud800?a b`);
    expect(requested).toEqual(['GET /%C3%BC%0D%0AX:%201%EF%BF%BD?a%20b HTTP/1.1']);
  });

  test('is sent to the host that was checked', () => {
    const hosts = fc.oneof(
      tail,
      fc.constantFrom('here.example', 'HERE.example:443', '127.1', '[::1]:8443', 'ü.example'),
    );
    const scheme = fc.constantFrom(
      'https://',
      'https:/',
      'https:',
      'HTTPS://',
      'https:\\\\',
      ' https://',
      'h\ttps://',
      'http://',
      '',
    );
    const url = fc.tuple(scheme, hosts, tail).map((parts) => parts.join(''));
    fc.assert(
      fc.property(url, (text) => {
        const parsed = URL.parse(text);
        const isListed = isListedHost(text, [parsed?.host ?? 'here.example']);
        let target: ReturnType<typeof targetOf>;
        try {
          target = targetOf(text);
        } catch {
          return !isListed;
        }
        return (
          target.url.origin === parsed?.origin &&
          target.url.username === '' &&
          /^\/[\x21-\x7e]*$/.test(target.path)
        );
      }),
      { numRuns: 20_000, seed: 14 },
    );
  });
});

describe('an answer', () => {
  const answered = async (headers: string): Promise<string> => {
    answerRaw = `HTTP/1.1 200 OK\r\n${headers}content-length: 4\r\n\r\nhere`;
    return client()
      .send({ method: 'GET', url: `https://127.0.0.1:${rawPort}/` }, LIMITS)
      .then(
        ({ body }) => Buffer.from(body).toString(),
        (error: Error) => error.message,
      )
      .finally(() => {
        answerRaw = HERE;
      });
  };

  test('may have headers of 60 kB, and is named when it has more or breaks HTTP', async () => {
    expect(await answered(`x: ${'y'.repeat(20_000)}\r\n`.repeat(3))).toBe('here');
    const host = `127.0.0.1:${rawPort}`;
    expect(await answered(`x: ${'y'.repeat(70_000)}\r\n`)).toBe(
      `${host}: the headers of its answer exceed 64 KiB.`,
    );
    expect(await answered('no header\r\n')).toMatch(
      new RegExp(`^${host}: its answer breaks the rules of HTTP: .*Invalid header token`),
    );
  });
});

describe('a refusal with Retry-After', () => {
  test('is about its file until others of the host confirm it', async () => {
    const http = client();
    const url = (path: string): string => `https://127.0.0.1:${port}${path}`;
    const statuses = async (...paths: readonly string[]) => {
      const all: (number | string)[] = [];
      for (const path of paths)
        all.push(
          await http.send({ method: 'GET', url: url(path) }, LIMITS).then(
            ({ status }) => status,
            ({ code }) => code,
          ),
        );
      return all;
    };
    expect(
      await statuses('/busy-1', '/busy-1?signed=again', '/fine', '/busy-2', '/fine', '/busy-3', '/fine'),
    ).toEqual([...[429, 'overloaded', 200, 429, 200, 429, 200]]);
    expect(await statuses('/busy-4', '/busy-5', '/busy-6', '/fine', '/busy-1')).toEqual([
      ...[429, 429, 429, 'overloaded', 'overloaded'],
    ]);
  });
});

describe('addresses and ports', () => {
  test('dials no spelling of an internal address', async () => {
    const inside = [
      ...['127.0.0.1', '[::1]', '[::127.0.0.1]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '2130706433'],
      ...['0x7f.1', '017700000001', '127.1', '[2002:7f00:1::]', '[fe80::5efe:127.0.0.1]', 'localhost'],
      ...['169.254.169.254', '[::a9fe:a9fe]', '10.0.0.1', '[fd00:ec2::254]', '0.0.0.0', '[::]'],
    ];
    const strangers = { allowPrivateHosts: false, baseUrl: 'https://billing.invalid', authUrl: null };
    const before = tunnels.length;
    for (const http of [client(strangers), client({ ...strangers, httpsProxy: proxyUrl })]) {
      await attackEach(
        'addresses of our own network in a URL',
        inside,
        async (host) => (await get(http, `https://${host}:${port}/`)) === 'address-refused',
      );
    }
    expect(tunnels.slice(before)).toEqual([]);
  });

  test('calls public hosts at port 443 or the configured port only', async () => {
    const ports = [22, 25, 80, 6379, 8443, 9200, 65_535];
    const strict = client({ httpsProxy: proxyUrl, allowPrivateHosts: false });
    const direct = client({ allowPrivateHosts: false });
    for (const [http, host] of [
      [strict, '8.8.8.8'],
      [strict, 'billing.invalid'],
      [direct, '8.8.8.8'],
    ] as const) {
      await attackEach(
        'other ports of public hosts',
        ports,
        async (odd) => (await get(http, `https://${host}:${odd}/`)) === 'host-not-allowed',
      );
    }
    const listed = client({ httpsProxy: proxyUrl, downloadHosts: ['billing.invalid:8443'] });
    expect(await get(listed, 'https://billing.invalid:8443/')).toBe('here');
  });
});

describe('redirects', () => {
  const redirect = (to: string, status = 302) =>
    `https://127.0.0.1:${port}/a?status=${status}&to=${encodeURIComponent(to)}`;
  const send = (url: string, method: 'GET' | 'POST' = 'GET') =>
    client()
      .send({ method, url, headers: { authorization: 'Bearer ours' } }, LIMITS)
      .then(({ status, body }) => (status < 300 ? Buffer.from(body).toString() : status));

  test('are followed to the same origin only', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      expect(await send(redirect('/b/?echo', status))).toBe('GET Bearer ours');
    }
    expect(await send(redirect(`https://127.0.0.1:${port}/b?echo`, 308))).toBe('GET Bearer ours');
    expect(await send(redirect('?echo', 307), 'POST')).toBe('POST Bearer ours');
    expect(await send(redirect('?echo', 308), 'POST')).toBe('POST Bearer ours');
    const twice = redirect(redirect('/c?echo'));
    expect(await send(twice)).toBe('GET Bearer ours');
  });

  test('are followed nowhere else, with no other method and no loop', async () => {
    const elsewhere = [
      ...['https://elsewhere.invalid/', '//elsewhere.invalid/', '/\\elsewhere.invalid/'],
      ...['\\\\elsewhere.invalid', 'file:///etc/passwd', 'data:,x', 'https://'],
      ...[`https://127.0.0.1:${port}@elsewhere.invalid/`, `http://127.0.0.1:${port}/`, 'https://127.0.0.1/'],
      ...[`https://127.0.0.1:${port + 1}/`, `https://localhost:${port}/`, 'https://169.254.169.254/latest/'],
      ...[`https://[::1]:${port}/`, `https://2130706434:${port}/`],
    ].map((to) => [redirect(to), 'GET'] as const);
    const otherMethods = [301, 302, 303].map((status) => [redirect('/?echo', status), 'POST'] as const);
    const loop = [`https://127.0.0.1:${port}/a?to=`, 'GET'] as const;
    const before = certificates.length;
    await attackEach(
      'redirects to another place',
      [...elsewhere, ...otherMethods, loop],
      async ([url, method]) => typeof (await send(url, method)) === 'number',
    );
    expect(certificates.length - before).toBeLessThanOrEqual(elsewhere.length + otherMethods.length + 4);
  });
});

describe('HTTPS_PROXY', () => {
  test('is used with its credentials for names that only it resolves', async () => {
    const http = client({ httpsProxy: proxyUrl, allowPrivateHosts: false });
    expect(await get(http, 'https://billing.invalid/a')).toBe('here');
    const basic = Buffer.from('us@er:p:ss').toString('base64');
    expect(tunnels.at(-1)).toBe(`billing.invalid:443 Basic ${basic}`);
  });

  test('is not used for NO_PROXY and this machine', async () => {
    const before = tunnels.length;
    const http = client({ httpsProxy: proxyUrl, noProxy: 'example.org, billing.invalid' });
    expect(await get(http, `https://127.0.0.1:${port}/`)).toBe('here');
    expect(await get(http, `https://localhost:${port}/`)).toBe('here');
    expect(await get(http, 'https://billing.invalid/')).toBe('unreachable');
    attack('calls of this machine through a proxy', { tries: 3, held: 3 - (tunnels.length - before) });
  });

  test.each(['*', 'example.org, *'])('is used for nothing with NO_PROXY=%s', async (noProxy) => {
    const before = tunnels.length;
    const http = client({ httpsProxy: proxyUrl, noProxy });
    expect(await get(http, 'https://billing.invalid/')).toBe('unreachable');
    expect(tunnels.length).toBe(before);
  });
});

describe('BILLSYNC_CLIENT_CERT', () => {
  test('is sent to the service only', async () => {
    const http = client({ clientCert: certFile, clientKey: keyFile });
    await get(http, `https://127.0.0.1:${port}/`);
    await get(http, `https://localhost:${port}/`);
    expect(certificates.slice(-2)).toEqual(['localhost', '']);
    attack('client certificate sent to others', { tries: 1, held: certificates.at(-1) === '' ? 1 : 0 });
  });

  test('is sent through a proxy as well', async () => {
    const baseUrl = 'https://billing.invalid';
    const http = client({ baseUrl, clientCert: certFile, clientKey: keyFile, httpsProxy: proxyUrl });
    expect(await get(http, `${baseUrl}/`)).toBe('here');
    expect(certificates.at(-1)).toBe('localhost');
  });

  test('needs its key', () => {
    expect(() => client({ clientCert: certFile })).toThrow('BILLSYNC_CLIENT_KEY');
  });
});
