import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Decision } from '../../../lib/wire/warehouse-requests.ts';
import { aCsv, anEvent, aWarehouse, INVOICE, loadCsv, sha256, type TestWarehouse } from '../support.ts';

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
  test('leaves every total at once, and returns when an operator restores it', async () => {
    await loadCsv(t, aCsv());
    const event = await voidedByEvent();
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'voided', voidBasis: 'event' });
    expect(await total()).toBeNull();
    expect(await decide({ kind: 'restore', isDryRun: true })).toMatchObject({
      outcome: 'done',
      state: 'voided',
    });
    expect(await total()).toBeNull();
    expect(await decide({ kind: 'restore' })).toMatchObject({ outcome: 'done', state: 'loaded' });
    expect(await total()).toBe('9.1600');
    // A repeated event changes nothing.
    await t.record([event]);
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'loaded', voidBasis: null });
    expect(await decide({ kind: 'restore' })).toMatchObject({ outcome: 'not-voided' });
  });

  test('is voided again by later evidence after a restore', async () => {
    await loadCsv(t, aCsv());
    await voidedByEvent();
    await decide({ kind: 'restore' });
    await voidedByEvent('eeeeeeee-1111-4000-8000-000000000002', '2026-03-02T00:00:00.000Z');
    expect(await total()).toBeNull();
    await decide({ kind: 'restore' });
    expect(await total()).toBe('9.1600');
    expect(await total('2026-03-01T00:30:00')).toBe('9.1600');
  });

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

  test('is kept when the service itself reports it', async () => {
    await loadCsv(t, aCsv());
    await voidedByEvent();
    await t.warehouse.recordDetails({ invoiceId: INVOICE, status: 'voided', header: {} });
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'voided', voidBasis: 'details' });
    expect(await decide({ kind: 'restore' })).toMatchObject({ outcome: 'voided-by-service' });
    expect(await total()).toBeNull();
  });
});

describe('a version that an operator chose', () => {
  test('counts from the decision on, also after a rebuild', async () => {
    await loadCsv(t, aCsv());
    await loadCsv(t, aCsv([{ 'Billing Cost': '5' }]));
    expect(await total()).toBe('5.0000');
    expect(await decide({ kind: 'use-version', version: 3 })).toMatchObject({
      outcome: 'no-such-version',
      versions: [1, 2],
    });
    expect(await decide({ kind: 'use-version', version: 2 })).toMatchObject({ outcome: 'counts-already' });
    expect(await decide({ kind: 'use-version', version: 1 })).toMatchObject({ outcome: 'done' });
    expect(await total()).toBe('9.1600');
    const [load] = await t.query('select max(loaded_at)::varchar as at from internal.loads');
    const totals = async () => [await total(), await total(String(load?.at)), await total('2027-01-01')];
    expect(await totals()).toEqual(['9.1600', '5.0000', '9.1600']);
    await t.rebuild();
    expect(await totals()).toEqual(['9.1600', '5.0000', '9.1600']);
  });

  test('is replaced once the service names a file that it had not named before', async () => {
    const older = aCsv();
    await loadCsv(t, older);
    const ahead = aCsv([{ 'Billing Cost': '5' }]);
    await t.record([
      anEvent('invoice_finalized', { fileHashSha256: sha256(ahead), eventTimestamp: '2026-03-05T00:00:00Z' }),
    ]);
    await loadCsv(t, ahead);
    await decide({ kind: 'use-version', version: 1 });
    expect(await total()).toBe('9.1600');
    const newest = aCsv([{ 'Billing Cost': '7' }]);
    await t.record([
      anEvent('invoice_finalized', {
        fileHashSha256: sha256(newest),
        eventTimestamp: '2026-03-06T00:00:00Z',
      }),
    ]);
    await t.warehouse.recordHash({ invoiceId: INVOICE, sha256: sha256(ahead), sizeBytes: 1 });
    expect(await total()).toBe('9.1600');
    await loadCsv(t, newest, { source: 'regenerate' });
    expect(await total()).toBe('7.0000');
    await t.warehouse.recordHash({ invoiceId: INVOICE, sha256: sha256(ahead), sizeBytes: 1 });
    expect(await total()).toBe('5.0000');
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
