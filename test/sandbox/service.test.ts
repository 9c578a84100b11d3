/** Rules of the sandbox that no conformance rule checks: the conformance suite proves the specification itself. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { startSandbox } from '../../sandbox/service.ts';
import { envelope, SpecClient, startReceiver } from './support.ts';

const [sandbox, receiver] = await Promise.all([startSandbox({ retryDelayMs: 10 }), startReceiver()]);
const client = new SpecClient(sandbox);

beforeEach(async () => {
  await sandbox.reset();
  receiver.requests.length = 0;
  receiver.answer = () => ({ status: 200 });
});

afterAll(async () => {
  await client.close();
  await sandbox.close();
  await receiver.close();
});

const register = (settings: object = {}) =>
  sandbox.registerWebhook({
    name: 'hook',
    url: receiver.url,
    caPem: receiver.caPem,
    active: true,
    ...settings,
  });

async function createInvoice() {
  const invoice = await sandbox.createInvoice({ shipments: 1 });
  await sandbox.idle();
  return invoice;
}

describe('accounts', () => {
  test('keep test and production invoices and keys apart (spec 5)', async () => {
    const { invoiceId } = await createInvoice();
    const production = new SpecClient(sandbox.production);
    expect((await production.invoice(invoiceId, 'details')).status).toBe(404);
    expect((await client.ping({ 'x-api-key': sandbox.production.apiKey })).status).toBe(401);
    await production.close();
  });

  test('without the billing feature have tokens and ping only (spec 1)', async () => {
    const without = await startSandbox({ hasBilling: false });
    const caller = new SpecClient(without);
    const headers = { 'x-api-key': without.apiKey };
    const id = '11111111-1111-1111-1111-111111111111';
    const ping = await caller.send(`${without.baseUrl}/api/v1/deliveryexperience/ping`, { headers });
    const details = await caller.send(`${without.baseUrl}/api/v1/billing/invoices/${id}`, { headers });
    expect([ping.status, details.status]).toEqual([200, 403]);
    await expect(without.createInvoice({})).rejects.toThrow(/billing feature is not enabled/);
    await caller.close();
    await without.close();
  });

  test('of an enterprise partner are billed without tenants (spec 1)', async () => {
    const own = await startSandbox({ partnerKind: 'enterprise' });
    const { tenantId } = await own.createInvoice({ shipments: 1 });
    expect([own.tenants(), tenantId]).toEqual([[], null]);
    await own.close();
  });
});

describe('registrations', () => {
  test.each([
    ['Content-Length', '5'],
    ['Host', 'x'],
    ['bad name', 'x'],
    ['X-Break', 'a\r\nX-Other: b'],
  ])('refuse the header %s, which would break the request', (name, value) => {
    expect(() => register({ headers: { [name]: value } })).toThrow(/[Hh]eader/);
  });

  test('verify the certificate of an endpoint only when its CA is given', async () => {
    register({ name: 'strict', caPem: sandbox.caPem });
    sandbox.registerWebhook({ name: 'lenient', url: receiver.url, active: true });
    await createInvoice();
    expect(sandbox.deliveries().map(({ registrationName, state }) => [registrationName, state])).toEqual([
      ['strict', 'failed'],
      ['lenient', 'delivered'],
    ]);
  });

  test('stop a delivery when they are deleted before the retry', async () => {
    const { registrationId } = register();
    receiver.answer = () => {
      sandbox.deleteWebhook(registrationId);
      return { status: 500 };
    };
    await createInvoice();
    expect(receiver.requests).toHaveLength(1);
    expect(sandbox.deliveries()[0]?.state).toBe('failed');
  });
});

describe('deliveries', () => {
  test('of a burst all arrive, each once', async () => {
    register();
    for (let count = 0; count < 100; count += 1) await sandbox.createInvoice({ shipments: 1 });
    await sandbox.idle();
    expect(sandbox.deliveries().filter(({ state }) => state === 'delivered')).toHaveLength(100);
    expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(100);
    expect(receiver.requests).toHaveLength(100);
  });

  test('carry method, headers and body, and log the attempt', async () => {
    register({ headers: { Authorization: 'Basic abc', 'Content-Type': 'application/json' } });
    await createInvoice();
    expect(receiver.requests[0]).toMatchObject({
      method: 'POST',
      path: '/hooks',
      body: sandbox.events()[0]?.body,
      headers: {
        authorization: 'Basic abc',
        'content-type': 'application/json',
        'user-agent': 'billing-sandbox/1',
      },
    });
    expect(sandbox.deliveries()[0]?.attempts).toMatchObject([
      { number: 1, status: 200, error: null, responseBody: '{"status":"ok"}' },
    ]);
  });
});

describe('events', () => {
  test('are resent with the same id and body', async () => {
    register();
    await createInvoice();
    sandbox.resend(sandbox.events()[0]?.eventId ?? '');
    await sandbox.idle();
    const [first, second] = receiver.requests;
    expect(second?.body).toBe(first?.body);
  });

  test('state the total with its exact digits (spec 2.6)', async () => {
    register();
    const costs = ['90071992547409.9301', '0.0009', '-0.0200'];
    await sandbox.createInvoice({ shipments: costs.map((billingCost) => ({ billingCost })), set: {} });
    await sandbox.idle();
    expect(receiver.requests[0]?.body).toContain('"invoiceTotalAmount":90071992547409.911,');
  });

  test('are not sent for a repair of a failed export', async () => {
    sandbox.faults.add({ name: 'export-failure' });
    const { invoiceId } = await createInvoice();
    await sandbox.finalize(invoiceId);
    await sandbox.repair(invoiceId);
    expect((await client.invoice(invoiceId, 'regenerate')).status).toBe(200);
    expect(sandbox.events().map(({ eventType }) => eventType)).toEqual(['invoice_created']);
  });
});

describe('schedules', () => {
  test('of partner level generate one invoice of all tenants', async () => {
    const parts = [
      await sandbox.createInvoice({ tenant: '000417' }),
      await sandbox.createInvoice({ tenant: 'ZOE-1' }),
    ];
    const { scheduleId } = sandbox.schedules.add({ name: 'all', level: 'partner' });
    const [invoice] = await sandbox.schedules.run(scheduleId);
    expect(invoice?.sources).toEqual(parts.map(({ invoiceId }) => invoiceId));
  });

  test('with an interval run until they are disabled', async () => {
    const { scheduleId } = sandbox.schedules.add({
      name: 'a',
      tenants: ['0042'],
      everySeconds: 1,
      shipments: 1,
    });
    await expect.poll(() => sandbox.invoices().length).toBeGreaterThan(0);
    sandbox.schedules.edit(scheduleId, { enabled: false });
    expect(sandbox.schedules.list()[0]).toMatchObject({ enabled: false, lastRunAt: expect.any(String) });
  });
});

describe('storage', () => {
  let url: string;
  let file: Buffer;
  beforeEach(async () => {
    const { invoiceId } = await sandbox.createInvoice({ shipments: 1_000 });
    await sandbox.finalize(invoiceId);
    url = String(envelope({ body: sandbox.events().at(-1)?.body ?? '' }).payload.presignedUrl);
    file = (await client.send(url)).bytes;
  });

  test('refuses a bearer token beside the signature', async () => {
    expect((await client.send(url, { headers: { authorization: 'Bearer abc' } })).status).toBe(400);
  });

  test('refuses a range behind the end and ignores an invalid one', async () => {
    expect((await client.send(url, { headers: { range: `bytes=${file.length}-` } })).status).toBe(416);
    expect((await client.send(url, { headers: { range: 'lines=1-2' } })).status).toBe(200);
  });

  test('guards a range with the ETag', async () => {
    const { etag = '' } = (await client.send(url)).headers;
    const stale = await client.send(url, { headers: { range: 'bytes=0-9', 'if-range': '"other"' } });
    expect([stale.status, stale.bytes.length]).toEqual([200, file.length]);
    expect((await client.send(url, { headers: { range: 'bytes=0-9', 'if-range': etag } })).status).toBe(206);
  });
});
