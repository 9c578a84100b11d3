/** A load asks the ledgers again inside its transaction and reads back what it committed. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Session } from '../../../warehouse/duckdb/session.ts';
import { aCsv, anEvent, ask, aWarehouse, loadCsv, type TestWarehouse } from '../support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await t.close();
});

/** The question before the transaction is answered as it was before another process voided the invoice or loaded the file. */
function answerLoadKnownTooEarly(): void {
  const { all } = Session.prototype;
  vi.spyOn(Session.prototype, 'all').mockImplementation(function (this: Session, name, params) {
    return name === 'load-known' ? Promise.resolve([]) : all.call(this, name, params);
  });
}

async function rows(): Promise<unknown> {
  const { path } = await t.warehouse.publish();
  return ask(path, 'select count(*)::integer as rows from shipment_versions');
}

test('stores no rows of an invoice that was voided after the load had begun', async () => {
  await t.record([anEvent('invoice_voided')]);
  answerLoadKnownTooEarly();
  expect(await loadCsv(t, aCsv())).toEqual({ outcome: 'voided' });
  expect(await rows()).toEqual([{ rows: 0 }]);
});

test('stores no rows of a file that was loaded after the load had begun', async () => {
  await loadCsv(t, aCsv());
  answerLoadKnownTooEarly();
  await expect(loadCsv(t, aCsv())).rejects.toMatchObject({ code: 'loaded-meanwhile' });
  expect(await rows()).toEqual([{ rows: 1 }]);
});

test('reports no load when the commit stored nothing', async () => {
  const { statement } = Session.prototype;
  vi.spyOn(Session.prototype, 'statement').mockImplementation(function (this: Session, text, params) {
    return statement.call(this, text === 'commit' ? 'rollback' : text, params);
  });
  await expect(loadCsv(t, aCsv())).rejects.toMatchObject({ code: 'load-lost' });
});
