import { DuckDBInstance } from '@duckdb/node-api';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { createWarehouseActivities } from '../../activities/create-activities.ts';
import type { WarehouseDependencies } from '../../activities/dependencies.ts';
import { createMetrics } from '../../lib/metrics.ts';
import type { FindOverdueResult } from '../../workflows/activities.ts';
import { aWarehouse, type TestWarehouse } from '../warehouse/support.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LOADED_AT = Date.parse('2026-03-10T12:30:00Z');
const PARTNER_ID = '0b0b0b0b-0000-4000-8000-000000000001';

let t: TestWarehouse;
afterEach(() => t.close());

async function haveInvoices(count: number, state: 'loaded' | 'needs_attention', code: string | null = null) {
  t = await aWarehouse();
  await change(
    `insert into internal.invoice_state (invoice_id, state, reason_code, state_since, partner_id, invoice_date, first_seen_at, versions)
     select uuid(), $state, $code, '2026-03-10 12:30:00', $partner, '2026-03-09T00:00:00Z', '2026-03-10 12:30:00', 1
     from range(${count})`,
    { state, code, partner: PARTNER_ID },
  );
}

async function change(statement: string, values: Record<string, string | null> = {}): Promise<void> {
  await t.warehouse.close();
  const instance = await DuckDBInstance.create(`${t.dataDir}/warehouse.duckdb`);
  const connection = await instance.connect();
  await connection.run(statement, values);
  connection.closeSync();
  instance.closeSync();
  await t.reopen();
}

function activities(recheckLoadedDays = 60) {
  const settings = { environment: 'test', partnerId: null, recheckLoadedDays };
  return createWarehouseActivities({
    ...{
      warehouse: t.warehouse,
      settings,
      service: { partnerIds: () => [] },
      quarantine: { list: async () => [] },
      metrics: createMetrics('worker'),
    },
  } as unknown as WarehouseDependencies);
}

async function runAt(ms: number, { limit = 1_000, days = 60 } = {}) {
  const due = await t.warehouse.due({
    ...{ until: new Date(ms).toISOString(), limit, recheckDays: days },
    partnerId: null,
  });
  for (const invoices of [due.toRecheck, due.toRetry]) {
    const ids = invoices.map(({ invoiceId }) => invoiceId);
    await t.warehouse.recordServiceCheck(ids, new Date(ms).toISOString());
  }
  return due;
}

/** The days after loading on which runs at this interval find the one invoice due. */
async function daysChecked(everyMs: number, recheckDays = 60): Promise<number[]> {
  const days: number[] = [];
  for (let ms = LOADED_AT; ms < LOADED_AT + 70 * DAY; ms += everyMs) {
    const { toRecheck } = await runAt(ms, { days: recheckDays });
    if (toRecheck.length > 0) days.push(Math.floor((ms - LOADED_AT) / DAY));
  }
  return days;
}

describe('an invoice of the reconciliation', () => {
  test('is checked daily for a week, then weekly, until 60 days after the invoice date', async () => {
    await haveInvoices(1, 'loaded');
    expect(await daysChecked(12 * HOUR)).toEqual([1, 2, 3, 4, 5, 6, 7, 14, 21, 28, 35, 42, 49, 56]);
  });

  test('is not checked when that is turned off', async () => {
    await haveInvoices(1, 'loaded');
    expect(await daysChecked(7 * DAY, 0)).toEqual([]);
  });

  test('is checked once a day, also with 10,000 invoices loaded in one hour', async () => {
    await haveInvoices(10_000, 'loaded');
    const checks = new Map<string, number>();
    for (const day of [1, 2]) {
      for (let hour = 0; hour <= 10; hour += 1) {
        const { toRecheck } = await runAt(LOADED_AT + day * DAY + hour * HOUR);
        expect(toRecheck).toHaveLength(hour < 10 ? 1_000 : 0);
        for (const { invoiceId } of toRecheck) checks.set(invoiceId, (checks.get(invoiceId) ?? 0) + 1);
      }
    }
    expect(checks.size).toBe(10_000);
    expect(new Set(checks.values())).toEqual(new Set([2]));
  });

  test('stays due when runs were missed', async () => {
    await haveInvoices(1, 'loaded');
    expect((await runAt(LOADED_AT + 90 * DAY)).toRecheck).toHaveLength(1);
    expect((await runAt(LOADED_AT + 91 * DAY)).toRecheck).toEqual([]);
  });

  test('is not retried while its file breaks a rule', async () => {
    await haveInvoices(1, 'needs_attention', 'csv-rejected');
    expect((await runAt(LOADED_AT + 2 * DAY)).toRetry).toEqual([]);
  });

  test('has a workflow when its file broke a rule or its void is unconfirmed', async () => {
    const unfinished = async (confirmVoids?: boolean) => {
      const request = { until: new Date(LOADED_AT).toISOString(), limit: 10, recheckDays: 60 };
      const settings = confirmVoids === undefined ? {} : { confirmVoids };
      const due = await t.warehouse.due({ ...request, partnerId: null, ...settings });
      return due.unfinished.length;
    };
    await haveInvoices(2, 'needs_attention', 'csv-rejected');
    await change("update internal.invoice_state set state = 'voided', void_basis = 'event' where rowid = 0");
    expect([await unfinished(), await unfinished(false)]).toEqual([2, 1]);
    await change("update internal.invoice_state set void_basis = 'details' where rowid = 0");
    expect(await unfinished()).toBe(1);
  });

  test('is checked once after a person undid its void', async () => {
    await haveInvoices(1, 'loaded');
    const restored = LOADED_AT + 90 * 60_000;
    await change(
      `update internal.invoice_state set restored_at = '${new Date(restored).toISOString().slice(0, 23)}'`,
    );
    expect((await runAt(restored + 1_000)).toRecheck).toHaveLength(1);
    expect((await runAt(restored + HOUR)).toRecheck).toEqual([]);
    expect((await runAt(LOADED_AT + 2 * DAY)).toRecheck).toHaveLength(1);
    await change("update internal.invoice_state set state = 'finalized'");
    expect((await runAt(LOADED_AT + 3 * DAY)).toRecheck).toEqual([]);
  });

  test('is returned by the activity', async () => {
    await haveInvoices(1, 'loaded');
    const until = new Date(LOADED_AT + DAY).toISOString();
    const { findOverdue } = activities();
    const found: FindOverdueResult = await new MockActivityEnvironment().run(findOverdue, {
      until,
      limit: 10,
    });
    expect(found).toMatchObject({ unwatched: [], toRetry: [], needAttention: 0 });
    expect(found.toRecheck).toEqual([{ partnerId: PARTNER_ID, invoiceId: expect.any(String) }]);
  });
});
