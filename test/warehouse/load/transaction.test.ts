import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Session } from '../../../warehouse/duckdb/session.ts';
import { aCsv, anEvent, aWarehouse, loadCsv, type TestWarehouse } from '../support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await t.close();
});

const storedRows = async (): Promise<unknown> =>
  (await t.query('select count(*)::integer as n from shipment_versions'))[0]?.n;

test('runs loads, events and a publication at once without a deadlock', async () => {
  const ids = Array.from({ length: 9 }, (_, n) => `55555555-5555-4555-8555-00000000000${n}`);
  const { insert } = Session.prototype;
  const [inTransaction, mayContinue] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  vi.spyOn(Session.prototype, 'insert').mockImplementation(async function (this: Session, table, rows) {
    if (table === 'loads' && JSON.stringify(rows).includes(ids[0] ?? '')) {
      inTransaction.resolve();
      await mayContinue.promise;
    }
    return insert.call(this, table, rows);
  });
  const load = (invoiceId: string) => loadCsv(t, aCsv([{}], invoiceId), { invoiceId });
  // One load is inside its transaction; a publication waits for it, and all the others for a connection.
  const loading = [load(ids[0] ?? '')];
  await inTransaction.promise;
  const publishing = t.warehouse.publish();
  loading.push(...ids.slice(1).map(load));
  const events = ids.map((invoiceId) => t.record([anEvent('invoice_finalized', { header: { invoiceId } })]));
  await new Promise((wait) => setTimeout(wait, 200));
  mayContinue.resolve();
  const outcomes = await Promise.all(loading);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(ids.map(() => 'loaded'));
  await Promise.all([publishing, ...events]);
});

describe('inside its transaction a load', () => {
  /** The query before the transaction returns the state before another process voided the invoice or loaded the file. */
  function returnNoKnownLoads(): void {
    const { all } = Session.prototype;
    vi.spyOn(Session.prototype, 'all').mockImplementation(function (this: Session, name, params) {
      return name === 'load-known' ? Promise.resolve([]) : all.call(this, name, params);
    });
  }

  test('stores no rows of an invoice that was voided meanwhile', async () => {
    await t.record([anEvent('invoice_voided')]);
    returnNoKnownLoads();
    expect(await loadCsv(t, aCsv())).toEqual({ outcome: 'voided' });
    expect(await storedRows()).toBe(0);
  });

  test('stores no rows of a file that was loaded meanwhile', async () => {
    await loadCsv(t, aCsv());
    returnNoKnownLoads();
    await expect(loadCsv(t, aCsv())).rejects.toMatchObject({ code: 'loaded-meanwhile' });
    expect(await storedRows()).toBe(1);
  });

  test('fails when the commit stored nothing', async () => {
    const { statement } = Session.prototype;
    vi.spyOn(Session.prototype, 'statement').mockImplementation(function (this: Session, text, params) {
      return statement.call(this, text === 'commit' ? 'rollback' : text, params);
    });
    await expect(loadCsv(t, aCsv())).rejects.toMatchObject({ code: 'load-lost' });
  });
});
