/** Each list that the reconciliation reads, against the same list by its description (ADR 13, 17, 19). */

import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WarehouseDependencies } from '../../../activities/dependencies.ts';
import { createReconcileActivities } from '../../../activities/reconcile.ts';
import { createMetrics } from '../../../lib/metrics.ts';
import type { InvoiceState } from '../../../lib/wire/names.ts';
import type { FindOverdueResult } from '../../../workflows/activities.ts';
import { aWarehouse, type TestWarehouse } from '../support.ts';
import { BEGIN, DAY, drawRows, type InvoiceRow, PARTNER, store } from './drawn-rows.ts';

const OTHER = '0b0b0b0b-0000-4000-8000-000000000003';
const invoices = drawRows(600);
let t: TestWarehouse;
beforeAll(async () => {
  t = await aWarehouse();
  await store(t, invoices);
});
afterAll(() => t.close());

const ids = (rows: readonly { readonly invoiceId: string }[]) => rows.map(({ invoiceId }) => invoiceId);
const ms = (instant: string | null): number =>
  instant === null ? Number.NEGATIVE_INFINITY : Date.parse(instant);
const UNTIL = [0, DAY - 1_000, DAY, 7 * DAY, 7 * DAY + 1_000, 8 * DAY, 14 * DAY, 30 * DAY, 90 * DAY];

function inOrder(rows: readonly InvoiceRow[], of: (row: InvoiceRow) => number) {
  return rows.toSorted((a, b) => of(a) - of(b) || (a.invoice_id < b.invoice_id ? -1 : 1));
}
const sinceCheck = ({ checked_at, state_since }: InvoiceRow): number => ms(checked_at ?? state_since);

/** Daily for a week after the load, then weekly, until some days after the invoice date; a restored one once. */
function isToRecheck(row: InvoiceRow, until: number, days: number): boolean {
  const { state, restored_at, voided_at, checked_at, invoice_date } = row;
  if (restored_at !== null && ms(restored_at) > ms(checked_at))
    return state === 'loaded' || voided_at === null;
  if (state !== 'loaded') return false;
  const since = ms(row.state_since);
  const day = invoice_date === null ? since : Date.parse(`${invoice_date.slice(0, 10)}T00:00:00Z`);
  const age = Math.min(until, day + days * DAY) - since;
  if (age < DAY) return false;
  const period = age <= 7 * DAY ? DAY : 7 * DAY;
  return since + Math.floor(age / period) * period > sinceCheck(row);
}

function isToRetry(row: InvoiceRow, until: number): boolean {
  if (row.state !== 'needs_attention' || row.reason_code === 'csv-rejected') return false;
  const since = ms(row.state_since);
  const days = Math.floor((until - since) / DAY);
  if (row.reason_code === 'delivery-refused' && since > ms(row.checked_at)) return true;
  return days >= 1 && since + days * DAY > sinceCheck(row);
}

function isUnfinished({ state, void_basis, reason_code }: InvoiceRow, confirmVoids: boolean): boolean {
  if (state === 'draft' || state === 'finalized') return true;
  if (state === 'voided') return confirmVoids && void_basis === 'event';
  return state === 'needs_attention' && reason_code === 'csv-rejected';
}

describe.each([PARTNER, OTHER, null])('with %s as the partner of invoices without one', (partnerId) => {
  const known = invoices.filter((row) => row.partner_id !== null || partnerId !== null);
  const partnerOf = ({ partner_id }: InvoiceRow) => partner_id ?? partnerId;

  test.each([
    [60, 1_000],
    [10, 1_000],
    [0, 1_000],
    [60, 7],
  ])('due are those to recheck for %i days, to retry and to finish, at most %i', async (days, limit) => {
    for (const after of UNTIL) {
      const until = BEGIN + after;
      const confirmVoids = after % (2 * DAY) === 0;
      const request = {
        until: new Date(until).toISOString(),
        limit,
        recheckDays: days,
        partnerId,
        confirmVoids,
      };
      const due = await t.warehouse.due(request);
      const dueOf = (is: (row: InvoiceRow) => boolean, order: (row: InvoiceRow) => number) =>
        inOrder(known.filter(is), order).map((row) => ({
          invoiceId: row.invoice_id,
          partnerId: partnerOf(row),
        }));
      const rechecks = dueOf((row) => isToRecheck(row, until, days), sinceCheck);
      expect(due.toRecheck).toEqual(rechecks.slice(0, limit));
      const retries = dueOf((row) => isToRetry(row, until), sinceCheck);
      expect(due.toRetry).toEqual(retries.slice(0, limit));
      const seen = (row: InvoiceRow): number => ms(row.first_seen_at);
      expect(due.unfinished).toEqual(dueOf((row) => isUnfinished(row, confirmVoids), seen));
      const parked = invoices.filter(({ state }) => state === 'needs_attention');
      expect(due.needAttention).toBe(parked.length);
    }
  });

  test.each([1_000, 5])(
    'unconfirmed are files that only an event named, and unknown invoices, at most %i',
    async (limit) => {
      for (const after of [0, DAY, 8 * DAY, 90 * DAY]) {
        const since = BEGIN + after;
        const found = await t.warehouse.unconfirmed({
          partnerId,
          since: new Date(since).toISOString(),
          limit,
        });
        const isOpen = ({ proof, voided_at, current }: InvoiceRow): boolean =>
          proof === 'announced' && voided_at === null && ms(current?.of.loaded_at ?? '') >= since;
        const announced = known
          .filter((row) => row.current !== null && row.restored_at === null)
          .filter((row) => isOpen(row) || row.void_basis === 'unknown')
          .sort((a, b) => (b.current?.load_id ?? 0) - (a.current?.load_id ?? 0))
          .slice(0, limit);
        expect(found.announced).toEqual(
          announced.map((row) => ({
            ...{ invoiceId: row.invoice_id, partnerId: partnerOf(row), voidBasis: row.void_basis },
            fileSha256: row.current?.of.file_sha256,
            encodedSha256: row.current?.of.encoded_sha256,
          })),
        );
        const unchecked = invoices.filter(
          ({ partner_id, restored_at, events }) =>
            partner_id !== null &&
            restored_at === null &&
            events.some(({ of }) => of.is_unchecked && of.verdict === 'accepted'),
        );
        expect(ids(found.unchecked).toSorted()).toEqual(unchecked.map((row) => row.invoice_id).sort());
        const confirmed = invoices.filter(({ proof, voided_at }) => proof === 'hash' && voided_at === null);
        const newest = Math.max(...confirmed.map(({ current }) => current?.load_id ?? 0));
        const one = confirmed.find(({ current }) => current?.load_id === newest)?.invoice_id ?? null;
        expect(found.confirmed).toBe(announced.length === 0 ? null : one);
      }
    },
  );
});

test.each<InvoiceState[][]>([[[]], [['loaded']], [['draft', 'needs_attention']]])(
  'invoices in the states %j are listed, the oldest first, with the load that counts',
  async (states) => {
    const expected = invoices.filter(
      ({ state }) => states.length === 0 || states.includes(state as InvoiceState),
    );
    expect(await t.warehouse.invoices({ states })).toMatchObject(
      inOrder(expected, (row) => ms(row.first_seen_at)).map((row) => ({
        ...{
          invoiceId: row.invoice_id,
          state: row.state,
          reasonCode: row.reason_code,
          tenantId: row.tenant_id,
        },
        ...{ stateSince: row.state_since, restoredAt: row.restored_at, voidBasis: row.void_basis },
        ...{ loadedSha256: row.current?.of.file_sha256 ?? null, loadedVersion: row.current?.version ?? null },
        ...{
          shipments: row.current?.shipments ?? null,
          billingCost: row.current?.billing_cost ?? null,
        },
        lastVersion: row.last_version,
      })),
    );
  },
);

test('the statuses and numbers of some invoices are those of their rows; unknown ids have none', async () => {
  const some = invoices.filter((_, n) => n % 3 > 0);
  const asked = [...some.map(({ invoice_id }) => invoice_id.toUpperCase()), OTHER, 'no uuid'];
  const statuses = new Map(
    (await t.warehouse.ledgerStatuses(asked)).map(({ invoiceId, ...status }) => [invoiceId, status]),
  );
  expect(statuses.size).toBe(some.length);
  for (const row of some)
    expect(statuses.get(row.invoice_id)).toEqual({
      ...{ state: row.state, statedTotal: row.stated_total, statedShipments: row.stated_shipments },
      ...{ billingCost: row.current?.billing_cost ?? null, shipments: row.current?.shipments ?? null },
      isUnanswered: row.reason_code !== null || row.rules.includes('unknown-status'),
    });
  const numbers = await t.warehouse.invoiceNumbers(some.map(({ invoice_id }) => invoice_id));
  const isUnique = ({ invoice_number: number }: InvoiceRow): boolean =>
    number !== null && invoices.filter(({ invoice_number }) => invoice_number === number).length === 1;
  expect(new Map(numbers)).toEqual(
    new Map(some.filter(isUnique).map(({ invoice_id, invoice_number }) => [invoice_id, invoice_number])),
  );
});

test('an invoice is unanswered whose last check failed or returned an unknown status', async () => {
  const own = await aWarehouse();
  const details = (status: 'finalized' | null, unknownStatus: string | null = null) =>
    own.warehouse.recordDetails({ invoiceId: OTHER, status, unknownStatus, header: {} });
  const isUnanswered = async () => (await own.warehouse.ledgerStatuses([OTHER]))[0]?.isUnanswered;
  await details('finalized');
  await own.warehouse.recordFailure(OTHER, { code: 'recheck-unanswered', reason: 'It does not answer.' });
  expect(await isUnanswered()).toBe(true);
  await own.warehouse.recordFailure(OTHER, null);
  expect(await isUnanswered()).toBe(false);
  await details(null, 'SETTLED');
  expect(await isUnanswered()).toBe(true);
  await details('finalized');
  expect(await isUnanswered()).toBe(false);
  await own.close();
});

test('announcements that differ are listed by invoice, the hash before the size', async () => {
  const texts = (row: InvoiceRow): readonly string[] =>
    (['hash', 'size'] as const).flatMap((name) => {
      const rule = `announced-${name}`;
      return row.rules.includes(rule) ? [`${name} s ${rule} announced, f ${rule} received`] : [];
    });
  const expected = invoices.filter((row) => texts(row).length > 0);
  expect(new Map(await t.warehouse.announcementDifferences())).toEqual(
    new Map(expected.map((row) => [row.invoice_id, texts(row)])),
  );
});

test('a loaded invoice is checked daily for a week, then weekly, until 60 days after its date', async () => {
  const own = await aWarehouse();
  const [row] = drawRows(1);
  const begin = new Date(BEGIN).toISOString();
  const open = { restored_at: null, voided_at: null, checked_at: null, partner_id: PARTNER } as const;
  const loaded = {
    ...open,
    state: 'loaded',
    state_since: begin,
    invoice_date: '2026-03-09T00:00:00Z',
  } as const;
  if (row !== undefined) await store(own, [{ ...row, ...loaded }]);
  const { findOverdue } = createReconcileActivities({
    ...{ warehouse: own.warehouse, service: { partnerIds: () => [] }, quarantine: { list: async () => [] } },
    ...{ settings: { environment: 'test', partnerId: null, recheckLoadedDays: 60 } },
    metrics: createMetrics('worker'),
  } as unknown as WarehouseDependencies);
  const days: number[] = [];
  for (let at = BEGIN; at < BEGIN + 70 * DAY; at += DAY / 2) {
    const until = new Date(at).toISOString();
    const found = await new MockActivityEnvironment().run(findOverdue, { until, limit: 10 });
    const { toRecheck } = found as FindOverdueResult;
    await own.warehouse.recordServiceCheck(ids(toRecheck), until);
    if (toRecheck.length > 0) days.push((at - BEGIN) / DAY);
  }
  expect(days).toEqual([1, 2, 3, 4, 5, 6, 7, 14, 21, 28, 35, 42, 49, 56]);
  await own.close();
});
