import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningDashboard } from '../../dashboard/server.ts';
import { dashboardOver } from '../dashboard/support.ts';
import { type ReportsFixture, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { launchChromium } from '../support/tools/chromium.ts';

let fixture: ReportsFixture;
let dashboard: RunningDashboard;
let browser: Browser;

beforeAll(async () => {
  fixture = await reportsFixture(seededInvoices(5, 8));
  [dashboard, browser] = await Promise.all([dashboardOver(fixture.path), launchChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await dashboard?.close();
  await fixture?.remove();
});

test('shows a report', async () => {
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(dashboard.url)) problems.push(request.url());
  });
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  await page.goto(`${dashboard.url}/reports/carriers`);
  const costs = () =>
    page.locator('[aria-label="Rows of the report"] tbody tr td:nth-child(4)').allTextContents();
  expect((await costs()).length).toBeGreaterThan(2);
  await page.evaluate("document.body.dataset.loaded = 'once'");
  await page.getByRole('link', { name: 'Billing cost' }).press('Enter');
  await page.waitForURL('**sort=-billing_cost**');
  expect(await page.evaluate('document.body.dataset.loaded')).toBe('once');
  expect(problems).toEqual([]);
});
