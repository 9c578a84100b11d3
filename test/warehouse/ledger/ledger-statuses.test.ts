import { afterAll, describe, expect, test } from 'vitest';
import { aCsv, aWarehouse, INVOICE, loadCsv } from '../support.ts';

const VOIDED = '22222222-2222-4222-8222-22222222222a';
const UNKNOWN = '33333333-3333-4333-8333-333333333333';

const t = await aWarehouse();
await loadCsv(t, aCsv([{ 'Billing Cost': '1.5' }, { 'Billing Cost': '2.25' }]));
await t.warehouse.recordDetails({
  invoiceId: INVOICE,
  status: 'finalized',
  header: { invoiceTotalAmount: '3.80', totalTransactionCount: 3 },
});
await t.warehouse.recordDetails({ invoiceId: VOIDED, status: 'voided', header: {} });
afterAll(() => t.close());

describe('ledgerStatuses', () => {
  test('return state, stated and loaded values of known invoices only', async () => {
    const statuses = await t.warehouse.ledgerStatuses([INVOICE, VOIDED.toUpperCase(), UNKNOWN, 'no uuid']);
    const byId = Object.fromEntries(statuses.map(({ invoiceId, ...status }) => [invoiceId, status]));
    expect(byId).toEqual({
      [INVOICE]: {
        ...{ state: 'loaded', billingCost: '3.7500', shipments: 2 },
        ...{ statedTotal: '3.80', statedShipments: 3, isUnanswered: false },
      },
      [VOIDED]: {
        ...{ state: 'voided', billingCost: null, shipments: null },
        ...{ statedTotal: null, statedShipments: null, isUnanswered: false },
      },
    });
  });

  test('return which last check failed or returned an unknown status', async () => {
    const isUnanswered = async () => (await t.warehouse.ledgerStatuses([INVOICE]))[0]?.isUnanswered;
    await t.warehouse.recordFailure(INVOICE, { code: 'recheck-unanswered', reason: 'It does not answer.' });
    expect(await isUnanswered()).toBe(true);
    await t.warehouse.recordFailure(INVOICE, null);
    expect(await isUnanswered()).toBe(false);
    await t.warehouse.recordDetails({
      invoiceId: INVOICE,
      status: null,
      unknownStatus: 'SETTLED',
      header: {},
    });
    expect(await isUnanswered()).toBe(true);
    await t.warehouse.recordDetails({ invoiceId: INVOICE, status: 'finalized', header: {} });
    expect(await isUnanswered()).toBe(false);
  });
});
