/** Names of 70,000 letters make no page large; data has them whole, and links lead to the same rows. */

import { afterAll, expect, test } from 'vitest';
import { openDisputes } from '../../finance/disputes/disputes.ts';
import { atRiskPages } from '../../finance/disputes/pages/at-risk-pages.ts';
import { statementPages } from '../../finance/statements/page/statement-pages.ts';
import { listReports } from '../../reports/catalogue.ts';
import { testFolder } from '../support/folders.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { dashboardOver } from './support.ts';

const long = (name: string): string => `${name} ${'ж'.repeat(70_000)} ${name}`;
const NAMES = ['one', 'two'].map((name) => ({
  ...{ tenant: long(`tenant ${name}`), carrier: long(`carrier ${name}`), zone: long(`zone ${name}`) },
  ...{ service: long(`service ${name}`), origin: long(`origin ${name}`), tracking: long(`number ${name}`) },
}));
const fixture = await reportsFixture(
  NAMES.flatMap((names, at) =>
    [1, 2, 3].map((month) =>
      anInvoice(
        Array.from({ length: 12 }, (_, line) =>
          aShipment({
            ...names,
            shipDate: `2026-0${month}-1${line % 10}`,
            cost: line === 0 ? '90' : `1${at}`,
          }),
        ),
        {
          tenant: names.tenant,
          tenantId: at === 0 ? null : 't-2',
          number: long(`${month} ${at}`),
          state: 'loaded',
        },
      ),
    ),
  ),
);
const dataDir = testFolder();
const sources = {
  databasePath: fixture.path,
  dataDir,
  timeLimitMs: 60_000,
  now: () => new Date('2026-05-01'),
};
const dashboard = await dashboardOver(fixture.path, {
  plugins: [atRiskPages(openDisputes({ dataDir, databasePath: fixture.path })), statementPages(sources)],
});
afterAll(() => Promise.all([dashboard.close(), fixture.remove()]));

const read = async (path: string): Promise<string> => (await fetch(dashboard.url + path)).text();
const PATHS = [
  ...['/', '/invoices', '/shipments', '/reports', '/events', '/search?q=tenant', '/statements'],
  '/money-at-risk?from=2026-01-01&to=2026-12-31',
  ...listReports().map(({ name }) => `/reports/${name}`),
];

test.each(PATHS)('%s is small', async (path) => {
  expect((await read(path)).length).toBeLessThan(800_000);
});

test('data is whole, and the links of a page lead to the rows of its names', async () => {
  const data = JSON.parse(await read('/reports/tenants?format=json'));
  expect(data.rows.map((row: { tenant: string }) => row.tenant).sort()).toEqual(
    NAMES.map(({ tenant }) => tenant),
  );
  const page = await read('/reports/tenants');
  const links = [...page.matchAll(/href="(\/shipments\?[^"]*is_tenant=[^"]*)"/g)].map(([, link = '']) =>
    link.replaceAll('&amp;', '&'),
  );
  expect(links.length).toBeGreaterThan(1);
  for (const link of links) {
    const { rows } = JSON.parse(await read(`${link}&format=json`));
    expect(rows.length, link.slice(0, 200)).toBe(36);
  }
  const [choice = ''] = /name="tenant" value="([^"]+)"/.exec(page)?.slice(1) ?? [];
  const { rows } = JSON.parse(await read(`/shipments?format=json&tenant=${encodeURIComponent(choice)}`));
  expect(rows.length).toBe(36);
  const found = JSON.parse(await read(`/invoices?format=json&tenant=${encodeURIComponent(choice)}`));
  expect(found.found).toBe(3);
});
