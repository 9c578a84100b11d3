import { afterAll, describe, expect, test } from 'vitest';
import { startSandbox } from '../../sandbox/service.ts';
import { SpecClient } from './support.ts';

const sandbox = await startSandbox({ retryDelayMs: 10 });
const client = new SpecClient(sandbox);

afterAll(async () => {
  await client.close();
  await sandbox.close();
});

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

async function call(
  method: Method,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
  url = sandbox.adminUrl,
) {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const { status, text } = await client.send(`${url}${path}`, {
    method,
    headers: { ...json, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes.
  return { status, body: (text === '' ? null : JSON.parse(text)) as any };
}

async function createInvoice(body: object = {}): Promise<string> {
  return (await call('POST', '/invoices', body)).body.invoiceId;
}

describe('bodies', () => {
  test.each([
    ['an empty body that is called JSON', { 'content-type': 'application/json' }, ''],
    [
      'JSON that curl calls a form',
      { 'content-type': 'application/x-www-form-urlencoded' },
      '{"shipments":1}',
    ],
  ])('accepts %s', async (_, headers, body) => {
    const answer = await client.send(`${sandbox.adminUrl}/invoices`, { method: 'POST', headers, body });
    expect(answer.status).toBe(201);
  });

  test('refuses a body that is not JSON, with the reason', async () => {
    const answer = await client.send(`${sandbox.adminUrl}/invoices`, { method: 'POST', body: 'shipments=1' });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      400,
      { error: 'invalid_request', error_description: expect.stringContaining('no JSON') },
    ]);
  });
});

describe('invoices', () => {
  test('are generated, submitted, approved and canceled', async () => {
    const id = await createInvoice({ tenant: '000417', shipments: 3, set: { invoiceNumber: 'A-1' } });
    for (const [verb, status] of [
      ['submit', 'PENDING_APPROVAL'],
      ['approve', 'APPROVED'],
      ['cancel', 'CANCELED'],
    ]) {
      expect(await call('POST', `/invoices/${id}/${verb}`)).toMatchObject({ status: 200, body: { status } });
    }
    expect((await call('GET', `/invoices/${id}`)).body).toMatchObject({
      invoiceNumber: 'A-1',
      shipmentCount: 3,
    });
  });

  test('are listed newest first, by status and tenant, in pages', async () => {
    await createInvoice({ tenant: '000417' });
    const id = await createInvoice({ tenant: 'ZOE-1' });
    expect((await call('GET', '/invoices?tenant=ZOE-1&status=DRAFT&limit=1')).body).toMatchObject([
      { invoiceId: id },
    ]);
    expect((await call('GET', '/invoices?limit=1&offset=1')).body[0].invoiceId).not.toBe(id);
  });

  test.each([
    [{ shipments: -1 }],
    [{ shipments: [{ billingCost: '1e3' }] }],
    [{ set: { invoiceDate: '2026-02-30' } }],
    [{ set: { currencyCode: 'euro' } }],
    [{ set: { color: 'red' } }],
    [{ set: { invoiceStartDate: '2026-03-02', invoiceEndDate: '2026-03-01' } }],
    [{ partnerLevel: true, tenant: '000417' }],
    [{ unknown: 1 }],
  ])('%j is refused with 400', async (body) => {
    // A partner-level invoice sums those of the tenants.
    await createInvoice();
    expect((await call('POST', '/invoices', body)).status).toBe(400);
  });

  test('trigger creates the requested number of invoices and moves them to the event', async () => {
    const body = { eventType: 'invoice_voided', times: 2, invoice: { shipments: 1 } };
    const answer = await call('POST', '/trigger', body);
    expect(answer.body.map(({ status }: { status: string }) => status)).toEqual(['CANCELED', 'CANCELED']);
  });
});

describe('registrations', () => {
  const settings = { name: 'hook', url: 'https://127.0.0.1:1/x', headers: { Authorization: 'Basic secret' } };

  test('are added, edited, enabled, disabled and deleted without showing header values', async () => {
    const added = await call('POST', '/registrations', settings);
    expect(added).toMatchObject({ status: 201, body: { active: false, headers: { Authorization: '•••' } } });
    const path = `/registrations/${added.body.registrationId}`;
    expect((await call('PATCH', path, { name: 'other' })).body).toMatchObject({
      name: 'other',
      url: settings.url,
    });
    expect(sandbox.webhooks().at(-1)?.headers).toEqual(settings.headers);
    expect((await call('POST', `${path}/enable`)).body.active).toBe(true);
    expect((await call('POST', `${path}/disable`)).body.active).toBe(false);
    expect((await call('POST', `${path}/test-event`)).body).toMatchObject({
      testEvent: true,
      state: 'pending',
    });
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('GET', path)).status).toBe(404);
  });
});

test('lists and resends events, and shows payload and attempts of deliveries', async () => {
  await sandbox.reset();
  await call('POST', '/registrations', { name: 'unreachable', url: 'https://127.0.0.1:1/', active: true });
  const id = await createInvoice();
  const [event] = (await call('GET', `/events?invoiceId=${id}`)).body;
  expect((await call('POST', `/events/${event.eventId}/resend`)).body).toHaveLength(1);
  expect((await call('POST', '/idle')).status).toBe(204);
  const deliveries = (await call('GET', `/deliveries?invoiceId=${id}&state=failed`)).body;
  expect(deliveries).toHaveLength(2);
  const { body } = await call('GET', `/deliveries/${deliveries[0].deliveryId}`);
  expect(body).toMatchObject({ body: event.body, attempts: [{ number: 1 }, { number: 2 }] });
});

test('adds, lists and clears faults and describes the catalogue', async () => {
  const { status, body } = await call('POST', '/faults', {
    name: 'drop',
    count: 2,
    target: { endpoint: 'delivery' },
  });
  expect([status, (await call('GET', '/faults')).body]).toEqual([201, [body]]);
  expect((await call('DELETE', `/faults/${body.faultId}`)).status).toBe(204);
  expect((await call('POST', '/faults', { name: 'gremlins' })).status).toBe(400);
  const { faults, malformations } = (await call('GET', '/fault-catalogue')).body;
  expect(faults.length).toBeGreaterThan(25);
  expect(malformations.length).toBeGreaterThan(20);
});

test('deactivates API keys and revokes tokens', async () => {
  const { body } = await call('POST', '/api-keys', { name: 'nightly' });
  expect((await call('POST', `/api-keys/${body.keyId}/deactivate`)).body.active).toBe(false);
  const authorization = `Bearer ${await client.token()}`;
  expect((await call('POST', '/revoke-tokens')).status).toBe(204);
  expect((await client.ping({ authorization })).status).toBe(401);
  expect((await client.ping({ authorization: `Bearer ${await client.token()}` })).status).toBe(200);
});

test('streams billed shipments as lines', async () => {
  await sandbox.reset();
  await call('POST', '/seed', { invoices: 4, shipments: 5 });
  const { text } = await client.send(`${sandbox.adminUrl}/billed-shipments`);
  const rows = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows).toHaveLength(20);
  expect(rows[0]).toMatchObject({
    level: 'tenant',
    status: 'DRAFT',
    billingCost: expect.stringMatching(/^-?\d+\.\d+$/),
  });
});

test('refuses unknown and malformed query parameters', async () => {
  expect((await call('GET', '/invoices?colour=red')).status).toBe(400);
  expect((await call('GET', '/invoices?limit=many')).status).toBe(400);
  expect((await call('GET', '/invoices?status=OPEN')).status).toBe(400);
});

test('refuses requests of another origin', async () => {
  expect((await call('GET', '/status', undefined, { origin: 'https://evil.example' })).status).toBe(403);
  expect((await call('GET', '/status', undefined, { origin: sandbox.baseUrl })).status).toBe(200);
});

test('describes every route in the OpenAPI document', async () => {
  const { openapi, paths } = (await call('GET', '/openapi.json')).body;
  expect(openapi).toBe('3.1.0');
  // The examples act on the other account, whose state no test looks at.
  const production = `${sandbox.baseUrl}/production/admin`;
  let examples = 0;
  for (const [path, operations] of Object.entries<Record<string, Operation>>(paths)) {
    for (const [method, { summary, requestBody }] of Object.entries(operations)) {
      expect(summary, path).toMatch(/\.$/);
      // A refusal for the values, such as an unknown id, is no refusal of the shape.
      const example = requestBody?.content['application/json'].example;
      if (example === undefined) continue;
      examples += 1;
      const answer = await call(
        method.toUpperCase() as Method,
        path.replace('/admin', ''),
        example,
        {},
        production,
      );
      expect([200, 201, 404], `${path}: ${JSON.stringify(answer.body)}`).toContain(answer.status);
    }
  }
  expect(examples).toBeGreaterThan(8);
  const gets = Object.keys(paths).filter((path) => 'get' in paths[path] && !/[{]|billed/.test(path));
  expect(gets.length).toBeGreaterThan(8);
  for (const path of gets) expect((await call('GET', path.replace('/admin', ''))).status, path).toBe(200);
});

interface Operation {
  readonly summary: string;
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly example: object } } };
}
