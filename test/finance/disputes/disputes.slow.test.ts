import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { placeKey } from '../../../finance/disputes/claim.ts';
import { totalsOf } from '../../../finance/disputes/claim-status.ts';
import { type Disputes, openDisputes } from '../../../finance/disputes/disputes.ts';
import type { FindingName } from '../../../finance/disputes/finding-kinds.ts';
import { type FindRequest, findLines, rowKey } from '../../../finance/disputes/findings.ts';
import type { ReportRow } from '../../../reports/cells.ts';
import { runReport } from '../../../reports/report-session.ts';
import { testFolder } from '../../support/folders.ts';
import { monthsInvoices, plantedIn } from '../../support/months-invoices.ts';
import {
  anInvoice,
  aShipment,
  type FixtureInvoice,
  type FixtureShipment,
  type ReportsFixture,
  reportsFixture,
} from '../../support/reports-fixture.ts';

const NOW = new Date('2026-07-15T12:00:00Z');
const MONTHS = monthsInvoices({ now: NOW, months: 6, shipments: 40 });

const fixtures: ReportsFixture[] = [];
async function published(invoices: readonly FixtureInvoice[]): Promise<ReportsFixture> {
  const fixture = await reportsFixture(invoices);
  fixtures.push(fixture);
  return fixture;
}
let folder: string;
const months = await published(MONTHS);
beforeEach(async () => {
  folder = testFolder();
});
afterAll(async () => {
  for (const fixture of fixtures) await fixture.remove();
});

const everything = { rows: null, trackingNumbers: null };
const found = async (fixture: ReportsFixture, finding: FindingName, more: Partial<FindRequest> = {}) =>
  (await findLines({ databasePath: fixture.path, finding, ...everything, ...more })).lines;
const claimable = async (disputes: Disputes, finding: FindingName, trackingNumbers: string[] | null = null) =>
  (await disputes.find({ finding, rows: null, trackingNumbers })).lines;
const disputesOf = (fixture: ReportsFixture): Disputes =>
  openDisputes({ dataDir: folder, databasePath: fixture.path, now: () => NOW });
const rowsOf = async (fixture: ReportsFixture, name: string, tables = {}): Promise<readonly ReportRow[]> =>
  (await runReport({ databasePath: fixture.path, name, tables })).rows;
const shipmentAt = (key: string) => {
  const [id, row] = key.split(':');
  return MONTHS.find((invoice) => invoice.id === id)?.shipments[Number(row) - 1];
};
const numberOf = (key: string): string => shipmentAt(key)?.tracking ?? '';
const numbersOf = (planted: Readonly<Record<string, string>>): ReadonlySet<string> =>
  new Set(Object.keys(planted).map(numberOf));
const claimedOf = (lines: Awaited<ReturnType<typeof found>>) =>
  Object.fromEntries(lines.map((line) => [placeKey(line), line.claimed]));
describe('claimable lines of months with planted findings', () => {
  test('of duplicates are the second charges that are not credited', async () => {
    const lines = await found(months, 'duplicates');
    // Of what was billed twice, what is credited by now is at risk no more.
    // A second charge for another weight is an adjustment and is not claimed.
    const planted = plantedIn(MONTHS, 'billed twice');
    const credited = numbersOf(plantedIn(MONTHS, 'credit'));
    const left = Object.entries(planted).filter(([key]) => !credited.has(numberOf(key)));
    expect(left.length).toBeLessThan(Object.keys(planted).length);
    expect(claimedOf(lines)).toEqual(Object.fromEntries(left));
  });

  test('of a price change are the lines above the price before, of the chosen rows alone', async () => {
    const rows = await rowsOf(months, 'price-changes');
    const [row] = rows;
    expect(row?.verdict).toBe('general increase');
    const all = await found(months, 'price-changes');
    const some = await found(months, 'price-changes', {
      rows: new Set([rowKey('price-changes', row ?? {}) ?? '']),
    });
    expect(some.length).toBeGreaterThan(0);
    expect(some.length).toBeLessThan(all.length);
    expect(new Set(some.map(({ ship_date }) => ship_date?.slice(0, 7)))).toEqual(new Set([row?.month]));
    const byZone = { name: 'price-changes', parameters: { by: 'zone' } };
    const [ofZone = {}] = (await runReport({ databasePath: months.path, ...byZone })).rows;
    const inZone = await found(months, 'price-changes', {
      ...{ parameters: byZone.parameters, rows: new Set([rowKey('price-changes', ofZone) ?? '']) },
    });
    expect(new Set(inZone.map((line) => shipmentAt(placeKey(line))?.zone))).toEqual(new Set([ofZone.zone]));
    const planted = plantedIn(MONTHS, 'raised price');
    for (const { claimed, ...line } of all) expect(claimed).toBe(planted[placeKey(line)]);
    // Found is every price with three lines in the month of the step and three in a month before; later ones were raised before.
    const claimed = new Set(all.map(placeKey));
    const lines = MONTHS.filter(({ state }) => state === 'loaded').flatMap(({ id, shipments }) =>
      shipments.map((line, at) => ({ ...line, key: `${id}:${at + 1}`, month: line.shipDate.slice(0, 7) })),
    );
    const like = ({ carrier, service, zone, weight, unit, currency }: (typeof lines)[number]): string =>
      JSON.stringify([carrier, service, zone, weight, unit, currency]);
    const counts = new Map<string, number>();
    for (const line of lines.filter(({ cost }) => Number(cost) > 0))
      counts.set(`${line.month} ${like(line)}`, (counts.get(`${line.month} ${like(line)}`) ?? 0) + 1);
    const isCompared = (line: (typeof lines)[number]): boolean =>
      (counts.get(`2026-04 ${like(line)}`) ?? 0) >= 3 &&
      ['2026-01', '2026-02', '2026-03'].some((month) => (counts.get(`${month} ${like(line)}`) ?? 0) >= 3);
    const compared = lines.filter(
      (line) => line.month === '2026-04' && planted[line.key] !== undefined && isCompared(line),
    );
    expect(compared.length).toBeGreaterThan(50);
    expect(compared.filter(({ key }) => !claimed.has(key))).toEqual([]);
  });

  test('of a weight far above the usual is what the usual weight would not have cost', async () => {
    const planted = plantedIn(MONTHS, 'far heavier than usual');
    const claimed = claimedOf(await found(months, 'dimensional-weight'));
    const { rows } = await runReport({ databasePath: months.path, name: 'dimensional-weight' });
    const keyOf = (row: ReportRow): string => `${row.invoice_id}:${row.row_number}`;
    // Where the tenant ships enough of eight pounds from there, that is usual, as it was when the line was planted.
    const usual = rows.filter((row) => row.usual_lb === 8 && row.difference !== null).map(keyOf);
    expect(usual.length).toBeGreaterThan(10);
    for (const key of usual) expect(claimed[key]).toBe(planted[key]);
    const listed = new Set(rows.map(keyOf));
    const loaded = MONTHS.filter(({ state }) => state === 'loaded').flatMap(({ shipments }) => shipments);
    const isLike = (one?: FixtureShipment, other?: FixtureShipment): boolean =>
      [one?.tenant, one?.carrier, one?.service, one?.origin].join() ===
      [other?.tenant, other?.carrier, other?.service, other?.origin].join();
    for (const key of Object.keys(planted).filter((each) => !listed.has(each))) {
      const like = loaded.filter((line) => Number(line.cost) > 0 && isLike(line, shipmentAt(key)));
      const bulky = like.filter(({ weight }) => weight === shipmentAt(key)?.weight);
      // Too few to know, or so many that it is usual there.
      expect(like.length < 20 || bulky.length * 10 > like.length).toBe(true);
    }
  });

  test('are limited with a note, and found by number beyond the limit', async () => {
    const all = await found(months, 'price-changes');
    for (const [finding, limit] of [
      ['price-changes', 5],
      ['outliers', 2],
    ] as const) {
      const few = await findLines({
        ...{ databasePath: months.path, finding, ...everything, parameters: { limit: String(limit) } },
      });
      const counts = [...Map.groupBy(few.lines, ({ currency_code }) => currency_code).values()];
      expect(Math.max(...counts.map(({ length }) => length))).toBe(limit);
      expect(few.notes.join()).toMatch(/(^|,)\d+ of \d+ (lines|rows): /);
    }
    const last = all.at(-1)?.tracking_number ?? '';
    const [line] = await found(months, 'price-changes', {
      parameters: { limit: '1' },
      trackingNumbers: [last],
    });
    expect(line?.tracking_number).toBe(last);
    await expect(found(months, 'price-changes', { parameters: { limits: '1' } })).rejects.toThrow('limits');
  });

  test('of a re-bill is what a number costs more than on the voided invoice, off its largest lines', async () => {
    const one = (tracking: string, cost: string) => aShipment({ tracking, cost });
    const voided = anInvoice([one('A', '50'), one('B', '40'), one('C', '9')], {
      ...{ state: 'voided', voidedAt: '2026-03-12T08:00:00Z' },
    });
    const again = anInvoice([
      one('A', '40'),
      one('A', '30.0001'),
      one('B', '38'),
      one('C', '30'),
      one('C', '-5'),
    ]);
    const lines = await found(await published([voided, again]), 'rebills');
    expect(lines.map(({ tracking_number, billed, claimed }) => [tracking_number, billed, claimed])).toEqual([
      ['A', '40.0000', '20.0001'],
      ['C', '30.0000', '16.0000'],
    ]);
    expect(claimedOf(await found(months, 'rebills'))).toEqual(plantedIn(MONTHS, 'dearer when billed again'));
  });
});

const charge = (tracking: string, cost: string, more: object = {}) => aShipment({ tracking, cost, ...more });
/** A and B are charged twice on one invoice; C far too much, which no report finds. */
const billed = anInvoice([
  ...[charge('A', '12.5'), charge('A', '12.5'), charge('B', '7.0001'), charge('B', '7.0001')],
  charge('C', '90'),
]);
const credits = (...shipments: ReturnType<typeof charge>[]) =>
  anInvoice(shipments, { date: '2026-05-10', loadedAt: '2026-05-10T12:00:00Z' });

describe('claims', () => {
  let before: ReportsFixture;
  beforeAll(async () => {
    before = await published([billed]);
  });
  const openAll = async (
    disputes: Disputes,
    finding: FindingName = 'duplicates',
    trackingNumbers: string[] | null = null,
  ) => disputes.open(await claimable(disputes, finding, trackingNumbers), { note: '', by: 'anna' });
  const listed = async (fixture: ReportsFixture) => [...(await disputesOf(fixture).list()).claims].reverse();
  const sent = { state: 'sent', note: '', by: 'anna' } as const;

  test('keep what was billed, expected and claimed, and change no byte of what is published', async () => {
    const bytes = await readFile(before.path);
    const claims = await openAll(disputesOf(before));
    expect(
      claims.map(({ id, tracking_number, claimed, state, version }) => [
        id,
        tracking_number,
        claimed,
        state,
        version,
      ]),
    ).toEqual([
      ['D-1', 'A', '12.5000', 'open', 1],
      ['D-2', 'B', '7.0001', 'open', 1],
    ]);
    // Vitest would compare megabytes one by one.
    expect((await readFile(before.path)).equals(bytes)).toBe(true);
  });

  test('are not opened a second time for one line, nor when two open at once', async () => {
    const [anna, ben] = [disputesOf(before), disputesOf(before)];
    const seen = await claimable(anna, 'duplicates');
    const decision = { note: '', by: 'anna' };
    const both = await Promise.allSettled([
      anna.open(seen, decision),
      ben.open(seen, { ...decision, by: 'ben' }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: expect.objectContaining({
        code: 'claim-changed',
        message: expect.stringContaining('was claimed meanwhile, as D-1'),
      }),
    });
    const again = await claimable(anna, 'duplicates');
    expect(again.map(({ hindrance }) => hindrance)).toEqual([
      'it is claimed already, as D-1',
      'it is claimed already, as D-2',
    ]);
    await expect(anna.open(again, decision)).rejects.toThrow('nothing to be claimed');
  });

  test('change in allowed steps, and a conflicting change names the earlier one', async () => {
    const disputes = disputesOf(before);
    await openAll(disputes);
    const ids = [{ id: 'D-1', version: 1 }];
    await disputes.change({ ...sent, claims: ids });
    await expect(disputes.change({ ...sent, state: 'closed', claims: ids, by: 'ben' })).rejects.toMatchObject(
      {
        code: 'claim-changed',
        message: expect.stringMatching(/D-1 has changed: anna made it version 2 \(sent\)/),
      },
    );
    await expect(
      disputes.change({ ...sent, state: 'open', claims: [{ id: 'D-1', version: 2 }] }),
    ).rejects.toMatchObject({
      code: 'claim-refused',
      hint: 'from sent it can become credited or rejected or closed',
    });
    await expect(disputes.change({ ...sent, claims: [{ id: 'D-9', version: null }] })).rejects.toThrow(
      'no claim D-9',
    );
    await expect(disputes.change({ ...sent, state: null, claims: ids })).rejects.toThrow('has changed');
    await disputes.change({
      ...sent,
      state: null,
      note: ' called them ',
      claims: [{ id: 'D-1', version: null }],
    });
    const [claim] = await listed(before);
    expect(claim).toMatchObject({ state: 'sent', note: 'called them', version: 3 });
    expect(claim?.history.map(({ by, state, note }) => [by, state, note])).toEqual([
      ['anna', 'open', ''],
      ['anna', 'sent', ''],
      ['anna', null, 'called them'],
    ]);
  });

  test('are answered by credits that come later, exactly, each once', async () => {
    await openAll(disputesOf(before), 'shipments', ['A']);
    await openAll(disputesOf(before), 'shipments', ['C']);
    const foreign = [
      charge('A', '-1', { carrier: 'fedex' }),
      charge('A', '-2', { currency: 'EUR' }),
      charge('Z', '-3'),
    ];
    const after = await published([billed, credits(charge('A', '-20.0001'), charge('C', '-90'), ...foreign)]);
    const claims = await listed(after);
    expect(
      claims.map(({ tracking_number, claimed, recovered }) => [tracking_number, claimed, recovered]),
    ).toEqual([
      ['A', '12.5000', '12.5000'],
      ['A', '12.5000', '7.5001'],
      ['C', '90.0000', '90.0000'],
    ]);
    expect(claims[2]?.concerns).toEqual(['It is credited in full.']);
    expect(totalsOf(claims)).toMatchObject([
      { currency_code: 'USD', claims: 3, claimed: '115.0000', recovered: '110.0001' },
    ]);
  });

  test('are not answered by what had been credited before, which is taken off', async () => {
    const credited = await published([billed, credits(charge('C', '-30'))]);
    const [line] = await claimable(disputesOf(credited), 'shipments', ['C']);
    expect(line).toMatchObject({
      billed: '90.0000',
      claimed: '60.0000',
      credited_before: '30.0000',
      hindrance: null,
    });
    await openAll(disputesOf(credited), 'shipments', ['C']);
    expect((await listed(credited))[0]?.recovered).toBe('0.0000');
    const later = await published([billed, credits(charge('C', '-30'), charge('C', '-60'))]);
    expect((await listed(later))[0]?.recovered).toBe('60.0000');
    await disputesOf(later).change({ ...sent, state: 'closed', claims: [{ id: 'D-1', version: 1 }] });
    const none = await claimable(disputesOf(later), 'shipments', ['C']);
    expect(none[0]?.hindrance).toBe('it was credited already');
  });

  test('of a voided invoice claim nothing and cannot be sent', async () => {
    await openAll(disputesOf(before));
    const voided = await published([
      { ...billed, state: 'voided', voidedAt: '2026-04-02T08:00:00Z' },
      credits(charge('A', '-12.5')),
    ]);
    const claims = await listed(voided);
    expect(
      claims.map(({ outstanding, recovered, voided_at }) => [outstanding, recovered, voided_at]),
    ).toEqual(Array(2).fill(['0.0000', '0.0000', '2026-04-02T08:00:00.000Z']));
    expect(claims[0]?.concerns[0]).toContain('was voided on 2026-04-02: nothing is claimed any more');
    const change = (state: 'sent' | 'closed') =>
      disputesOf(voided).change({ ...sent, state, claims: [{ id: 'D-1', version: null }] });
    await expect(change('sent')).rejects.toThrow('its invoice was voided on 2026-04-02');
    await change('closed');
    const gone = await listed(await published([credits(charge('Z', '-1'))]));
    expect(gone[0]?.concerns).toEqual(['Its invoice is not published now.']);
    const repriced = { ...billed, shipments: [charge('A', '11'), ...billed.shipments.slice(2)] };
    expect((await listed(await published([repriced])))[0]?.concerns[0]).toContain(
      'no longer has a line of 12.5000',
    );
  });

  test('of a duplicate report when the other charge no longer counts', async () => {
    const first = anInvoice([charge('D', '20')], { number: 'INV-D1' });
    const second = anInvoice([charge('D', '20')], { number: 'INV-D2' });
    const twice = await published([first, second]);
    await openAll(disputesOf(twice), 'duplicates', ['D']);
    expect((await listed(twice)).map(({ concerns }) => concerns)).toEqual([[]]);
    const [claim] = await listed(twice);
    const [kept, other] = claim?.invoice_number === 'INV-D1' ? [first, second] : [second, first];
    const once = await published([
      kept,
      { ...other, state: 'voided' as const, voidedAt: '2026-04-02T08:00:00Z' },
    ]);
    expect((await listed(once))[0]?.concerns).toEqual([
      'It is the only charge of its number that counts now: check whether the claim is still valid.',
    ]);
  });

  test('that were withdrawn before they were sent claim nothing, and their line can be claimed anew', async () => {
    const disputes = disputesOf(before);
    await openAll(disputes);
    await disputes.change({ ...sent, state: 'closed', claims: [{ id: 'D-1', version: 1 }] });
    expect((await listed(before))[0]?.outstanding).toBe('0.0000');
    const [again] = await openAll(disputes, 'duplicates', ['A']);
    expect(again?.id).toBe('D-3');
    await expect(
      disputes.change({ ...sent, state: 'open', claims: [{ id: 'D-1', version: 2 }] }),
    ).rejects.toThrow('D-1');
    const after = await published([billed, credits(charge('A', '-12.5'))]);
    expect((await listed(after)).map(({ id, recovered }) => [id, recovered])).toEqual([
      ['D-1', '0.0000'],
      ['D-2', '0.0000'],
      ['D-3', '12.5000'],
    ]);
  });

  test('show the days left and what is overdue', async () => {
    await openAll(disputesOf(before));
    await writeFile(join(folder, 'user', 'claim-windows.yaml'), 'windows: [{ carrier: ups, days: 130 }]');
    expect((await listed(before))[0]).toMatchObject({
      ...{ closes_on: '2026-07-14', days_left: -1 },
      is_overdue: true,
    });
    await disputesOf(before).change({ ...sent, claims: [{ id: 'D-1', version: 1 }] });
    expect((await listed(before))[0]).toMatchObject({ is_overdue: false, concerns: [] });
  });
});
