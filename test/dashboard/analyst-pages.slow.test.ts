import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { listReports } from '../../reports/catalogue.ts';
import type { ReportColumn } from '../../reports/cells.ts';
import { daysName } from '../../reports/period.ts';
import { displayCell } from '../../reports/render/labels.ts';
import { monthsInvoices } from '../support/months-invoices.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { dashboardOver } from './support.ts';

/** More origins than fit on a page. */
const origins = Array.from({ length: 130 }, (_, index) =>
  aShipment({
    shipDate: '2026-01-05',
    origin: `O${String(index).padStart(3, '0')}`,
    tenant: 'Wide',
    cost: '1',
  }),
);

const billed = monthsInvoices({ now: new Date('2026-07-15T00:00:00Z'), months: 3, shipments: 8 });
const fixture = await reportsFixture([...billed, anInvoice(origins)], {
  publishedAt: '2026-07-15T00:00:00Z',
});
const dashboard = await dashboardOver(fixture.path);
afterAll(async () => {
  await dashboard?.close();
  await fixture?.remove();
});

const get = (path: string, more: RequestInit = {}): Promise<Response> =>
  fetch(dashboard.url + path, { redirect: 'manual', ...more });
const read = async (path: string): Promise<string> => (await get(path)).text();
const json = async (path: string) => {
  const answer = await get(path);
  expect(answer.headers.get('content-type')).toContain('application/json');
  return JSON.parse(await answer.text());
};
const plain = (address: string): string => address.replaceAll('&amp;', '&');

describe('the overview', () => {
  test('compares the last month with the one before, like the list of shipments', async () => {
    const { spend } = await json('/?format=json');
    expect(spend).toMatchObject({ from: '2026-06-01', to: '2026-06-30', currency: 'USD' });
    expect(spend.title).toBe('Spend of June 2026 against May 2026, by ship date (incomplete)');
    expect(spend.notes).toEqual([expect.stringMatching(/^Incomplete: .* lacks 1 known invoice: .*draft/)]);
    const listed = await json('/shipments?from=2026-06-01&to=2026-06-30&format=json');
    const before = await json('/shipments?from=2026-05-01&to=2026-05-31&format=json');
    expect([spend.totals, spend.totals_before]).toEqual([listed.totals, before.totals]);
    const byInvoice = await json('/?from=2026-06-01&to=2026-06-30&by=invoice-date&format=json');
    expect(byInvoice.spend.title).toMatch(/^Spend of June 2026 against May 2026, by invoice date/);
    const listedByInvoice = await json(
      '/shipments?from=2026-06-01&to=2026-06-30&by=invoice-date&format=json',
    );
    expect(byInvoice.spend.totals).toEqual(listedByInvoice.totals);
    const page = await read('/');
    expect(page).toContain('<option value="invoice-date">invoice date</option>');
    const [, address = ''] = /<a class="[^"]+" href="(\/shipments\?[^"]+)">.*>Spend</.exec(page) ?? [];
    const { totals } = await json(`${plain(address)}&format=json`);
    expect(totals).toEqual(
      listed.totals.filter((row: { currency_code: string }) => row.currency_code === 'USD'),
    );
  });

  test('lists the largest changes, like the report of two periods', async () => {
    const { spend } = await json('/?format=json');
    const days = 'from=2026-06-01&to=2026-06-30&compare=previous&currency=USD&format=json';
    for (const [index, address] of ['tenants?', 'carriers?', 'cost?p_by=origin%2Bzone&'].entries()) {
      const { rows } = await json(`/reports/${address}${days}`);
      const moved = rows.filter((row: { difference: string }) => Number(row.difference) !== 0).slice(0, 5);
      expect(spend.movers[index].rows.length).toBeGreaterThan(0);
      expect(moved).toMatchObject(spend.movers[index].rows);
    }
  });
});

describe('a table', () => {
  test('shows the main currency, and links the others', async () => {
    const page = await read('/reports/cost?p_by=tenant');
    expect(page).toContain('Currency: USD');
    expect((await json('/reports/tenants?format=json')).currency).toBe('USD');
    const [, eur = ''] = /<a class="dropdown-item" href="([^"]+)">EUR<\/a>/.exec(page) ?? [];
    const { rows } = await json(`${plain(eur)}&format=json`);
    expect(new Set(rows.map((row: { currency_code: string }) => row.currency_code))).toEqual(
      new Set(['EUR']),
    );
    const all = await json('/reports/tenants?show=all&format=json');
    expect(new Set(all.rows.map((row: { currency_code: string }) => row.currency_code)).size).toBe(2);
  });

  test('links an invoice to its page', async () => {
    const [, address = ''] =
      /<td[^>]*><a href="(\/invoices\/[^"]+)">/.exec(await read('/reports/register')) ?? [];
    expect((await get(address)).status).toBe(200);
  });

  test('has the requested columns, details only on request', async () => {
    const names = async (query: string) =>
      (await json(`/reports/carriers?${query}format=json`)).columns.map(({ name }: { name: string }) => name);
    expect(await names('')).not.toContain('credits');
    expect(await names('columns=carrier&columns=credits&columns=nothing&')).toEqual(['carrier', 'credits']);
  });

  test('is pivoted by month and links each cell to its shipments', async () => {
    const address = '/reports/cost?p_by=tenant%2Bmonth&pivot=month&currency=USD';
    const { rows, columns, totals } = await json(`${address}&format=json`);
    expect(columns.map(({ name }: { name: string }) => name)).toContain('2026-06');
    const page = await read(address);
    const first = page.slice(page.indexOf('<tbody>'), page.indexOf('</tr>', page.indexOf('<tbody>')));
    const links = [...first.matchAll(/<a href="([^"]+)"[^>]*>([\d,.]+)<\/a>/g)];
    expect(links.length).toBeGreaterThan(1);
    const months = Object.entries(rows[0]).filter(
      ([name, cost]) => /^\d{4}-\d\d$/.test(name) && cost !== null,
    );
    for (const [index, [, link = '']] of links.entries()) {
      const found = await json(`${plain(link)}&format=json`);
      expect(found.totals[0].billing_cost).toBe(months[index]?.[1]);
    }
    expect(totals[0].total).toMatch(/^\d+\.\d{4}$/);
    expect((await get('/reports/cost?p_by=tenant&pivot=month&format=json')).status).toBe(400);
    // An id belongs to its name, and lines are not compared.
    for (const name of ['tenants', 'late-billed'])
      expect(await read(`/reports/${name}`), name).not.toContain('Side by side');
  });
});

test.each([
  ['2.0050', 'USD', { text: '2.01', exact: '2.0050', isNegative: false }],
  ['-2.0050', 'USD', { text: '-2.01', exact: '-2.0050', isNegative: true }],
  ['-0.0010', 'USD', { text: '0.00', exact: '-0.0010', isNegative: true }],
  ['1234.5000', 'USD', { text: '1,234.50', exact: null, isNegative: false }],
  ['1.2340', 'KWD', { text: '1.234', exact: null, isNegative: false }],
  ['1.2300', 'no currency', { text: '1.23', exact: null, isNegative: false }],
  ['1250.5000', 'JPY', { text: '1,251', exact: '1,250.5000', isNegative: false }],
])('a page shows %s %s rounded, with the exact digits beside it', (cost, currency, shown) => {
  const column: ReportColumn = {
    ...{ name: 'cost', type: 'decimal', scale: 4, unit: 'money', align: 'right', isDetail: false },
  };
  expect(displayCell({ cost, currency_code: currency }, column)).toEqual(shown);
});

describe('format=json', () => {
  test('is supported by every page', async () => {
    const invoice = (await json('/invoices?format=json')).rows[0].invoice_id;
    const pages = ['/', '/shipments', '/invoices', `/invoices/${invoice}`, '/events', '/alerts', '/reports'];
    for (const path of [...pages, ...listReports().map(({ name }) => `/reports/${name}`)]) {
      const answer = await get(`${path}?format=json`);
      expect(answer.status, path).toBe(200);
      expect(answer.headers.get('content-type'), path).toContain('application/json');
      expect(Object.keys((await answer.json()) as object).length, path).toBeGreaterThan(0);
    }
  });

  test('has amounts as text and rejects invalid requests', async () => {
    const { rows, totals, head } = await json('/reports/carriers?format=json');
    expect(rows[0].billing_cost).toMatch(/^\d+\.\d{4}$/);
    expect(totals[0].billing_cost).toMatch(/^\d+\.\d{4}$/);
    expect(head.publication).toBeGreaterThan(0);
    for (const path of [
      '/reports/carriers?from=never&',
      '/reports/nothing?',
      '/?from=never&',
      '/invoices/none?',
    ]) {
      const answer = await get(`${path}format=json`);
      expect([400, 404]).toContain(answer.status);
      expect(await answer.json()).toEqual({ error: expect.stringMatching(/.{10}/) });
    }
  });
});

describe('saved views', { shuffle: false }, () => {
  const post = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    get('/views', { method: 'POST', body: new URLSearchParams(fields), headers });
  const kept = () => readFile(join(fixture.folder, 'user', 'saved-views.json'), 'utf8');

  test('are stored, listed, replaced and removed by name', async () => {
    const address = '/reports/carriers?from=2026-06-01&compare=previous';
    expect((await post({ name: 'Month end', address: '/shipments' })).status).toBe(303);
    await Promise.all([
      post({ name: 'Month end', address }),
      post({ name: 'Other', address: '/invoices?page=3' }),
    ]);
    expect(JSON.parse(await kept())).toEqual([
      { name: 'Month end', address },
      { name: 'Other', address: '/invoices' },
    ]);
    expect(await read('/')).toContain(`href="${address.replace('&', '&amp;')}">Month end</a>`);
    expect((await json('/?format=json')).views).toHaveLength(2);
    await post({ action: 'remove', name: 'Other' });
    expect((await json('/views?format=json')).views).toEqual([{ name: 'Month end', address }]);
    await post({ action: 'remove', name: 'Month end' });
  });

  test.each([
    '<script>alert(1)</script>',
    '"><img src=x onerror=1>',
    '<%= 1 + 1 %>',
    '株式会社 ‮gnp',
    '__proto__',
  ])('take the name %j for a name', async (name) => {
    await post({ name, address: '/shipments' });
    for (const page of [await read('/'), await read('/views')]) {
      // A field has to give back what it was given.
      expect(page.replaceAll(/value="[^"]*"/g, '')).not.toMatch(
        /<script(?! src="\/script-\w+\.js" data-charts="\/charts-\w+\.js" defer><\/script>)|<img|‮/,
      );
      expect(page).toContain('href="/shipments"');
    }
    expect((await json('/views?format=json')).views).toEqual([{ name, address: '/shipments' }]);
    await post({ action: 'remove', name });
    expect((await json('/views?format=json')).views).toEqual([]);
  });

  test('are refused for other pages and without a name', async () => {
    const wrong = [
      '//evil.example/',
      'https://evil.example/',
      'javascript:alert(1)',
      '/operator',
      '/../etc',
      '',
      '/\\evil.example',
    ];
    for (const address of wrong) expect((await post({ name: 'x', address })).status, address).toBe(400);
    for (const name of ['', '   ', 'a\nb', 'x'.repeat(81)])
      expect((await post({ name, address: '/shipments' })).status, name).toBe(400);
    const strange = await post({ name: 'x', address: '/shipments' }, { 'sec-fetch-site': 'cross-site' });
    expect(strange.status).toBe(403);
    expect((await json('/views?format=json')).views).toEqual([]);
  });

  test('are reported when unreadable, with the rest of the page', async () => {
    await writeFile(
      join(fixture.folder, 'user', 'saved-views.json'),
      '[{"name":"x","address":"https://evil.example/"}]',
    );
    const page = await read('/');
    expect(page).toContain('does not contain saved views');
    expect(page).toContain('Spend of June 2026');
    expect(page).not.toContain('evil.example');
    expect((await post({ name: 'y', address: '/shipments' })).status).toBe(503);
    expect(await kept()).toContain('evil.example');
  });
});

test.each([
  ['2026-10-01', '2026-10-31', 'October 2026'],
  ['2026-10-01', '2026-11-30', '2026-10-01 to 2026-11-30'],
  ['2026-10-05', '2026-10-11', '2026-10-05 to 2026-10-11'],
])('the days from %s to %s are called %s', (from, to, name) => {
  expect(daysName({ from, to })).toBe(name);
});
