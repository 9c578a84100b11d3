import { afterAll, describe, expect, test } from 'vitest';
import { presetsOf } from '../../dashboard/filter-form.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { countedShipments, seededInvoices } from '../support/seeded-invoices.ts';
import { dashboardOver } from './support.ts';

const seeded = seededInvoices(3, 40);
const shared = ['Acme', 'Beta'].map((tenant) => anInvoice([aShipment({ tenant, tracking: 'TWICE' })]));
const alike = anInvoice([aShipment({ tracking: 'SAME-NAME' })], { number: 'SAME-NAME' });
const lone = anInvoice([aShipment({ tracking: '1Z999', cost: '12.3456' })], { number: 'LONE-1' });
const counted = countedShipments([...seeded, ...shared, alike, lone]);

const explained: string[] = [];

const fixture = await reportsFixture([...seeded, ...shared, alike, lone]);
const dashboard = await dashboardOver(fixture.path, {
  explain: async (trackingNumber) => {
    explained.push(trackingNumber);
    return [
      {
        ...{ trackingNumber, invoiceId: lone.id, invoiceNumber: lone.number, version: 1 },
        ...{ isCurrent: true, voidedAt: null, eventId: 'event-1' },
        facts: [
          ['row', '1 of the file, line 2'],
          ['event', 'event-1, received <then>'],
        ],
      },
    ];
  },
});
afterAll(async () => {
  await dashboard.close();
  await fixture.remove();
});

const get = (path: string): Promise<Response> => fetch(dashboard.url + path, { redirect: 'manual' });
const read = async (path: string): Promise<string> => (await get(path)).text();
const json = async (path: string) => JSON.parse(await read(path));
/** As a cell has an amount of a currency with cents: rounded, with all digits in its title where they differ. */
const exactly = (amount: string): string =>
  amount.endsWith('00') ? amount.slice(0, -2) : `title="${amount}"`;

/** Each total is in the row of its currency. */
function expectRows(
  table: string,
  totals: readonly { readonly currency_code: string; readonly billing_cost: string }[],
  named: (currency: string) => string,
): void {
  expect(totals.length).toBeGreaterThan(1);
  for (const { currency_code, billing_cost } of totals) {
    const row = table.split('<tr').find((text) => text.includes(named(currency_code)));
    expect(row?.replaceAll(',', ''), currency_code).toContain(exactly(billing_cost));
  }
}

describe('the list', () => {
  test('returns rows, totals and the next page as JSON', async () => {
    const first = await json('/shipments?format=json&limit=100&sort=tracking_number');
    expect(Object.keys(first)).toEqual(['rows', 'totals', 'next']);
    expect(first.rows).toHaveLength(100);
    const numbers = first.rows.map((row: { tracking_number: string }) => row.tracking_number);
    let next: string | null = first.next;
    while (next !== null) {
      const page = await json(next);
      expect(page.totals).toEqual(first.totals);
      numbers.push(...page.rows.map((row: { tracking_number: string }) => row.tracking_number));
      next = page.next;
    }
    expect(numbers).toEqual(counted.map(({ tracking }) => tracking).sort());
    const [{ currency_code, shipments, billing_cost }] = first.totals;
    expect([currency_code, typeof shipments, billing_cost]).toEqual([
      'EUR',
      'number',
      expect.stringMatching(/^-?\d+\.\d{4}$/),
    ]);
  });

  test('keeps the request in links for order, page and downloads', async () => {
    const page = await read('/shipments?carrier=ups&service=Ground&limit=5');
    for (const link of [
      /href="\/shipments\?carrier=ups&amp;service=Ground&amp;limit=5&amp;after=[\w-]+" rel="next"/,
      /aria-sort="descending"><a href="\/shipments\?carrier=ups&amp;service=Ground&amp;limit=5&amp;sort=ship_date">/,
      /href="\/shipments\?carrier=ups&amp;service=Ground&amp;limit=5&amp;format=xlsx"/,
    ])
      expect(page).toMatch(link);
    expect(page).toMatch(/<input [^>]*name="service"[^>]* value="Ground">/);
  });

  test('has a total per currency', async () => {
    const { totals } = await json('/shipments?format=json');
    const [, shown = ''] =
      /<table class="table card-table totals">([\s\S]*?)<\/table>/.exec(await read('/shipments')) ?? [];
    expectRows(shown, totals, (currency) => `>${currency}</td>`);
  });

  test('refuses invalid conditions with 400 and keeps the form', async () => {
    for (const query of ['cost_from=1%2C5', 'sort=colour', 'is_colour=red', 'from=yesterday', 'after=x']) {
      const answer = await get(`/shipments?${query}`);
      expect(answer.status, query).toBe(400);
      const page = await answer.text();
      for (const part of ['role="alert"', '<form class="filters"']) expect(page, query).toContain(part);
    }
    expect((await get('/shipments?format=docx')).status).toBe(400);
  });
});

test('a filter by id shows the name', async () => {
  const page = await (await get('/shipments?tenant=tenant-Acme')).text();
  expect(page).toContain('aria-label="Without this: Tenant Acme"');
});

describe('the search field', () => {
  test.each([
    ['1z 999', '/shipments/1Z999'],
    ['lone-1', `/invoices/${lone.id}`],
    ['one-1', `/invoices/${lone.id}`],
    ['1z99', '/shipments/1Z999'],
    ['cme', '/shipments?tenant=tenant-Acme'],
    ['dhl express', '/reports/carriers?carrier=dhl+express'],
    [lone.id.toUpperCase(), `/invoices/${lone.id}`],
    ['acme', '/shipments?tenant=tenant-Acme'],
    ['TWICE', '/shipments/TWICE'],
  ])('redirects from %s to %s', async (text, address) => {
    const answer = await get(`/search?q=${encodeURIComponent(text)}`);
    expect([answer.status, answer.headers.get('location')]).toEqual([302, address]);
  });

  test('lists the objects of a name, and suggests other places', async () => {
    const several = await read('/search?q=same-name');
    expect(several).toContain('href="/shipments/SAME-NAME"');
    expect(several).toContain(`href="/invoices/${alike.id}"`);
    const none = await get('/search?q=UNKNOWN');
    expect(none.status).toBe(404);
    const nothing = await none.text();
    expect(nothing).toContain('Nothing found for “UNKNOWN”.');
    expect(nothing).toContain('href="/shipments?tracking=UNKNOWN*"');
  });
});

test('an invoice is found by its number in the address', async () => {
  const answer = await get('/invoices/lone-1');
  expect([answer.status, answer.headers.get('location')]).toEqual([302, `/invoices/${lone.id}`]);
});

describe("a shipment's page", () => {
  test('shows its lines and their origin', async () => {
    const page = await read('/shipments/1Z999');
    expect(page).toContain(`<a href="/invoices/${lone.id}">LONE-1</a>`);
    expect(page).toContain('<span title="12.3456">12.35 USD</span>');
    expect(page).toContain('1 of the file, line 2');
    expect(page).toContain('<a href="/events?search=event-1">event-1, received &lt;then&gt;</a>');
    expect(explained).toEqual(['1Z999']);
  });

  test('lists the shipments of an invoice', async () => {
    const page = await read(`/invoices/${lone.id}`);
    expect(page).toContain('<a href="/shipments/1Z999">1Z999</a>');
    expect(page).toContain(`href="/shipments?invoice=${lone.id}&amp;level=all&amp;sort=row_number"`);
  });
});

describe('a period', () => {
  test('includes its last day and is kept by menu and links', async () => {
    const { rows } = await json('/shipments?format=json&from=2026-03-05&to=2026-03-05');
    const days = counted.filter(({ shipDate }) => shipDate === '2026-03-05');
    expect(rows).toHaveLength(days.length);
    expect((await json('/shipments?format=json&period=2026-03-05')).rows).toEqual(rows);
    expect(await read('/reports/cost?p_by=carrier&from=2026-03-01&to=2026-03-31')).toMatch(
      /<a class="nav-link" href="\/shipments\?from=2026-03-01&amp;to=2026-03-31">.*Shipments/,
    );
    expect(await read('/reports?from=2026-03-01&to=2026-03-31')).toContain(
      'href="/reports/tenants?from=2026-03-01&amp;to=2026-03-31"',
    );
  });

  test('has presets, for example the last complete week', () => {
    // A Saturday; the day after, that week is not over yet, and the day after that it is.
    expect(presetsOf(new Date('2026-01-31T23:00:00Z'))).toEqual([
      { label: 'Last full week', from: '2026-01-19', to: '2026-01-25' },
      { label: 'This month', from: '2026-01-01', to: '2026-01-31' },
      { label: 'Last month', from: '2025-12-01', to: '2025-12-31' },
      { label: 'November 2025', from: '2025-11-01', to: '2025-11-30' },
      { label: 'October 2025', from: '2025-10-01', to: '2025-10-31' },
      { label: 'September 2025', from: '2025-09-01', to: '2025-09-30' },
      { label: 'August 2025', from: '2025-08-01', to: '2025-08-31' },
      { label: 'July 2025', from: '2025-07-01', to: '2025-07-31' },
      { label: 'This quarter', from: '2026-01-01', to: '2026-03-31' },
      { label: 'Last quarter', from: '2025-10-01', to: '2025-12-31' },
      { label: 'Last 90 days', from: '2025-11-02', to: '2026-01-30' },
      { label: 'Year to date', from: '2026-01-01', to: '2026-01-31' },
      { label: 'This year', from: '2026-01-01', to: '2026-12-31' },
      { label: 'Last 12 months', from: '2025-01-01', to: '2025-12-31' },
    ]);
    const weekOn = (day: string) => presetsOf(new Date(`${day}T00:00:00Z`))[0]?.to;
    expect([weekOn('2026-02-01'), weekOn('2026-02-02')]).toEqual(['2026-01-25', '2026-02-01']);
  });
});

describe("a report's numbers", () => {
  test('link to shipments with the filters of the page', async () => {
    const page = await read('/reports/cost?p_by=carrier&from=2026-03-01&to=2026-03-31&currency=USD');
    const links = [
      ...page.matchAll(
        /<a href="(\/shipments\?from=2026-03-01&amp;to=2026-03-31&amp;currency=USD&amp;is_carrier=ups&amp;is_currency_code=USD)"([^>]*)>/g,
      ),
    ];
    expect(links.some(([, , rest]) => rest?.includes('aria-label="ups: '))).toBe(true);
    const cell =
      /<td class="number" title="(\d[\d,]*\.\d{4})"><a href="(\/shipments\?[^"]*is_carrier=ups[^"]*)">(\d[\d,]*\.\d\d)<\/a>/.exec(
        page,
      );
    const { totals } = await json(`${cell?.[2]?.replaceAll('&amp;', '&')}&format=json`);
    expect(totals).toMatchObject([{ billing_cost: cell?.[1]?.replaceAll(',', '') }]);
  });

  test('are sorted by any column and summed per currency', async () => {
    const page = await read('/reports/cost?p_by=zone&sort=-shipments&show=all');
    expect(page).toMatch(
      /aria-sort="descending"><a href="\/reports\/cost\?p_by=zone&amp;show=all&amp;sort=shipments">Shipments<\/a>/,
    );
    const { totals } = await json('/shipments?format=json');
    const foot = /<tfoot>([\s\S]*?)<\/tfoot>/.exec(page)?.[1] ?? '';
    expectRows(foot, totals, (currency) => `Sum in ${currency}`);
    expect(await read('/reports/cost?p_by=zone&sort=colour')).toContain('There is no column');
  });

  test('of two periods link each to its own', async () => {
    const page = await read('/reports/cost?p_by=carrier&from=2026-03-01&to=2026-03-31&compare=previous');
    expect(page).toContain('Compared with 2026-02-01 to 2026-02-28');
    expect(page).toMatch(
      /href="\/shipments\?from=2026-02-01&amp;to=2026-02-28&amp;is_carrier=ups&amp;is_currency_code=USD"/,
    );
    expect(page).toMatch(
      /href="\/shipments\?from=2026-03-01&amp;to=2026-03-31&amp;is_carrier=ups&amp;is_currency_code=USD"/,
    );
    expect((await get('/reports/cost?p_by=carrier&compare=previous')).status).toBe(400);
  });

  test('are compared with any two days that the form names, unless its list is changed too', async () => {
    const typed = '&compare_from=2026-02-03&compare_to=2026-02-20';
    const form = `/reports/cost?p_by=carrier&from=2026-03-01&to=2026-03-31${typed}`;
    const compared = async (fields: string): Promise<string> =>
      (await json(`${form}${fields}&format=json`)).head.parameters.compare;
    expect(await compared('&compare=&compare_was=')).toBe('2026-02-03 to 2026-02-20');
    expect(await compared('&compare=previous&compare_was=previous')).toBe('2026-02-03 to 2026-02-20');
    expect(await compared('&compare=2026-01&compare_was=2026-02-03..2026-02-20')).toBe(
      '2026-01-01 to 2026-01-31',
    );
    const page = await read(`${form}&compare=&compare_was=`);
    expect(page).toContain(
      '<option value="2026-02-03..2026-02-20" selected>Against 2026-02-03 to 2026-02-20',
    );
    // One day waits for the other one in its field.
    const waiting = await read(form.replace(/&compare_to=.*/, '&compare=&compare_was='));
    expect(waiting).toMatch(/name="compare_from" type="date" value="2026-02-03"/);
    const { spend } = await json(
      `/?from=2026-03-01&to=2026-03-31${typed}&compare=previous&compare_was=previous&format=json`,
    );
    expect(spend.before).toEqual({ from: '2026-02-03', to: '2026-02-20' });
  });
});
