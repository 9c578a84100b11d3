/**
 * Half a year of `seed --months`, played month by month as it was published: duplicates, outliers, a price step, an invoice that is
 * void and billed again, one that never came back, late credits. Claims are opened and credited.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { placeKey } from '../../../finance/disputes/claim.ts';
import { totalsOf } from '../../../finance/disputes/claim-status.ts';
import { openDisputes } from '../../../finance/disputes/disputes.ts';
import type { FindingName } from '../../../finance/disputes/finding-kinds.ts';
import type { Claimable } from '../../../finance/disputes/findings.ts';
import { sumOfAmounts } from '../../../lib/decimal.ts';
import type { Finding } from '../../../sandbox/billing/months.ts';
import { testFolder } from '../../support/folders.ts';
import { type MonthsInvoice, monthsInvoices, plantedIn } from '../../support/months-invoices.ts';
import { type FixtureInvoice, type ReportsFixture, reportsFixture } from '../../support/reports-fixture.ts';

interface Publication {
  readonly at: Date;
  readonly fixture: ReportsFixture;
}

const PERIODS = ['2026-06', '2026-07', '2026-08', '2026-09', '2026-10', '2026-11'];
const planned = monthsInvoices({ now: new Date('2026-11-22T12:00:00Z'), months: 6, shipments: 25 });
const voided = planned.filter(({ voidedAt }) => voidedAt !== null);
const isAgain = ({ id, tenant, start }: FixtureInvoice): boolean =>
  voided.some((invoice) => invoice.tenant === tenant && invoice.start === start && invoice.id !== id);
const billed = planned.map((invoice) =>
  isAgain(invoice)
    ? { ...invoice, createdAt: '2026-07-06T08:00:00Z', loadedAt: '2026-07-06T12:00:00Z' }
    : invoice,
);
let publications: readonly Publication[];
let folder: string;

beforeAll(async () => {
  folder = testFolder();
  const days = [...PERIODS.map((period) => `${period}-03T06:00:00Z`), '2026-12-03T06:00:00Z'];
  publications = await Promise.all(
    days.map(async (day) => ({
      at: new Date(day),
      fixture: await reportsFixture(asOf(day), { publishedAt: day }),
    })),
  );
});
afterAll(async () => {
  for (const { fixture } of publications) await fixture.remove();
});

function asOf(day: string): MonthsInvoice[] {
  return billed
    .filter(({ loadedAt }) => loadedAt <= day)
    .map((invoice) =>
      invoice.voidedAt === null || invoice.voidedAt <= day
        ? invoice
        : { ...invoice, state: 'loaded', voidedAt: null },
    );
}

/** By what a report finds, what is planted. */
const PLANTED = {
  duplicates: ['billed twice'],
  outliers: ['far above the usual'],
  'late-billed': ['late'],
  rebills: ['dearer when billed again'],
  'price-changes': ['raised price'],
} as const satisfies Partial<Record<FindingName, readonly Finding[]>>;

const FINDINGS = Object.keys(PLANTED) as (keyof typeof PLANTED)[];

test('opens claims for every planted finding and nothing else, and recovers the credits to the last digit', async () => {
  const found = new Map<string, Record<string, string>>();
  const july = { at: new Date('2026-07-10T06:00:00Z'), fixture: await reportsFixture(asOf('2026-07-10')) };
  for (const { at, fixture } of [...publications.slice(0, 2), july, ...publications.slice(2)]) {
    const disputes = openDisputes({ dataDir: folder, databasePath: fixture.path, now: () => at });
    const isLast = at === publications.at(-1)?.at;
    for (const finding of isLast ? FINDINGS : FINDINGS.slice(0, 2)) {
      const { lines } = await disputes.find({ finding, rows: null, trackingNumbers: null });
      const fresh = lines.filter(({ hindrance }) => hindrance === null);
      found.set(finding, { ...amounts(fresh), ...found.get(finding) });
      if (fresh.length === 0) continue;
      const opened = await disputes.open(fresh, { note: '', by: 'anna' });
      const claims = opened.map(({ id, version }) => ({ id, version }));
      await disputes.change({ claims, state: 'sent', note: '', by: 'anna' });
    }
  }
  await july.fixture.remove();
  // Also of invoices that were void later: their claims were right when they were opened.
  const ever = billed.map((invoice) =>
    invoice.state === 'voided' ? { ...invoice, state: 'loaded' as const } : invoice,
  );
  const { 'price-changes': raised = {}, ...others } = Object.fromEntries(found);
  for (const [finding, claimed] of Object.entries(others))
    expect([finding, claimed]).toEqual([
      finding,
      plantedIn(ever, ...PLANTED[finding as keyof typeof PLANTED]),
    ]);
  // The lines that no other claim is of, where enough of a price were billed before and after; disputes.test.ts has them all.
  expect(Object.keys(raised).length).toBeGreaterThan(50);
  expect(plantedIn(ever, 'raised price')).toMatchObject(raised);

  const last = publications.at(-1)?.fixture.path ?? '';
  const { claims } = await openDisputes({ dataDir: folder, databasePath: last }).list();
  const credits = billed
    .filter(({ state }) => state === 'loaded')
    .flatMap(({ shipments }) => shipments.filter(({ cost }) => cost.startsWith('-')));
  const sums = (lines: readonly (readonly [string, string])[]): Record<string, string> => {
    const totals: Record<string, string> = {};
    for (const [key, amount] of lines) totals[key] = sumOfAmounts([totals[key] ?? '0', amount]);
    return totals;
  };
  expect(credits.length).toBeGreaterThan(15);
  expect(
    sums(
      claims
        .filter(({ recovered }) => recovered !== '0.0000')
        .map(({ tracking_number, currency_code, recovered }) => [
          `${tracking_number} ${currency_code}`,
          recovered,
        ]),
    ),
  ).toEqual(sums(credits.map(({ tracking, currency, cost }) => [`${tracking} ${currency}`, cost.slice(1)])));
  expect(Object.fromEntries(totalsOf(claims).map((total) => [total.currency_code, total.recovered]))).toEqual(
    sums(credits.map(({ currency, cost }) => [currency, cost.slice(1)])),
  );
});

function amounts(lines: readonly Claimable[]): Record<string, string> {
  return Object.fromEntries(lines.map((line) => [placeKey(line), line.claimed]));
}
