/** Spec 3 and 6: statuses, transitions, events, schedules. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Invoice } from '../../sandbox/model.ts';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { type Envelope, envelope, type Receiver, SpecClient, startReceiver } from './support.ts';

let sandbox: Sandbox;
let receiver: Receiver;
let client: SpecClient;

beforeAll(async () => {
  [sandbox, receiver] = await Promise.all([startSandbox({ retryDelayMs: 10 }), startReceiver()]);
  client = new SpecClient(sandbox);
});

beforeEach(async () => {
  await sandbox.reset();
  receiver.requests.length = 0;
  sandbox.registerWebhook({ name: 'all', url: receiver.url, caPem: receiver.caPem, active: true });
});

afterAll(async () => {
  await client.close();
  await sandbox.close();
  await receiver.close();
});

/** What was delivered, in order. */
async function delivered(): Promise<Envelope[]> {
  await sandbox.idle();
  return receiver.requests.map(envelope);
}

async function inStatus(status: Invoice['status']): Promise<Invoice> {
  const { invoiceId } = await sandbox.createInvoice({ shipments: 3 });
  if (status === 'CANCELED') return sandbox.cancel(invoiceId);
  if (status !== 'DRAFT') sandbox.submit(invoiceId);
  return status === 'APPROVED' ? sandbox.approve(invoiceId) : sandbox.invoice(invoiceId);
}

describe('transitions', () => {
  const move = {
    PENDING_APPROVAL: (id: string) => sandbox.submit(id),
    APPROVED: (id: string) => sandbox.approve(id),
    CANCELED: (id: string) => sandbox.cancel(id),
  };

  test.each([
    ['DRAFT', 'PENDING_APPROVAL'],
    ['DRAFT', 'CANCELED'],
    ['PENDING_APPROVAL', 'APPROVED'],
    ['PENDING_APPROVAL', 'CANCELED'],
    ['APPROVED', 'CANCELED'],
  ] as const)('spec 3: %s moves to %s', async (from, to) => {
    const { invoiceId } = await inStatus(from);
    expect((await move[to](invoiceId)).status).toBe(to);
  });

  test.each([
    ['DRAFT', 'APPROVED'],
    ['PENDING_APPROVAL', 'PENDING_APPROVAL'],
    ['APPROVED', 'PENDING_APPROVAL'],
    ['APPROVED', 'APPROVED'],
    ['CANCELED', 'PENDING_APPROVAL'],
    ['CANCELED', 'APPROVED'],
    ['CANCELED', 'CANCELED'],
  ] as const)('spec 3: %s does not move to %s, and the error says what is allowed', async (from, to) => {
    const { invoiceId } = await inStatus(from);
    const eventsBefore = sandbox.events().length;
    await expect((async () => move[to](invoiceId))()).rejects.toThrow(
      /cannot move from .* to .*(only|final)/,
    );
    expect(sandbox.invoice(invoiceId).status).toBe(from);
    expect(sandbox.events()).toHaveLength(eventsBefore);
  });

  test('spec 3: the webhook status of each status is draft, pending, finalized, voided', async () => {
    const statuses: unknown[] = [];
    for (const status of ['DRAFT', 'PENDING_APPROVAL', 'APPROVED', 'CANCELED'] as const) {
      const { invoiceId } = await inStatus(status);
      const details = JSON.parse((await client.invoice(invoiceId, 'details')).text) as {
        invoiceStatus: string;
      };
      statuses.push(details.invoiceStatus);
    }
    expect(statuses).toEqual(['draft', 'pending', 'finalized', 'voided']);
  });
});

describe('events', () => {
  test('spec 6: generating an invoice emits invoice_created with status draft', async () => {
    await inStatus('DRAFT');
    const [event] = await delivered();
    expect(event?.metadata.eventType).toBe('invoice_created');
    expect(event?.payload.invoiceStatus).toBe('draft');
  });

  test('spec 6.1: no event is emitted for PENDING_APPROVAL', async () => {
    await inStatus('PENDING_APPROVAL');
    expect((await delivered()).map(({ metadata }) => metadata.eventType)).toEqual(['invoice_created']);
  });

  test('spec 6: approving emits invoice_finalized, canceling then emits invoice_voided', async () => {
    const { invoiceId } = await inStatus('APPROVED');
    sandbox.cancel(invoiceId);
    const events = await delivered();
    expect(events.map(({ metadata, payload }) => [metadata.eventType, payload.invoiceStatus]).sort()).toEqual(
      [
        ['invoice_created', 'draft'],
        ['invoice_finalized', 'finalized'],
        ['invoice_voided', 'voided'],
      ],
    );
  });

  test('spec 2.5, 6.2: every event has the six metadata fields', async () => {
    await inStatus('APPROVED');
    const events = await delivered();
    for (const { metadata } of events) {
      expect(metadata).toEqual({
        eventId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        eventTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        eventType: expect.any(String),
        partnerId: sandbox.partnerId,
        payloadSchemaVersion: 'v1',
        testEvent: false,
      });
    }
    expect(new Set(events.map(({ metadata }) => metadata.eventId)).size).toBe(events.length);
  });

  test('spec 2.6: the payload has the thirteen fields under the maker’s spelling of the ids', async () => {
    const invoice = await inStatus('DRAFT');
    const [event] = await delivered();
    expect(Object.keys(event?.payload ?? {})).toEqual([
      'shipiumInvoiceId',
      'partnerInvoiceId',
      'shipiumTenantId',
      'partnerTenantId',
      'invoiceNumber',
      'invoiceStatus',
      'invoiceStartDate',
      'invoiceEndDate',
      'invoiceDate',
      'invoiceDueDate',
      'currencyCode',
      'invoiceTotalAmount',
      'totalTransactionCount',
    ]);
    expect(event?.payload).toMatchObject({
      shipiumInvoiceId: invoice.invoiceId,
      shipiumTenantId: invoice.tenantId,
      totalTransactionCount: 3,
    });
  });

  test('spec 2.6: the total stands in the body with its exact digits', async () => {
    await sandbox.createInvoice({
      shipments: [
        { billingCost: '90071992547409.9301' },
        { billingCost: '0.0009' },
        { billingCost: '-0.0200' },
      ],
      set: {},
    });
    await sandbox.idle();
    expect(receiver.requests[0]?.body).toContain('"invoiceTotalAmount":90071992547409.911,');
  });

  test('spec 2.6: the neutral spelling and any maker’s prefix are a setting', async () => {
    for (const wirePrefix of ['service', 'acme']) {
      const other = await startSandbox({ wirePrefix });
      await other.createInvoice();
      const { payload } = envelope({ body: other.events()[0]?.body ?? '' });
      expect(Object.keys(payload)).toEqual(
        expect.arrayContaining([`${wirePrefix}InvoiceId`, `${wirePrefix}TenantId`]),
      );
      await other.close();
    }
  });

  test('spec 2.7: only invoice_finalized carries the four fields of the file', async () => {
    const { invoiceId } = await inStatus('APPROVED');
    sandbox.cancel(invoiceId);
    for (const { metadata, payload } of await delivered()) {
      const fields = ['presignedUrl', 'presignedUrlExpiresAt', 'fileHashSha256', 'fileSizeBytes'];
      const isFinalized = metadata.eventType === 'invoice_finalized';
      expect(fields.filter((name) => name in payload)).toEqual(isFinalized ? fields : []);
    }
  });

  test('spec 8: an invoice is due 15 days after its date', async () => {
    const invoice = await sandbox.createInvoice({ set: { invoiceDate: '2026-02-20' } });
    expect(invoice.dueDate).toBe('2026-03-07');
  });

  test('spec 6.6: a failed export sends no finalized event; regenerate is 404, export-csv works', async () => {
    sandbox.faults.add({ name: 'export-failure' });
    const { invoiceId } = await inStatus('APPROVED');
    expect((await delivered()).map(({ metadata }) => metadata.eventType)).toEqual(['invoice_created']);
    expect((await client.invoice(invoiceId, 'regenerate')).status).toBe(404);
    const csv = await client.invoice(invoiceId, 'export-csv');
    expect([csv.status, csv.text.split('\r\n').length]).toEqual([200, 5]);
  });

  test('a repair after a failed export lets regenerate work, without an event', async () => {
    sandbox.faults.add({ name: 'export-failure' });
    const { invoiceId } = await inStatus('APPROVED');
    await sandbox.repair(invoiceId);
    expect((await client.invoice(invoiceId, 'regenerate')).status).toBe(200);
    expect(await delivered()).toHaveLength(1);
  });
});

describe('billing schedules', () => {
  const statuses = (invoices: readonly Invoice[]) => invoices.map(({ status }) => status);

  test('spec 3: without auto-approve the invoices stay in DRAFT', async () => {
    const { scheduleId } = sandbox.schedules.add({ name: 'weekly', shipments: 2 });
    const invoices = await sandbox.schedules.run(scheduleId);
    expect(statuses(invoices)).toEqual(Array(6).fill('DRAFT'));
    expect(new Set(invoices.map(({ tenantId }) => tenantId)).size).toBe(6);
  });

  test('spec 3: with auto-approve they move to APPROVED, which emits invoice_finalized', async () => {
    const { scheduleId } = sandbox.schedules.add({ name: 'weekly', autoApprove: true, shipments: 2 });
    expect(statuses(await sandbox.schedules.run(scheduleId))).toEqual(Array(6).fill('APPROVED'));
    const types = (await delivered()).map(({ metadata }) => metadata.eventType);
    expect(types.filter((type) => type === 'invoice_finalized')).toHaveLength(6);
  });

  test('spec 3: single tenants override the setting, either way', async () => {
    const tenants = ['000417', 'ZOE-1'];
    const on = sandbox.schedules.add({
      name: 'a',
      tenants,
      autoApprove: true,
      tenantOverrides: { '000417': false },
    });
    expect(statuses(await sandbox.schedules.run(on.scheduleId))).toEqual(['DRAFT', 'APPROVED']);
    const off = sandbox.schedules.add({ name: 'b', tenants, tenantOverrides: { 'ZOE-1': true } });
    expect(statuses(await sandbox.schedules.run(off.scheduleId))).toEqual(['DRAFT', 'APPROVED']);
  });

  test('spec 3: the setting is changed by editing the schedule', async () => {
    const { scheduleId } = sandbox.schedules.add({ name: 'a', tenants: ['0042'] });
    sandbox.schedules.edit(scheduleId, { autoApprove: true });
    expect(statuses(await sandbox.schedules.run(scheduleId))).toEqual(['APPROVED']);
  });

  test('a schedule of partner level generates one invoice that sums the tenants', async () => {
    const parts = [
      await sandbox.createInvoice({ tenant: '000417' }),
      await sandbox.createInvoice({ tenant: 'ZOE-1' }),
    ];
    const { scheduleId } = sandbox.schedules.add({ name: 'all', level: 'partner' });
    const [invoice] = await sandbox.schedules.run(scheduleId);
    expect(invoice?.sources).toEqual(parts.map(({ invoiceId }) => invoiceId));
  });

  test('a schedule with an interval runs by itself until it is disabled', async () => {
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
