import { request as httpsRequest } from 'node:https';
import { networkInterfaces } from 'node:os';
import { afterAll, describe, expect, test } from 'vitest';
import { startSandbox } from '../../sandbox/service.ts';
import { attackEach } from '../support/attack.ts';

const sandbox = await startSandbox();
afterAll(() => sandbox.close());

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** With any Host header, which a client library would not send. */
function send(url: string, { method = 'GET', headers = {}, body }: Sent = {}) {
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const request = httpsRequest(url, { method, headers, rejectUnauthorized: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    request.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('the admin API and the page', () => {
  test.each(['attacker.example', 'attacker.example:443', '10.0.0.1', '127.0.0.1.attacker.example'])(
    'refuse a website that resolves %s to this machine, secrets first',
    async (host) => {
      const urls = [`${sandbox.adminUrl}/connection`, `${sandbox.adminUrl}/docs/json`, sandbox.pageUrl];
      await attackEach('sandbox: websites under a name of their own', urls, async (url) => {
        const { status, text } = await send(url, { headers: { host } });
        return status === 403 && !text.includes(sandbox.clientSecret) && !text.includes(sandbox.apiKey);
      });
    },
  );

  test('answer every name of this machine', async () => {
    const { port } = new URL(sandbox.adminUrl);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      expect((await send(`${sandbox.adminUrl}/status`, { headers: { host } })).status).toBe(200);
    }
  });

  test('refuse other machines unless allowed', async () => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.family === 'IPv4' && !address.internal)?.address;
    const everywhere = await startSandbox({ host: '0.0.0.0' });
    try {
      const { port } = new URL(everywhere.adminUrl);
      expect((await send(`https://127.0.0.1:${port}/admin/status`)).status).toBe(200);
      // A machine without a network has no address of its own to come from.
      if (outside !== undefined) {
        await attackEach(
          'sandbox: other machines at its admin API',
          ['/admin/connection', '/'],
          async (path) => {
            return (await send(`https://${outside}:${port}${path}`)).status === 403;
          },
        );
        expect((await send(`https://${outside}:${port}/api/v1/deliveryexperience/ping`)).status).toBe(401);
      }
    } finally {
      await everywhere.close();
    }
  });
});

test('refuses forms and scripts of other sites', async () => {
  const { host, port } = new URL(sandbox.adminUrl);
  const origins = [
    'https://elsewhere.example',
    'null',
    `http://${host}`,
    `https://127.0.0.1:${Number(port) + 1}`,
    `https://${host}.elsewhere.example`,
    `https://localhost:${port}`,
  ];
  const body = { eventType: 'invoice_created' };
  for (const url of [`${sandbox.adminUrl}/trigger`, `${sandbox.pageUrl}seed`]) {
    for (const type of ['text/plain', 'application/json', 'application/x-www-form-urlencoded']) {
      await attackEach('sandbox: forms of other sites', origins, async (origin) => {
        const headers = { origin, 'content-type': type };
        const { status } = await send(url, { method: 'POST', headers, body });
        return status >= 400 && status < 500;
      });
    }
  }
});

test('serves no file by a path, a name or a foreign signature', async () => {
  const names = [
    '../sandbox.json',
    '..%2f..%2fcredentials',
    '%2e%2e/%2e%2e/etc/passwd',
    'x.csv',
    'x.csv?X-Amz-Signature=',
    'x.csv?X-Amz-Signature=0&X-Amz-Expires=999999999999&X-Amz-Date=99990101T000000Z',
    'x.csv%00.json',
    'a'.repeat(5_000),
  ];
  await attackEach('sandbox: files by other paths and signatures', names, async (name) => {
    const { status, text } = await send(`${sandbox.storageUrl}/exports-test/${name}`);
    const isQuiet = !text.includes(sandbox.clientSecret) && !text.includes('root:');
    return status >= 400 && status < 500 && isQuiet;
  });
});

test('generates different credentials per folder, unless seeded', async () => {
  const other = await startSandbox();
  const named = await Promise.all([startSandbox({ seed: 7 }), startSandbox({ seed: 7 })]);
  expect(other.clientSecret).not.toBe(sandbox.clientSecret);
  expect(other.apiKey).not.toBe(sandbox.apiKey);
  expect(named[0].clientSecret).toBe(named[1].clientSecret);
  await Promise.all([other, ...named].map((each) => each.close()));
});

test('refuses a request for a hundred million invoices', async () => {
  const headers = { 'content-type': 'application/json' };
  const requests = [
    ['/trigger', { eventType: 'invoice_created', times: 100_000_000 }],
    ['/seed', { invoices: 100_000_000 }],
  ] as const;
  await attackEach('sandbox: calls for a hundred million invoices', requests, async ([path, body]) => {
    const { status, text } = await send(`${sandbox.adminUrl}${path}`, { method: 'POST', headers, body });
    return status === 400 && text.includes('10000');
  });
  expect((await send(`${sandbox.adminUrl}/status`)).status).toBe(200);
});

test('does not repeat signed queries', async () => {
  const { status, text } = await send(`${sandbox.storageUrl}/exports-test/x.csv?X-Amz-Signature=abcdef`, {
    method: 'POST',
  });
  expect(status).toBe(405);
  expect(text).toContain('<Code>MethodNotAllowed</Code>');
  expect(text).not.toContain('abcdef');
});
