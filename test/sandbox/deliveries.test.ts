/** Spec 4.6, 6 and 8: how events reach partner endpoints, and what happens when they do not. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { eventually } from '../support/eventually.ts';
import { envelope, type Receiver, startReceiver } from './support.ts';

const RETRY_DELAY_MS = 150;
/** Of the one test that waits for it. A second answer has to come within it, on a busy machine as well. */
const TIMEOUT_MS = 1_500;
let sandbox: Sandbox;
let receiver: Receiver;

beforeAll(async () => {
  [sandbox, receiver] = await Promise.all([startSandbox({ retryDelayMs: RETRY_DELAY_MS }), startReceiver()]);
});

beforeEach(async () => {
  await sandbox.reset();
  receiver.requests.length = 0;
  receiver.answer = () => ({ status: 200 });
  sandbox.registerWebhook({ name: 'hook', url: receiver.url, caPem: receiver.caPem, active: true });
});

afterAll(async () => {
  await sandbox.close();
  await receiver.close();
});

async function createAndWait(): Promise<void> {
  await sandbox.createInvoice({ shipments: 1 });
  await sandbox.idle();
}

test('spec 4.6: a delivery is a POST of JSON to the payload URL, sent right away', async () => {
  const start = performance.now();
  await createAndWait();
  const [request] = receiver.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/hooks' });
  expect(request?.headers['content-type']).toContain('application/json');
  expect(Object.keys(JSON.parse(request?.body ?? ''))).toEqual(['metadata', 'payload']);
  expect((request?.at ?? 0) - start).toBeLessThan(10_000);
});

test.each([200, 201, 202, 204, 299])(
  'spec 4.6: the answer %i is a success and is not retried',
  async (status) => {
    receiver.answer = () => ({ status });
    await createAndWait();
    expect(receiver.requests).toHaveLength(1);
    expect(sandbox.deliveries()[0]).toMatchObject({
      state: 'delivered',
      attempts: [{ status, error: null }],
    });
  },
);

test.each([199 + 101, 302, 400, 401, 404, 409, 429, 500, 503])(
  'spec 6.5, 8: the answer %i is retried once after a brief delay, with the same body',
  async (status) => {
    receiver.answer = (number) =>
      number === 1 ? { status, headers: { location: '/elsewhere' } } : { status: 200 };
    await createAndWait();
    const [first, second] = receiver.requests;
    expect(receiver.requests).toHaveLength(2);
    expect(second?.body).toBe(first?.body);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(RETRY_DELAY_MS - 2);
    expect(sandbox.deliveries()[0]).toMatchObject({
      state: 'delivered',
      attempts: [
        { number: 1, status },
        { number: 2, status: 200 },
      ],
    });
  },
);

test('spec 6.7: after the retry the event is logged and not requeued', async () => {
  receiver.answer = () => ({ status: 500 });
  await createAndWait();
  expect(receiver.requests).toHaveLength(2);
  expect(sandbox.deliveries()).toMatchObject([
    { state: 'failed', eventType: 'invoice_created', attempts: [{ number: 1 }, { number: 2 }] },
  ]);
  expect(sandbox.activity().map(({ message }) => message)).toContain(
    'invoice_created to hook: failed (500, attempt 2)',
  );
});

test('spec 8: an endpoint that does not answer in time is retried once', async () => {
  const impatient = await startSandbox({ retryDelayMs: RETRY_DELAY_MS, deliveryTimeoutMs: TIMEOUT_MS });
  impatient.registerWebhook({ name: 'hook', url: receiver.url, caPem: receiver.caPem, active: true });
  receiver.answer = (number) => (number === 1 ? null : { status: 200 });
  await impatient.createInvoice({ shipments: 1 });
  await impatient.idle();
  const [delivery] = impatient.deliveries();
  await impatient.close();
  expect(delivery?.attempts[0]).toMatchObject({
    status: null,
    error: `No answer within ${TIMEOUT_MS / 1000} s.`,
  });
  expect(delivery?.attempts[0]?.durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 5);
  expect(delivery?.state).toBe('delivered');
});

test('spec 8: the limit is 30 seconds unless it is set', async () => {
  const usual = await startSandbox();
  const { registrationId } = usual.registerWebhook({ name: 'a', url: receiver.url });
  receiver.answer = () => null;
  await usual.testEvent(registrationId);
  await eventually(() => receiver.requests.length === 1);
  expect(usual.deliveries()[0]).toMatchObject({ state: 'pending', attempts: [] });
  await usual.close();
});

test('an endpoint that cannot be reached is retried once and logged', async () => {
  await sandbox.reset();
  sandbox.registerWebhook({ name: 'nobody', url: 'https://127.0.0.1:1/x', active: true });
  await createAndWait();
  expect(sandbox.deliveries()[0]).toMatchObject({
    state: 'failed',
    attempts: [{ status: null }, { status: null }],
  });
});

test('an endpoint’s certificate is verified when its CA is given, and accepted otherwise', async () => {
  await sandbox.reset();
  sandbox.registerWebhook({ name: 'strict', url: receiver.url, caPem: sandbox.caPem, active: true });
  sandbox.registerWebhook({ name: 'lenient', url: receiver.url, active: true });
  await createAndWait();
  expect(sandbox.deliveries().map(({ registrationName, state }) => [registrationName, state])).toEqual([
    ['strict', 'failed'],
    ['lenient', 'delivered'],
  ]);
});

test('registrations are delivered to side by side: a slow one holds up no other', async () => {
  const patient = await startSandbox();
  const slow = await startReceiver();
  slow.answer = () => null;
  patient.registerWebhook({ name: 'slow', url: slow.url, caPem: slow.caPem, active: true });
  patient.registerWebhook({ name: 'quick', url: receiver.url, caPem: receiver.caPem, active: true });
  for (let count = 0; count < 50; count += 1) await patient.createInvoice({ shipments: 1 });
  await eventually(() => new Set(receiver.requests.map(({ body }) => body)).size === 50);
  expect(patient.deliveries().filter(({ state }) => state === 'pending').length).toBeGreaterThanOrEqual(50);
  await patient.close();
  await slow.close();
});

test('a resent event carries the same eventId and body', async () => {
  await createAndWait();
  sandbox.resend(sandbox.events()[0]?.eventId ?? '');
  await sandbox.idle();
  const [first, second] = receiver.requests;
  expect(second?.body).toBe(first?.body);
  expect(() => sandbox.resend('unknown')).toThrow(/no event/);
});

test('spec 6.4: a test event says so, for each event type', async () => {
  const { registrationId } = sandbox.registerWebhook({
    name: 'test',
    url: receiver.url,
    caPem: receiver.caPem,
  });
  for (const eventType of ['invoice_created', 'invoice_finalized', 'invoice_voided'] as const) {
    await sandbox.testEvent(registrationId, eventType);
  }
  await sandbox.idle();
  const events = receiver.requests.map(envelope);
  expect(events.every(({ metadata }) => metadata.testEvent === true)).toBe(true);
  expect(events.map(({ metadata }) => metadata.eventType).sort()).toEqual([
    'invoice_created',
    'invoice_finalized',
    'invoice_voided',
  ]);
});

test('a delivery stops when its registration is deleted before the retry', async () => {
  receiver.answer = () => {
    sandbox.deleteWebhook(sandbox.webhooks()[0]?.registrationId ?? '');
    return { status: 500 };
  };
  await createAndWait();
  expect(receiver.requests).toHaveLength(1);
  expect(sandbox.deliveries()[0]?.state).toBe('failed');
});
