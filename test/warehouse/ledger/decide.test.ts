import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Decision } from '../../../lib/warehouse-requests.ts';
import { aCsv, anEvent, aWarehouse, INVOICE, loadCsv, type TestWarehouse } from '../support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

const BY = { invoiceId: INVOICE, by: 'ada', reason: 'the service confirmed it', isDryRun: false } as const;

async function total(knownOn?: string): Promise<unknown> {
  const from =
    knownOn === undefined ? 'shipments' : `shipments_as_known_on(timestamp '${knownOn}' at time zone 'UTC')`;
  const [row] = await t.query(`select sum(billing_cost)::varchar as cost from ${from}`);
  return row?.cost;
}

/** A void that an event reported before the decisions of the test. */
async function voidedByEvent(
  eventId = 'eeeeeeee-1111-4000-8000-000000000001',
  receivedAt = '2026-03-01T01:00:00.000Z',
) {
  const event = anEvent('invoice_voided', { eventId, receivedAt });
  await t.record([event]);
  return event;
}

const decide = (decision: Partial<Decision> & Pick<Decision, 'kind'>) =>
  t.warehouse.decide({ ...BY, ...decision } as Decision);

describe('a void that only an event reported', () => {
  test('waits for an operator, outside of every total, while the service denies it', async () => {
    await loadCsv(t, aCsv());
    await voidedByEvent();
    const denied = { code: 'void-contradicted', reason: 'the details are finalized' };
    const later = await t.reopen();
    await later.markNeedsAttention({ invoiceId: INVOICE, ...denied });
    // The clock of the test is before the event's instant; the later record counts all the same.
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({
      state: 'needs_attention',
      voidBasis: 'contradicted',
      ...{ reasonCode: denied.code },
    });
    expect(await total()).toBeNull();
    expect(await loadCsv(t, aCsv([{}, {}]))).toEqual({ outcome: 'voided' });
    expect(await decide({ kind: 'restore' })).toMatchObject({ outcome: 'done', state: 'loaded' });
    expect(await total()).toBe('9.1600');
  });
});

describe('a failure during work', () => {
  test('is stored with the state until a load or a success', async () => {
    await t.record([anEvent('invoice_finalized', { receivedAt: '2026-02-28T00:00:00.000Z' })]);
    await t.warehouse.recordFailure(INVOICE, { code: 'server-fault', reason: 'regenerate answered 500' });
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({
      ...{ state: 'finalized', reasonCode: 'server-fault', reason: 'regenerate answered 500' },
    });
    await t.warehouse.recordFailure(INVOICE, null);
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'finalized', reason: null });
    await t.warehouse.recordFailure(INVOICE, { code: 'url-refused', reason: 'storage answered 403' });
    await loadCsv(t, aCsv());
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'loaded', reason: null });
    await t.warehouse.recordFailure(INVOICE, {
      code: 'recheck-unanswered',
      reason: 'the details answer 500',
    });
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({
      state: 'loaded',
      reason: 'the details answer 500',
    });
    expect(await total()).toBe('9.1600');
  });
});
