/** One invoice with amounts, weights and dates at the limits of their columns stops no report, and changes no row of others. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openDisputes } from '../../finance/disputes/disputes.ts';
import { FINDINGS, type FindingName } from '../../finance/disputes/finding-kinds.ts';
import { makeStatements } from '../../finance/statements/make-statements.ts';
import { EXTRA_TABLES, listReports } from '../../reports/catalogue.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { runReport } from '../../reports/report-session.ts';
import { denseInvoices } from '../support/dense-invoices.ts';
import { testFolder } from '../support/folders.ts';
import { anInvoice, aShipment, type FixtureShipment, reportsFixture } from '../support/reports-fixture.ts';

const MOST = '99999999999999.9999';
const LEAST = '0.0001';
const published = { publishedAt: '2026-10-01T00:00:00Z' };

/** Every amount with every weight, in months, services and zones that are compared with each other. */
function hostileLines(tenant: string): FixtureShipment[] {
  const of = { tenant, currency: 'IRR', origin: '94107' };
  const lines = [MOST, LEAST, `-${MOST}`, '0'].flatMap((cost) =>
    [
      { weight: MOST, unit: 'KG' },
      { weight: MOST, unit: 'LB' },
      { weight: LEAST, unit: 'KG' },
      { weight: null, unit: null },
    ].flatMap((weight) =>
      [1, 2, 3, 4].map((month) =>
        aShipment({
          ...{ ...of, ...weight, cost },
          ...{ shipDate: `2026-0${month}-10`, invoiceDate: `2026-0${month + (month % 2)}-20` },
          ...{ carrierInvoiceDate: '9999-12-31', carrier: month % 3 === 0 ? 'FedEx' : 'ups' },
          ...{
            service: month % 2 === 0 ? 'Ground' : '2Day',
            zone: String(month % 3),
            tracking: `H${month}${cost}`,
          },
        }),
      ),
    ),
  );
  const same = { ...of, weight: MOST, unit: 'LB', zone: '9', service: 'Ground' };
  // More lines of one price than 128 bits hold squares of it.
  const many = Array.from({ length: 40 }, (_, at) =>
    aShipment({ ...same, cost: at === 0 ? LEAST : MOST, tracking: `M${at % 20}`, shipDate: '2026-04-02' }),
  );
  const dated = ['0001-01-01', '9999-12-31'].map((shipDate) => aShipment({ ...of, cost: MOST, shipDate }));
  return [...lines, ...many, ...dated];
}

const usual = denseInvoices(5, 12);
const hostile = ['Acme', 'Limit'].flatMap((tenant) => {
  const lines = hostileLines(tenant);
  const stated = { tenant, currency: 'IRR', statedTotal: MOST, number: `LIMIT-${tenant}`, due: '2026-04-01' };
  return [
    anInvoice(lines, stated),
    anInvoice(lines, {
      ...{ ...stated, start: '0001-01-01', end: '9999-12-31' },
      ...{ state: 'voided', voidedAt: '2026-07-01T00:00:00Z' },
    }),
    anInvoice([], { ...stated, state: 'draft', proof: null, statedTotal: `-${MOST}` }),
  ];
});
const alone = await reportsFixture(usual, published);
const together = await reportsFixture([...usual, ...hostile], published);
const folder = testFolder();
afterAll(() => Promise.all([alone.remove(), together.remove()]));

const FILES: Readonly<Record<(typeof EXTRA_TABLES)[number], string>> = {
  rates: `carrier,service_level,zone,from_lb,to_lb,currency_code,rate\nups,,,,,IRR,${MOST}\nFedEx,,,,,IRR,${LEAST}\nups,,,,,USD,8`,
  weights: `carrier,unit,step,up_to\n,kg,${MOST},`,
  costs: `carrier,tracking_number,currency_code,cost\nups,M1,IRR,${MOST}\nups,M2,IRR,-${MOST}\nups,T1,USD,1`,
  accepted: 'invoice_number,rule,reason\n,total-amount,known',
  payments: `invoice_number,currency_code,amount\nLIMIT-Acme,IRR,${MOST}\nLIMIT-Limit,IRR,-${MOST}`,
  statements: `carrier,carrier_invoice_date,currency_code,amount\nups,9999-12-31,IRR,-${MOST}`,
  disputes: `carrier,tracking_number,currency_code,amount\nups,M1,IRR,${MOST}`,
  budget: `month,tenant,carrier,currency_code,amount\n2026-04,,,IRR,${LEAST}\n2026-04,,,USD,-${MOST}`,
  fx: `month,from_currency,to_currency,rate\n,IRR,USD,0.00000001\n,USD,IRR,9999999999.99999999`,
};
const tables: Record<string, string> = {};
for (const name of EXTRA_TABLES) {
  tables[name] = join(folder, `${name}.csv`);
  await writeFile(tables[name], `${FILES[name]}\n`);
}

const variants = listReports().flatMap(({ name, parameters, sources }) => {
  const choices = parameters.flatMap((each) =>
    (each.choices ?? []).map((choice): Readonly<Record<string, string>> => ({ [each.name]: choice })),
  );
  return [{}, ...choices].flatMap((given) =>
    sources.length === 0
      ? [{ name, parameters: given, tables: {} }]
      : [{}, Object.fromEntries(sources.map((source) => [source, tables[source]]))].map((files) => ({
          ...{ name, parameters: given, tables: files },
        })),
  );
});

const others = (rows: readonly ReportRow[]): readonly string[] =>
  rows.filter(({ currency_code }) => currency_code !== 'IRR').map((row) => JSON.stringify(row));

test.each(
  variants.map(
    (each) => [`${each.name} ${JSON.stringify(each.parameters)} ${Object.keys(each.tables)}`, each] as const,
  ),
)('%s', async (_title, { name, ...request }) => {
  const run = (databasePath: string) => runReport({ databasePath, name, ...request });
  const found = await run(together.path);
  expect(found.rows.length).toBeLessThan(20_000);
  await renderReport(found, 'html');
  const isOfOneCurrency = found.columns.some((column) => column.name === 'currency_code');
  if (isOfOneCurrency && name !== 'budget')
    expect(others(found.rows)).toEqual(others((await run(alone.path)).rows));
});

test('dates far from the invoice are a finding', async () => {
  const { rows } = await runReport({ databasePath: together.path, name: 'data-quality' });
  const far = rows.filter(({ problem }) => problem === 'a date is more than two years from the invoice');
  expect(far.map(({ currency_code, invoices }) => [currency_code, invoices])).toEqual([['IRR', 2]]);
});

describe('claims and statements', () => {
  test.each(Object.keys(FINDINGS) as FindingName[])('%s', async (finding) => {
    const disputes = openDisputes({ dataDir: folder, databasePath: together.path });
    const { lines } = await disputes.find({ finding, rows: null, trackingNumbers: null });
    expect(lines.every(({ claimed }) => /^\d+\.\d{4}$/.test(claimed))).toBe(true);
  });

  test('of the month', async () => {
    const sources = { databasePath: together.path, dataDir: folder, timeLimitMs: 60_000, now: new Date() };
    const request = { tenants: [], partners: [], period: '2026-04', isFinal: false, withShipments: true };
    expect(await makeStatements(sources, request, async () => undefined)).toBeGreaterThan(1);
  });
});
