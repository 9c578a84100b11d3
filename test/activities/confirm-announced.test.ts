/** An invoice counts on the word of the service: what only a delivery states is confirmed, or leaves every total (ADR 17). */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ConfirmDependencies, confirmAnnounced } from '../../activities/confirm-announced.ts';
import { BillingError } from '../../billing/errors.ts';
import type { Alert } from '../../lib/alerts/alert-store.ts';
import {
  aCsv,
  anEvent,
  aWarehouse,
  INVOICE,
  loadCsv,
  sha256,
  silent,
  type TestWarehouse,
} from '../warehouse/support.ts';

const OURS = '99999999-9999-4999-8999-999999999999';
const OTHER_INVOICE = '22222222-2222-4222-8222-222222222222';
const FILE = aCsv();

let t: TestWarehouse;
let named: Map<string, string>;
let partnerIds: string[];
let open: Set<string>;
let lookedUp: string[];

beforeEach(async () => {
  t = await aWarehouse();
  [named, partnerIds, open, lookedUp] = [new Map(), [OURS], new Set(), []];
});
afterEach(() => t.close());

const service = {
  partnerIds: () => partnerIds,
  async regenerateUrl(invoiceId: string) {
    const hash = named.get(invoiceId);
    if (hash === undefined) throw new BillingError('not-exported', [invoiceId]);
    return { presignedUrl: '', presignedUrlExpiresAt: '', fileHashSha256: hash, fileSizeBytes: FILE.length };
  },
  async lookUpInvoice(invoiceId: string) {
    throw new BillingError('unknown-invoice', [invoiceId]);
  },
};

async function confirm(): Promise<void> {
  const dependencies = {
    ...{ warehouse: t.warehouse, service, log: silent, now: () => new Date('2026-03-01T00:30:00Z') },
    alerts: { raise: ({ key }: Alert) => open.add(key), resolve: (key: string) => open.delete(key) },
    settings: { service: { baseUrl: 'https://service.example' }, partnerId: null },
  };
  await confirmAnnounced(dependencies as unknown as ConfirmDependencies, async ({ invoiceId }) => {
    lookedUp.push(invoiceId);
  });
}

async function total(): Promise<unknown> {
  const [row] = await t.query('select sum(billing_cost)::varchar as cost from shipments');
  return row?.cost;
}

const proof = async (): Promise<unknown> => (await t.query('select proof from invoices'))[0]?.proof;

/** Only its event has named the file. */
async function announce(
  more: { readonly isUnchecked?: boolean; readonly partnerId?: string } = {},
): Promise<void> {
  const { partnerId = OURS, isUnchecked = false } = more;
  const announced = anEvent('invoice_finalized', {
    fileHashSha256: sha256(FILE),
    fileSizeBytes: FILE.length,
  });
  const event = announced.event === null ? null : { ...announced.event, partnerId };
  await t.record([{ ...announced, event, isUnchecked }]);
  await loadCsv(t, FILE);
}

/** Loaded with the hash that the service named. */
async function confirmAnother(): Promise<void> {
  const bytes = aCsv([{ 'Billing Cost': '1' }], OTHER_INVOICE);
  await loadCsv(t, bytes, { invoiceId: OTHER_INVOICE, source: 'regenerate' });
}

describe('a file that only an event has named', () => {
  test('is confirmed with the hash that the service names', async () => {
    await announce();
    expect(await proof()).toBe('announced');
    named.set(INVOICE, sha256(FILE));
    await confirm();
    expect([await proof(), await total(), lookedUp]).toEqual(['hash', '9.1600', []]);
    await t.rebuild();
    expect(await proof()).toBe('hash');
  });

  test('is one of many whose answers are recorded with one reading of the archive', async () => {
    const ids = Array.from({ length: 30 }, (_, n) => `${10 + n}`.padStart(8, '3').concat(INVOICE.slice(8)));
    const files = ids.map((invoiceId) => aCsv([{}], invoiceId));
    const events = ids.map((invoiceId, n) =>
      anEvent('invoice_finalized', {
        ...{ header: { invoiceId }, fileHashSha256: sha256(files[n] ?? FILE), fileSizeBytes: FILE.length },
      }),
    );
    await t.record(events);
    await Promise.all(ids.map((invoiceId, n) => loadCsv(t, files[n] ?? FILE, { invoiceId })));
    // The service knows all but the last one.
    for (const [n, id] of ids.slice(0, -1).entries()) named.set(id, sha256(files[n] ?? FILE));
    const reading = vi.spyOn(t.warehouse, 'ingestArchive');
    await confirm();
    expect(reading).toHaveBeenCalledTimes(2);
    const proofs = await t.query(
      'select proof, count(*)::integer as n from invoices where voided_at is null group by all',
    );
    expect(proofs).toEqual([{ proof: 'hash', n: 29 }]);
    expect([...open]).toEqual([`excluded/${ids.at(-1)}`]);
  });

  test('is looked up when the service names another file', async () => {
    await announce();
    named.set(INVOICE, 'f'.repeat(64));
    await confirm();
    expect([lookedUp, await total()]).toEqual([[INVOICE], '9.1600']);
  });

  test('leaves every total while the service does not know the invoice, at each instant and after a rebuild', async () => {
    await announce();
    await confirm();
    expect([await total(), [...open]]).toEqual([null, [`excluded/${INVOICE}`]]);
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({
      ...{ state: 'needs_attention', reasonCode: 'unknown-invoice', voidBasis: 'unknown' },
    });
    named.set(INVOICE, sha256(FILE));
    await confirm();
    expect([await total(), await proof(), open.size]).toEqual(['9.1600', 'hash', 0]);
    const counted = 'select load_id, voided_at is null as counted from counting_spans() order by since';
    const spans = [true, false, true].map((isCounted) => ({ load_id: 1, counted: isCounted }));
    expect(await t.query(counted)).toEqual(spans);
    await t.rebuild();
    expect(await t.query(counted)).toEqual(spans);
    expect(await t.drift()).toEqual([]);
  });

  test('stays when the service does not know a confirmed invoice either', async () => {
    await announce();
    await confirmAnother();
    await confirm();
    expect([await total(), open.size]).toEqual(['10.1600', 0]);
    named.set(OTHER_INVOICE, '0'.repeat(64));
    await confirm();
    expect(await total()).toBe('1.0000');
  });

  test('counts again when a person restores it', async () => {
    await announce();
    await confirm();
    const by = { invoiceId: INVOICE, by: 'ada', reason: 'asked by phone', isDryRun: false };
    expect(await t.warehouse.decide({ kind: 'restore', ...by })).toMatchObject({ outcome: 'done' });
    await confirm();
    expect(await total()).toBe('9.1600');
  });
});

test('an event of another partner, forwarded before ours was known, leaves every total once it is', async () => {
  await announce({ isUnchecked: true, partnerId: '88888888-8888-4888-8888-888888888888' });
  named.set(INVOICE, sha256(FILE));
  partnerIds = [];
  await confirm();
  expect(await total()).toBe('9.1600');
  partnerIds = [OURS];
  await confirm();
  expect([await total(), [...open]]).toEqual([null, [`excluded/${INVOICE}`]]);
  expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ reasonCode: 'foreign-partner' });
  partnerIds = ['88888888-8888-4888-8888-888888888888'];
  await confirm();
  expect([await total(), open.size]).toEqual(['9.1600', 0]);
});
