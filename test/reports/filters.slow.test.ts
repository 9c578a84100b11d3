import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listReports } from '../../reports/catalogue.ts';
import { ReportError } from '../../reports/errors.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import { openReportSession, runReport, type SessionRequest } from '../../reports/report-session.ts';
import { INJECTIONS } from '../support/attack.ts';
import {
  anInvoice,
  aShipment,
  cells,
  type ReportsFixture,
  reportsFixture,
  runReportOn,
} from '../support/reports-fixture.ts';
import { queryFile } from '../warehouse/support.ts';

const reports = listReports();

describe('filters of injection', () => {
  let fixture: ReportsFixture;
  const named = INJECTIONS.filter((text) => !text.includes('\u0000'));

  beforeAll(async () => {
    fixture = await reportsFixture([
      anInvoice([aShipment({ cost: '1' })]),
      ...named.map((text) =>
        anInvoice([aShipment({ tenant: text, carrier: text, zone: text, cost: '2' })], { tenant: text }),
      ),
    ]);
  });
  afterAll(() => fixture.remove());

  test.each(INJECTIONS.map((text) => [JSON.stringify(text), text]))(
    '%s matches only itself, apart from the case of carriers and zones',
    async (_, text) => {
      const expected = text.includes('\u0000') ? [] : [[text, '2.0000']];
      const of = async (
        name: string,
        filter: 'tenants' | 'carriers' | 'zones',
        column: string,
      ): Promise<unknown[][]> =>
        cells(
          await runReport({ databasePath: fixture.path, name, filters: { [filter]: [text] } }),
          column,
          'billing_cost',
        );
      expect(await of('tenants', 'tenants', 'tenant')).toEqual(expected);
      const spellings = [...named, 'ups']
        .filter((other) => other.toLowerCase() === text.toLowerCase())
        .sort();
      const alike = spellings.map((spelling) => [spelling, '2.0000']);
      expect((await of('carriers', 'carriers', 'carrier')).sort()).toEqual(alike);
      expect((await of('zones', 'zones', 'carrier_zone')).sort()).toEqual(alike);
      for (const filters of [
        { from: text },
        { to: text },
        { by: text },
        { level: text },
        { asKnownOn: text },
      ]) {
        await expect(runReport({ databasePath: fixture.path, name: 'tenants', filters })).rejects.toThrow(
          Object.keys(filters)[0] === 'asKnownOn' ? 'as-known-on' : Object.keys(filters)[0],
        );
      }
      await expect(fixture.run('waiting', {}, { stuck_after_days: text })).rejects.toThrow('no whole number');
    },
  );

  test.each(reports.map(({ name }) => name))(
    '%s accepts all of them in every filter at once',
    async (name) => {
      const { head } = await fixture.run(name, {
        tenants: INJECTIONS,
        carriers: INJECTIONS,
        zones: INJECTIONS,
        currencies: [...INJECTIONS, 'USD'],
      });
      expect(head.shipments).toBe(named.length);
    },
  );

  test('leave the file, its schema and the machine unchanged', async () => {
    const count = 'select count(*)::integer as n from shipments';
    expect(await queryFile(fixture.path, count)).toEqual([{ n: named.length + 1 }]);
    expect(existsSync('/tmp/billsync-injected.csv')).toBe(false);
  });

  test('are literal text in every parameter of every report', async () => {
    for (const report of reports) {
      for (const parameter of report.parameters.filter(
        ({ type, choices }) => type === 'text' && choices === null,
      )) {
        const parameters = { [parameter.name]: "' or 1=1 --" };
        const result = await fixture.run(report.name, {}, parameters);
        expect(result.head.parameters[parameter.name]).toBe("' or 1=1 --");
      }
    }
  });
});

test('shares the counts of a publication between sessions of the same filters only', async () => {
  const fixture = await reportsFixture([anInvoice([aShipment({ cost: '1' }), aShipment({ cost: '2' })])]);
  const shipmentsIn = async (request: Partial<SessionRequest>): Promise<number> => {
    const session = await openReportSession({ databasePath: fixture.path, ...request });
    const { head } = await session.run('tenants');
    session.close();
    return head.shipments;
  };
  const open = await openReportSession({ databasePath: fixture.path });
  await open.run('tenants');
  expect(await shipmentsIn({})).toBe(2);
  expect(await shipmentsIn({ filters: { from: '2020-01-01' } })).toBe(2);
  for (let again = 0; again < 2; again += 1)
    expect(await shipmentsIn({ filters: { currencies: ['EUR'] } })).toBe(0);
  open.close();
  await fixture.remove();
});

describe('the period', () => {
  test.each(['2026-02-30', '2026-2-1', 'yesterday', '', '2026-01-01T00:00:00Z', 'infinity', '0000-00-00'])(
    'refuses "%s" as a day',
    async (from) => {
      await expect(runReportOn('tenants', [], { filters: { from } })).rejects.toThrow(
        `"${from}" is not a date for from`,
      );
    },
  );
});

describe('the level', () => {
  const tenant = anInvoice([aShipment({ cost: '5' })]);
  const partner = anInvoice([aShipment({ cost: '50' }), aShipment({ cost: '5' })], { level: 'partner' });
  const unknown = anInvoice([aShipment({ cost: '500' })], { level: null });

  test('is tenant when both exist, and names what was left out', async () => {
    const result = await runReportOn('carriers', [tenant, partner]);
    expect(result.rows[0]?.billing_cost).toBe('5.0000');
    expect(result.head.level).toBe('tenant');
    expect(result.head.notes[0]).toContain('Left out: 2 shipments of 1 invoice at partner level.');
  });

  test('is partner when nothing else exists, even where a filter hides everything', async () => {
    const result = await runReportOn('carriers', [partner]);
    expect([result.head.level, result.rows[0]?.billing_cost]).toEqual(['partner', '55.0000']);
    expect(result.head.notes.join()).toContain('Only partner-level invoices exist');
    const hidden = await runReportOn('carriers', [tenant, partner], { filters: { tenants: ['unknown'] } });
    expect(hidden.head.level).toBe('tenant');
  });

  test('counts an unknown level as tenant level and notes it', async () => {
    const result = await runReportOn('carriers', [tenant, unknown]);
    expect(result.rows[0]?.billing_cost).toBe('505.0000');
    expect(result.head.notes.join()).toContain('level is unknown');
  });

  test('names the invoices that a list leaves out, and lets drafts decide before anything is loaded', async () => {
    const draft = (level: 'tenant' | 'partner'): ReturnType<typeof anInvoice> =>
      anInvoice([], { level, state: 'draft' });
    const both = await runReportOn('waiting', [draft('tenant'), draft('partner'), draft('partner')]);
    expect(both.rows).toHaveLength(1);
    expect(both.head.notes.join()).toContain('Not listed: 2 invoices at partner level');
    const only = await runReportOn('waiting', [draft('partner')]);
    expect([only.head.level, only.rows.length]).toEqual(['partner', 1]);
  });

  test('adds both levels only with level=all, with a warning', async () => {
    const result = await runReportOn('carriers', [tenant, partner], { filters: { level: 'all' } });
    expect(result.rows[0]?.billing_cost).toBe('60.0000');
    expect(result.head.notes.join()).toContain('counted twice');
  });
});

describe('the head', () => {
  test('names the publication, the proof and the notes', async () => {
    const result = await runReportOn(
      'tenants',
      [
        anInvoice([aShipment(), aShipment({ unit: 'KG' }), aShipment({ weight: null, unit: null })], {
          proof: 'header',
        }),
        anInvoice([aShipment()], { proof: 'unproved', statedTotal: '11' }),
      ],
      { publishedAt: '2026-04-05T06:07:08.009Z' },
    );
    expect(result.head).toMatchObject({
      asOf: '2026-04-05T06:07:08.009Z',
      publication: 7,
      timeZone: 'UTC',
      shipments: 4,
      rows: 1,
      weighed: { inPounds: 2, inKilograms: 1, without: 1 },
      provedPercent: '75.00',
      files: [],
    });
    expect(result.head.notes.join(' ')).toContain('Without weight: 1 shipment');
    expect(result.head.notes.join(' ')).toContain('Contradicted by their own header or event: 1 invoice');
  });
});

test.each(['9999-12-31T23:59:59-14:00', '0000-01-01T00:00:00+14:00'])(
  'the instant %s, which lies in no year of four digits, is refused',
  (asKnownOn) => {
    expect(() => checkFilters({ asKnownOn })).toThrow(ReportError);
  },
);
