/** The sandbox holds credentials and does what a person may: only programs of this machine may ask it to. */

import { request as httpsRequest } from 'node:https';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { attack } from '../support/attack.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** With any Host header, which a client library would not send. */
function ask(url: string, { method = 'GET', headers = {}, body }: Asked = {}) {
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    const asking = httpsRequest(url, { method, headers, rejectUnauthorized: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asking.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe('the admin API and the page', () => {
  test.each(['attacker.example', 'attacker.example:443', '10.0.0.1', '127.0.0.1.attacker.example'])(
    'refuse a website that resolves %s to this machine, secrets first',
    async (host) => {
      const urls = [`${sandbox.adminUrl}/connection`, sandbox.pageUrl];
      const answers = await Promise.all(urls.map((url) => ask(url, { headers: { host } })));
      const held = answers.filter(
        ({ status, text }) =>
          status === 403 && !text.includes(sandbox.clientSecret) && !text.includes(sandbox.apiKey),
      ).length;
      attack('sandbox: websites under a name of their own', { tries: urls.length, held });
    },
  );

  test('answer every name of this machine', async () => {
    const { port } = new URL(sandbox.adminUrl);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      expect((await ask(`${sandbox.adminUrl}/status`, { headers: { host } })).status).toBe(200);
    }
  });

  test('refuse other machines unless allowed', async () => {
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.family === 'IPv4' && !address.internal)?.address;
    const everywhere = await startSandbox({ host: '0.0.0.0' });
    try {
      const { port } = new URL(everywhere.adminUrl);
      expect((await ask(`https://127.0.0.1:${port}/admin/status`)).status).toBe(200);
      // A machine without a network has no address of its own to come from.
      if (outside !== undefined) {
        const statuses = [
          (await ask(`https://${outside}:${port}/admin/connection`)).status,
          (await ask(`https://${outside}:${port}/`)).status,
        ];
        const held = statuses.filter((status) => status === 403).length;
        attack('sandbox: other machines at its admin API', { tries: statuses.length, held });
        expect((await ask(`https://${outside}:${port}/api/v1/deliveryexperience/ping`)).status).toBe(401);
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
  const statuses: number[] = [];
  for (const origin of origins) {
    for (const url of [`${sandbox.adminUrl}/trigger`, `${sandbox.pageUrl.replace(/\/$/, '')}/invoices`]) {
      const body = { eventType: 'invoice_created' };
      for (const type of ['text/plain', 'application/json', 'application/x-www-form-urlencoded']) {
        const headers = { origin, 'content-type': type };
        statuses.push((await ask(url, { method: 'POST', headers, body })).status);
      }
    }
  }
  const held = statuses.filter((status) => status >= 400 && status < 500).length;
  attack('sandbox: forms of other sites', { tries: statuses.length, held });
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
  let held = 0;
  for (const name of names) {
    const { status, text } = await ask(`${sandbox.storageUrl}/exports-test/${name}`);
    const isQuiet = !text.includes(sandbox.clientSecret) && !text.includes('root:');
    if (status >= 400 && status < 500 && isQuiet) held += 1;
  }
  attack('sandbox: files by other paths and signatures', { tries: names.length, held });
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
  let held = 0;
  for (const [path, body] of [
    ['/trigger', { eventType: 'invoice_created', times: 100_000_000 }],
    ['/seed', { invoices: 100_000_000 }],
  ] as const) {
    const { status, text } = await ask(`${sandbox.adminUrl}${path}`, { method: 'POST', headers, body });
    expect(status).toBe(400);
    expect(text).toMatch(/10000/);
    held += 1;
  }
  attack('sandbox: calls for a hundred million invoices', { tries: 2, held });
  expect((await ask(`${sandbox.adminUrl}/status`)).status).toBe(200);
});

test('does not repeat signed queries', async () => {
  const { status, text } = await ask(`${sandbox.storageUrl}/exports-test/x.csv?X-Amz-Signature=abcdef`, {
    method: 'POST',
  });
  expect(status).toBe(405);
  expect(text).toContain('<Code>MethodNotAllowed</Code>');
  attack('sandbox: signed queries repeated in an answer', {
    tries: 1,
    held: text.includes('abcdef') ? 0 : 1,
  });
});
