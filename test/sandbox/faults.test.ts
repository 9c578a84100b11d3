/** Most faults of answers are proved by what the client does with them: test/billing/sandbox-faults.slow.test.ts. */
import { createHash } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { startSandbox } from '../../sandbox/service.ts';
import { type Envelope, envelope, SpecClient, startReceiver } from './support.ts';

const [sandbox, receiver] = await Promise.all([startSandbox({ retryDelayMs: 20 }), startReceiver()]);
const client = new SpecClient(sandbox);

beforeEach(async () => {
  await sandbox.reset();
  receiver.requests.length = 0;
  sandbox.registerWebhook({ name: 'hook', url: receiver.url, caPem: receiver.caPem, active: true });
});

afterAll(async () => {
  await client.close();
  await sandbox.close();
  await receiver.close();
});

const play = (name: string, options: object = {}) => sandbox.faults.add({ name, ...options });

async function finalizedEvent(): Promise<Envelope> {
  const { invoiceId } = await sandbox.createInvoice({ tenant: '000417', shipments: 20 });
  await sandbox.finalize(invoiceId);
  await sandbox.idle();
  const events = sandbox.events().map(envelope);
  const found = events.find(
    ({ metadata, payload }) =>
      metadata.eventType === 'invoice_finalized' && payload.shipiumInvoiceId === invoiceId,
  );
  return found ?? { metadata: {}, payload: {} };
}

async function received(): Promise<Envelope[]> {
  await sandbox.idle();
  return receiver.requests.map(envelope);
}

async function download(event: Envelope) {
  const answer = await client.send(String(event.payload.presignedUrl));
  return { ...answer, sha256: createHash('sha256').update(answer.bytes).digest('hex') };
}

const ping = () => client.ping({ 'x-api-key': sandbox.apiKey });

describe('at deliveries', () => {
  test('reorder: a later event of the same invoice arrives first', async () => {
    play('reorder', { target: { eventType: 'invoice_created' } });
    await finalizedEvent();
    const types = (await received()).map(({ metadata }) => metadata.eventType);
    expect(types).toEqual(['invoice_finalized', 'invoice_created']);
  });

  test('reorder: with nothing behind it, a delivery arrives after its delay', async () => {
    play('reorder', { params: { delayMs: 60 } });
    const start = performance.now();
    await sandbox.createInvoice();
    expect(await received()).toHaveLength(1);
    expect(performance.now() - start).toBeGreaterThanOrEqual(55);
  });

  test('drop: a delivery never arrives and is logged', async () => {
    play('drop');
    await sandbox.createInvoice();
    expect(await received()).toHaveLength(0);
    expect(sandbox.deliveries()).toMatchObject([{ state: 'dropped', attempts: [] }]);
  });

  test.each(['connection-reset', 'cut-off-body'])(
    '%s: the first attempt breaks, the retry arrives',
    async (name) => {
      play(name, { count: 1, target: { endpoint: 'delivery' } });
      await sandbox.createInvoice();
      expect(await received()).toHaveLength(1);
      expect(sandbox.deliveries()[0]?.attempts.map(({ status }) => status)).toEqual([null, 200]);
    },
  );
});

describe('in events', () => {
  test('expired-url, silent: a dead URL with a lively expiry', async () => {
    play('expired-url', { params: { silent: true } });
    const event = await finalizedEvent();
    expect(Date.parse(String(event.payload.presignedUrlExpiresAt))).toBeGreaterThan(Date.now());
    expect((await download(event)).status).toBe(403);
  });

  test.each([2, -2])('clock-skew: instants are %i hours off, the URL is alive', async (hours) => {
    play('clock-skew', { params: { hours } });
    const event = await finalizedEvent();
    const skew = Date.parse(String(event.metadata.eventTimestamp)) - Date.now();
    expect(Math.round(skew / 3_600_000)).toBe(hours);
    const lifetime = Date.parse(String(event.payload.presignedUrlExpiresAt)) - Date.now();
    expect(Math.round(lifetime / 3_600_000)).toBe(24 + hours);
    expect((await download(event)).status).toBe(200);
  });
});

describe('at the export', () => {
  test('partner-level-double: a partner-level invoice bills the same shipments again', async () => {
    play('partner-level-double', { count: 1 });
    const { payload } = await finalizedEvent();
    const double = sandbox.invoices().find(({ tenantId }) => tenantId === null);
    expect(double).toMatchObject({
      status: 'APPROVED',
      sources: [payload.shipiumInvoiceId],
      shipmentCount: 20,
    });
  });
});

describe('at storage', () => {
  test('no-content-length: the bytes come without their number', async () => {
    play('no-content-length');
    const event = await finalizedEvent();
    const { headers, sha256 } = await download(event);
    expect([headers['content-length'], sha256]).toEqual([undefined, event.payload.fileHashSha256]);
  });
});

describe('rules', () => {
  const statuses = async (calls: number) => {
    const seen: number[] = [];
    for (let call = 0; call < calls; call += 1) seen.push((await ping()).status);
    return seen;
  };

  test('count: strikes the given number of times and counts them', async () => {
    play('unavailable', { count: 2 });
    expect(await statuses(4)).toEqual([503, 503, 200, 200]);
    expect(sandbox.faults.list()[0]).toMatchObject({ struck: 2 });
  });

  test('after: strikes mid-way', async () => {
    play('unauthorized', { after: 2, count: 1 });
    expect(await statuses(4)).toEqual([200, 200, 401, 200]);
  });

  test('forMs: strikes for a while', async () => {
    play('not-found', { forMs: 200, target: { endpoint: 'ping' } });
    expect((await ping()).status).toBe(404);
    await expect.poll(async () => (await ping()).status).toBe(200);
  });

  test('rate and seed: the same seed gives the same faults', async () => {
    const story = async (seed: number) => {
      await sandbox.reset();
      play('unavailable', { rate: 0.5, seed });
      return (await statuses(30)).join(' ');
    };
    const first = await story(7);
    expect(await story(7)).toBe(first);
    expect(await story(8)).not.toBe(first);
    expect(first).toContain('503');
    expect(first).toContain('200');
  });

  test.each([
    ['No Content-Length', 'no-content-length'],
    ['cut_off_body', 'cut-off-body'],
    ['429', 'too-many-requests'],
    ['401', 'unauthorized'],
    ['schema v2', 'schema-v2'],
  ])('a fault may be called %s', (text, name) => {
    expect(sandbox.faults.add({ name: text }).name).toBe(name);
  });

  test('target: strikes only the tenant, invoice, endpoint or webhook named', async () => {
    const { invoiceId } = await sandbox.createInvoice({ tenant: 'ZOE-1' });
    const other = await sandbox.createInvoice({ tenant: '000417' });
    play('server-error', { target: { tenant: 'ZOE-1', endpoint: ['details'] } });
    expect((await client.invoice(invoiceId, 'details')).status).toBe(500);
    expect((await client.invoice(other.invoiceId, 'details')).status).toBe(200);
    expect((await client.invoice(invoiceId, 'export-csv')).status).toBe(404);
    sandbox.faults.clear();
    play('server-error', { target: { invoiceId: other.invoiceId, endpoint: 'details' } });
    expect((await client.invoice(invoiceId, 'details')).status).toBe(200);
    expect((await client.invoice(other.invoiceId, 'details')).status).toBe(500);
    play('drop', { target: { registrationId: 'unknown' } });
    await sandbox.createInvoice();
    await sandbox.idle();
    expect(sandbox.deliveries().every(({ state }) => state === 'delivered')).toBe(true);
  });

  test('clear: switches one or all off', async () => {
    const { faultId } = play('unavailable', { target: { endpoint: 'ping' } });
    sandbox.faults.clear(faultId);
    expect(await statuses(1)).toEqual([200]);
    expect(() => sandbox.faults.clear(faultId)).toThrow(/no fault rule/);
  });

  test.each([
    [{ name: 'gremlins' }, /no fault "gremlins"/],
    [{ name: 'drop', rate: 1.5 }, /rate is 1.5/],
    [{ name: 'drop', target: { endpoint: 'token' as const } }, /strikes at delivery/],
    [{ name: 'drop', params: { kind: 'x' } }, /no setting "kind"/],
    [{ name: 'delay', params: { delayMs: 'soon' } }, /number/],
    [{ name: 'malformed-csv', params: { kind: 'x' } }, /no malformation/],
  ])('a rule that makes no sense is refused: %j', (rule, message) => {
    expect(() => sandbox.faults.add(rule)).toThrow(message);
  });
});
