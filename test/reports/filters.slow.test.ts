import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listReports } from '../../reports/catalogue.ts';
import { ReportError } from '../../reports/errors.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import { runReport } from '../../reports/report-session.ts';
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

describe('a name in a filter', () => {
  test.each([
    [{ tenants: ['acm'] }, 'No tenant is "acm"; the nearest is Acme.'],
    [{ partners: ['partner-9'] }, 'No partner is "partner-9"; the nearest is partner-1.'],
    [{ carriers: ['upss'] }, 'No carrier is "upss"; the nearest are ups and Ups and usps.'],
    [{ zones: ['77'] }, 'No zone is "77"'],
  ])('that nothing has is answered with the nearest, and selects nothing: %j', async (filters, note) => {
    const lines = ['ups', 'Ups', 'usps'].map((carrier) => aShipment({ carrier, zone: 'zone 5' }));
    const { rows, head } = await runReportOn('tenants', [anInvoice(lines)], { filters });
    expect([rows, head.shipments]).toEqual([[], 0]);
    expect(head.notes[0]).toContain(note);
  });
});

test('as known on a date means the end of that day in UTC', async () => {
  const invoice = anInvoice([aShipment()], { loadedAt: '2026-03-10T23:59:59.900Z' });
  const on = (asKnownOn: string) => runReportOn('tenants', [invoice], { filters: { asKnownOn } });
  expect((await on('2026-03-10')).rows).toHaveLength(1);
  for (const before of ['2026-03-09', '2026-03-10T23:59:00Z']) expect((await on(before)).rows).toEqual([]);
  expect((await on('2026-03-10')).head.notes).toContain('As known on 2026-03-10T23:59:59.999Z.');
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

test.each(['9999-12-31T23:59:59-14:00', '0000-01-01T00:00:00+14:00'])(
  'the instant %s, which lies in no year of four digits, is refused',
  (asKnownOn) => {
    expect(() => checkFilters({ asKnownOn })).toThrow(ReportError);
  },
);
