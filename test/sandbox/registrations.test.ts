/** Spec 2.3: the settings of a webhook registration and their rules. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { envelope, type Receiver, startReceiver } from './support.ts';

let sandbox: Sandbox;
let receiver: Receiver;

beforeAll(async () => {
  [sandbox, receiver] = await Promise.all([startSandbox({ retryDelayMs: 10 }), startReceiver()]);
});

beforeEach(async () => {
  await sandbox.reset();
  receiver.requests.length = 0;
});

afterAll(async () => {
  await sandbox.close();
  await receiver.close();
});

const register = (settings: object = {}) =>
  sandbox.registerWebhook({ name: 'a hook', url: receiver.url, caPem: receiver.caPem, ...settings });

async function invoiceFor(tenant: string) {
  const invoice = await sandbox.createInvoice({ tenant, shipments: 1 });
  await sandbox.idle();
  return invoice;
}

test('spec 2.3: a new webhook is inactive and hears nothing', async () => {
  expect(register().active).toBe(false);
  await invoiceFor('000417');
  expect(receiver.requests).toHaveLength(0);
});

test('spec 2.3: a webhook is enabled, disabled and deleted', async () => {
  const { registrationId } = register();
  sandbox.enableWebhook(registrationId);
  await invoiceFor('000417');
  sandbox.disableWebhook(registrationId);
  await invoiceFor('000417');
  expect(receiver.requests).toHaveLength(1);
  sandbox.deleteWebhook(registrationId);
  expect(sandbox.webhooks()).toHaveLength(0);
  expect(() => sandbox.enableWebhook(registrationId)).toThrow(/no webhook registration/);
});

test.each(['http://127.0.0.1/x', 'ftp://127.0.0.1/x', '127.0.0.1', 'https://user:secret@127.0.0.1/'])(
  'spec 2.3, 8: the payload URL %s is refused',
  (url) => {
    expect(() => register({ url })).toThrow(/Payload URL/);
  },
);

test('spec 2.3: a name is required', () => {
  expect(() => register({ name: ' ' })).toThrow(/Name/);
});

test('spec 2.3: event types are one or more of the three', () => {
  expect(() => register({ eventTypes: [] })).toThrow(/Event Type/);
  expect(() => register({ eventTypes: ['invoice_paid'] })).toThrow(/unknown/);
  expect(register().eventTypes).toEqual(['invoice_created', 'invoice_finalized', 'invoice_voided']);
});

test('spec 2.3: a webhook hears only the event types it chose', async () => {
  register({ eventTypes: ['invoice_voided'], active: true });
  const { invoiceId } = await invoiceFor('000417');
  sandbox.cancel(invoiceId);
  await sandbox.idle();
  expect(receiver.requests.map((one) => envelope(one).metadata.eventType)).toEqual(['invoice_voided']);
});

test('spec 2.3: a webhook hears only the tenants it chose, and no partner-level invoice then', async () => {
  register({ tenants: ['ZOE-1'], active: true });
  await invoiceFor('000417');
  const { invoiceId } = await invoiceFor('ZOE-1');
  await sandbox.createInvoice({ partnerLevel: true });
  await sandbox.idle();
  expect(receiver.requests.map((one) => envelope(one).payload.shipiumInvoiceId)).toEqual([invoiceId]);
});

test('spec 2.3: a selection of tenants is not empty and holds known tenants', () => {
  expect(() => register({ tenants: [] })).toThrow(/empty/);
  expect(() => register({ tenants: ['nobody'] })).toThrow(/no tenant/);
});

test('spec 2.3: enterprise partners have no tenants to choose', async () => {
  const enterprise = await startSandbox({ partnerKind: 'enterprise' });
  expect(enterprise.tenants()).toEqual([]);
  expect(() => enterprise.registerWebhook({ name: 'a', url: receiver.url, tenants: ['x'] })).toThrow(
    /tenants/i,
  );
  await enterprise.close();
});

test('spec 2.3, 4.6: custom headers are sent with every request', async () => {
  register({ headers: { Authorization: 'Basic dXNlcjpwYXNz', 'X-Route': 'billing' }, active: true });
  receiver.answer = (number) => ({ status: number === 1 ? 500 : 200 });
  await invoiceFor('000417');
  receiver.answer = () => ({ status: 200 });
  expect(receiver.requests).toHaveLength(2);
  for (const { headers } of receiver.requests) {
    expect(headers).toMatchObject({ authorization: 'Basic dXNlcjpwYXNz', 'x-route': 'billing' });
  }
});

test.each([
  ['Content-Length', '5'],
  ['Host', 'x'],
  ['bad name', 'x'],
  ['X-Break', 'a\r\nX-Other: b'],
])('spec 2.3: the header %s is refused when it would break the request', (name, value) => {
  expect(() => register({ headers: { [name]: value } })).toThrow(/[Hh]eader/);
});

test('spec 2.3: a test payload reaches an inactive webhook, and only that one', async () => {
  const other = await startReceiver();
  sandbox.registerWebhook({ name: 'other', url: other.url, caPem: other.caPem, active: true });
  const { registrationId } = register();
  await sandbox.testEvent(registrationId);
  await sandbox.idle();
  expect(envelope(receiver.requests[0] ?? { body: '{}' }).metadata).toMatchObject({
    testEvent: true,
    eventType: 'invoice_finalized',
  });
  expect(other.requests).toHaveLength(0);
  await other.close();
});

test('spec 2.3: the summary list shows all registered webhooks', () => {
  register({ name: 'one' });
  register({ name: 'two', active: true });
  expect(sandbox.webhooks().map(({ name, active }) => [name, active])).toEqual([
    ['one', false],
    ['two', true],
  ]);
});
