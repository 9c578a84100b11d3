import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { OperatorWork } from '../../dashboard/operator/operator-work.ts';
import type { RunningDashboard } from '../../dashboard/server.ts';
import { openDisputes } from '../../finance/disputes/disputes.ts';
import { atRiskPages } from '../../finance/disputes/pages/at-risk-pages.ts';
import { disputePages } from '../../finance/disputes/pages/claim-pages.ts';
import { statementPages } from '../../finance/statements/page/statement-pages.ts';
import { openAuditLog } from '../../lib/audit-log.ts';
import { listReports } from '../../reports/catalogue.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { testFolder } from '../support/folders.ts';
import { MAX_CLICKS, MONTH_END } from '../support/month-end-story.ts';
import { monthsInvoices } from '../support/months-invoices.ts';
import { anInvoice, aShipment, type ReportsFixture, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { barriers, barriersOfNewKinds, CONTRAST_ALONE, CONTRAST_APART } from '../support/tools/barriers.ts';
import { launchChromium } from '../support/tools/chromium.ts';
import { dashboardOver } from './support.ts';

const reports = listReports();
const parked = anInvoice([], { number: 'INV-STUCK', state: 'needs_attention', reason: 'Line 7 is no line.' });
const twice = ['Acme', 'Beta'].map((tenant) =>
  anInvoice([aShipment({ tenant, tracking: 'TWICE', cost: '12.3456' })]),
);
/** Contrast is looked at cell by cell, which takes longest: on every page that is no report, and on a report of each kind. */
const CONTRAST_OF = ['tenants', 'cost', 'bridge', 'data-quality', 'gaps'].map((name) => `/reports/${name}`);
/** All rules but the one of colours, where a page has something that none before it had. */
const barriersOfNew = barriersOfNewKinds(CONTRAST_APART);
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 800 };
const PAGES = [
  '/',
  '/shipments?carrier=ups&is_zone=5',
  '/shipments/TWICE',
  '/search?q=unknown',
  '/invoices',
  `/invoices/${parked.id}`,
  '/events',
  '/quarantine',
  '/health',
  '/reports',
  '/views?address=%2Fshipments',
  '/statements',
  '/statements?tenant=Acme&period=2026-03',
  '/reports/carriers?from=2026-03-01&to=2026-03-31&compare=previous',
  '/invoices/unknown',
  '/reports/tenants?from=yesterday',
];

let fixture: ReportsFixture;
let dashboard: RunningDashboard;
let browser: Browser;
let folder: string;
/** One page for all tests, since a new one takes longer than most of them. */
let watched: Watched;

beforeAll(async () => {
  folder = testFolder();
  // Few rows: every cell is checked for its contrast, which is most of the time these tests take.
  fixture = await reportsFixture([...seededInvoices(8, 8), ...twice, parked]);
  const statements = {
    databasePath: fixture.path,
    dataDir: folder,
    timeLimitMs: 60_000,
    now: () => new Date(),
  };
  dashboard = await dashboardOver(fixture.path, { plugins: [statementPages(statements)] });
  browser = await launchChromium();
  watched = await watchedPage();
});

beforeEach(async () => {
  watched.strangers.length = 0;
  watched.logged.length = 0;
  await watched.page.emulateMedia({ colorScheme: 'light' });
  await watched.page.setViewportSize(WIDE);
});

afterAll(async () => {
  await browser?.close();
  await dashboard?.close();
  await fixture?.remove();
});

interface Watched {
  readonly page: Page;
  readonly strangers: string[];
  readonly logged: string[];
}

async function watchedPage(): Promise<Watched> {
  const page = await browser.newPage({ viewport: WIDE, javaScriptEnabled: true });
  const strangers: string[] = [];
  const logged: string[] = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(dashboard.url) && !url.startsWith('data:') && !url.startsWith('file:'))
      strangers.push(url);
  });
  page.on('console', (message) => {
    // Browsers log responses with an error status, which some tests request.
    if (!message.text().startsWith('Failed to load resource')) logged.push(message.text());
  });
  page.on('pageerror', (error) => logged.push(String(error)));
  return { page, strangers, logged };
}

/** An address as a browser without scripts loads it. */
async function dashboardPage(address: string): Promise<Page> {
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await page.goto(address);
  return page;
}

/** Pixels by which a page is wider than its window. */
function overhang(page: Page): Promise<unknown> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

const CUT_OFF = `[...document.querySelectorAll('[aria-label="Rows of the report"]')]
  .reduce((sum, part) => sum + part.scrollWidth - part.clientWidth, 0)`;

/** Cells of a stacked table that begin before their label ends, and sums that stay over the rows. */
const OVERLAID = `[...document.querySelectorAll('.stacks :is(td:not(.blank), tfoot)')].filter((part) => {
  const [own, label] = [getComputedStyle(part), getComputedStyle(part, '::before')];
  return own.position === 'sticky'
    || parseFloat(own.paddingLeft) < (parseFloat(label.left) || 0) + (parseFloat(label.width) || 0);
}).length`;

const ROWS = '[aria-label="Rows of the report"]';

describe('the dashboard in a browser', () => {
  test.each([...PAGES, ...reports.map(({ name }) => `/reports/${name}`)])(
    'shows %s without barriers, requests elsewhere or messages on the console',
    async (path) => {
      const { page, strangers, logged } = watched;
      await page.goto(dashboard.url + path);
      expect(await page.locator('h1').count()).toBe(1);
      const isColourChecked = PAGES.includes(path) || CONTRAST_OF.includes(path);
      expect(await (isColourChecked ? barriers(page) : barriersOfNew(page))).toEqual([]);
      // Nothing of a report's table is off the screen.
      expect(await page.evaluate(CUT_OFF)).toBe(0);
      await page.setViewportSize(NARROW);
      expect(await overhang(page)).toBe(0);
      expect([strangers, logged]).toEqual([[], []]);
    },
  );

  test.each(['/', '/invoices', '/health', '/reports', '/reports/bridge', '/reports/cost'])(
    'keeps %s as readable on a narrow, dark screen',
    async (path) => {
      const { page } = watched;
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize(NARROW);
      await page.goto(dashboard.url + path);
      expect(await barriers(page, CONTRAST_ALONE)).toEqual([]);
      expect(await page.evaluate(OVERLAID)).toBe(0);
    },
  );

  test('works with the keyboard alone and shows the focus', async () => {
    const { page } = watched;
    await page.goto(dashboard.url);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    const seen = new Set<string>();
    for (let step = 0; step < 8; step += 1) {
      await page.keyboard.press('Tab');
      const [name, outline] = (await page.evaluate(
        '[document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]',
      )) as [string, string];
      expect(outline, name).toBe('solid');
      seen.add(name);
      if (name === 'Reports') break;
    }
    expect([...seen]).toContain('Reports');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/reports');
  });

  test('filters without script and keeps the choice in the address', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${dashboard.url}/reports/carriers`);
    await page.getByText('Add filter').click();
    await page.locator('#choose-carrier > summary').click();
    await page.getByLabel('fedex', { exact: true }).check();
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**carrier=fedex**', { waitUntil: 'load' });
    expect(new URL(page.url()).searchParams.getAll('carrier')).toEqual(['fedex']);
    const carriers = await page.locator(`${ROWS} tbody tr td:first-child`).allTextContents();
    expect(new Set(carriers)).toEqual(new Set(['fedex']));
    await context.close();
  });

  test('sorts and pages in place, goes back, keeps the focus, and works without script', async () => {
    const { page, logged } = watched;
    await page.goto(`${dashboard.url}/reports/zones?show=all`);
    await page.evaluate("document.body.dataset.loaded = 'once'");
    const sorted = page.locator(`${ROWS} th[aria-sort]`);
    const costs = () => page.locator(`${ROWS} tbody tr td:nth-child(5)`).allTextContents();
    const asAnswered = await costs();
    await page.locator(`${ROWS} th`, { hasText: 'Billing cost' }).getByRole('link').press('Enter');
    await sorted.waitFor();
    expect(new URL(page.url()).searchParams.get('sort')).toBe('-billing_cost');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Billing cost');
    const reloaded = await dashboardPage(page.url());
    const loaded = reloaded.locator(`${ROWS} tbody tr td:nth-child(5)`);
    expect(await costs()).toEqual(await loaded.allTextContents());
    await reloaded.context().close();
    await page.goBack();
    await sorted.waitFor({ state: 'detached' });
    expect(await costs()).toEqual(asAnswered);
    expect(await page.evaluate('document.body.dataset.loaded')).toBe('once');
    await page.goto(`${dashboard.url}/shipments?limit=5`);
    await page.evaluate("document.body.dataset.loaded = 'once'");
    const firstLine = () => page.locator('tbody').last().locator('tr').first().textContent();
    const first = await firstLine();
    await page.locator('nav.pages a').last().click();
    await page.waitForURL('**after=**');
    expect(await firstLine()).not.toBe(first);
    expect(await page.evaluate('document.body.dataset.loaded')).toBe('once');
    expect(logged).toEqual([]);
  });

  test('draws a chart again with exact values under the pointer and with the focus, until Escape', async () => {
    const { page, strangers, logged } = watched;
    await page.goto(`${dashboard.url}/reports/duplicates`);
    const bar = page.locator('figure svg:visible a[aria-label*="TWICE"]');
    const tip = page.locator('.canvas').getByText('12.3456 USD');
    expect(await bar.getAttribute('aria-label')).toBe('ups · TWICE: 12.35 USD');
    await bar.hover({ force: true });
    await page.locator('.canvas canvas').waitFor();
    await bar.hover({ force: true, position: { x: 3, y: 3 } });
    await tip.waitFor();
    await page.mouse.move(0, 0);
    await tip.waitFor({ state: 'hidden' });
    await bar.focus();
    await tip.waitFor();
    await page.keyboard.press('Escape');
    await tip.waitFor({ state: 'hidden' });
    expect([strangers, logged]).toEqual([[], []]);
  });

  test('shows one drawing of each chart', async () => {
    const { page } = watched;
    await page.goto(`${dashboard.url}/reports/carriers`);
    const drawings = (): Promise<number> => page.locator('figure').first().locator('svg:visible').count();
    expect(await drawings()).toBe(1);
    await page.setViewportSize(NARROW);
    expect(await drawings()).toBe(1);
    const box = await page.locator('figure').first().locator('svg:visible').boundingBox();
    expect(box?.width ?? 0).toBeLessThanOrEqual(NARROW.width);
  });
});

describe('the end of a month', () => {
  test(`takes at most ${MAX_CLICKS} clicks: by carrier, against the month before, in Excel, why, and the claim`, async () => {
    const logged: string[] = [];
    const billed = monthsInvoices({ now: new Date(), months: 3, shipments: 20 });
    const months = await reportsFixture(billed, { publishedAt: new Date().toISOString() });
    const disputes = openDisputes({ dataDir: months.folder, databasePath: months.path });
    const dashboard = await dashboardOver(months.path, {
      plugins: [atRiskPages(disputes), disputePages(disputes)],
      admin: { operators: [{ user: 'ann', password: 'ann-may-act' }] },
      operator: {
        ...{
          work: {} as OperatorWork,
          decode: async () => null,
          uploadFolder: join(months.folder, 'uploads'),
        },
        audit: openAuditLog(months.folder),
      },
    });
    const context = await browser.newContext({
      ...{ viewport: WIDE, httpCredentials: { username: 'ann', password: 'ann-may-act' } },
    });
    try {
      const page = await context.newPage();
      page.on('pageerror', (error) => logged.push(String(error)));
      await page.goto(dashboard.url);
      for (const { name, click, sees } of MONTH_END) {
        await click(page);
        expect(await sees(page), name).toBe(true);
        expect(await overhang(page), name).toBe(0);
        expect(await barriersOfNew(page), name).toEqual([]);
      }
      expect(MONTH_END.reduce((sum, { clicks }) => sum + clicks, 0)).toBeLessThanOrEqual(MAX_CLICKS);
      expect(logged).toEqual([]);
    } finally {
      await context.close();
      await dashboard.close();
      await months.remove();
    }
  });
});

describe('the first screen', () => {
  test('has the answer of every report above the fold at 1280 by 800', async () => {
    const { page } = watched;
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const { name } of reports) {
      await page.goto(`${dashboard.url}/reports/${name}`);
      const box = await page.locator('.answer').boundingBox();
      expect((box?.y ?? 800) + (box?.height ?? 0), name).toBeLessThan(400);
    }
  });
});

describe('a table of a report', () => {
  test('is printed without what is only for a screen', async () => {
    const { page } = watched;
    await page.goto(`${dashboard.url}/reports/carriers`);
    await page.emulateMedia({ media: 'print' });
    for (const part of ['nav', 'form.filters', '.go-on', 'header'])
      expect(await page.locator(part).first().isVisible(), part).toBe(false);
    expect(await page.locator(`${ROWS} tbody tr`).first().isVisible()).toBe(true);
    // A foot is repeated on each sheet, where it would seem to be the sum of that sheet.
    const foot = 'getComputedStyle(document.querySelector("tfoot")).display';
    expect(await page.evaluate(foot)).toBe('table-row-group');
    await page.emulateMedia({ media: 'screen' });
  });
});

describe('a report as HTML file', () => {
  test.each(reports.map(({ name }) => name))(
    '%s opens from the disk, whole, quiet and readable',
    async (name) => {
      const { page, strangers, logged } = watched;
      const result = await fixture.run(name);
      const path = join(folder, `${name}.html`);
      await writeFile(path, (await renderReport(result, 'html')).body);
      await page.goto(pathToFileURL(path).href);
      expect(await page.title()).toBe(result.title);
      expect(await page.locator(`${ROWS} tbody tr`).count()).toBe(result.rows.length);
      expect(await overhang(page)).toBe(0);
      // The colours are those of the pages in the dashboard.
      expect(await barriersOfNew(page)).toEqual([]);
      expect([strangers, logged]).toEqual([[], []]);
    },
  );
});
