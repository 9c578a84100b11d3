import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { csvOf } from '../support/foreign-billing.ts';
import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { createProduct, type Product } from '../support/processes/product.ts';
import { queryCopy } from '../support/published-data.ts';
import { barriersOfNewKinds } from '../support/tools/barriers.ts';
import { launchChromium } from '../support/tools/chromium.ts';
import { deliver } from '../webhook/a-delivery.ts';

let service: ForeignService;
let product: Product;
let browser: Browser;
let page: Page;
let dashboard: string;
const barriersOfNew = barriersOfNewKinds({});

beforeAll(async () => {
  service = await startForeignService();
  const settings = { BILLSYNC_OPERATOR_BASIC_AUTH: 'ann:ann-may-act' };
  product = await createProduct({ service, settings });
  [browser] = await Promise.all([launchChromium(), product.start('up')]);
  dashboard = (product.address('up', 'dashboard') ?? '').replace(/\/$/, '');
  const context = await browser.newContext({
    httpCredentials: { username: 'ann', password: 'ann-may-act' },
  });
  page = await context.newPage();
});
afterAll(async () => {
  await browser?.close();
  await product?.close();
  await service?.close();
});

async function press(label: string): Promise<string> {
  await page.getByRole('button', { name: label, exact: true }).click();
  return read();
}

async function read(): Promise<string> {
  expect(await barriersOfNew(page), page.url()).toEqual([]);
  return text();
}

/** Nothing while the page looks again. */
function text(): Promise<string> {
  return page
    .locator('main')
    .innerText()
    .catch(() => '');
}

async function go(path: string): Promise<string> {
  await page.goto(dashboard + path);
  return read();
}

const loaded = async (invoiceId: string): Promise<boolean> => {
  const path = join(product.dataDir, 'reports.duckdb');
  const rows = await queryCopy(path, (query) =>
    query('select invoice_id::varchar as id from shipments'),
  ).catch(() => []);
  return rows.some(({ id }) => id === invoiceId);
};

test('records every action of an operator: fetch, publish, import, pause, retry, requeue, discard', async () => {
  // The endpoint is not registered, so the service announces none of them.
  const [missed, exported] = [
    await service.createInvoice({ rows: 3 }),
    await service.createInvoice({ rows: 2 }),
  ];
  await service.finalize(missed.invoiceId);
  await service.finalize(exported.invoiceId);

  expect(await go('/operator')).toContain('Publish now');
  await page.getByLabel(/^Invoice ids, or numbers/).fill(`${missed.invoiceId}\n`);
  expect(await press('Look them up')).toContain('Fetches 1 invoice from the service');
  expect(await press('Fetch')).toMatch(/Backfill [0-9a-f-]{36} fetches 1 invoice\./);
  await page.getByRole('link', { name: 'Follow its progress' }).click();
  await eventually(async () => (await text()).includes('1 of 1 done'));
  // It looks again by itself until then.
  await go(new URL(page.url()).pathname);
  await eventually(() => loaded(missed.invoiceId));

  await go('/operator/agree?action=publish');
  expect(await press('Publish')).toMatch(/Publication \d+: \d+ invoices?, 3 shipments\./);

  // By its bytes: without a UTF-8 locale Chromium finds no path with letters outside ASCII.
  const file = {
    name: 'exported by hand.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(csvOf(exported.rows)),
  };
  await go('/operator');
  await page.getByLabel(/^Invoice CSV/).setInputFiles(file);
  expect(await press('Check it')).toMatch(
    new RegExp(`exported by hand\\.csv contains 2 shipments of invoice ${exported.invoiceId}`),
  );
  expect(await press('Import')).toContain('exported by hand.csv: loaded, 2 shipments');
  await eventually(() => loaded(exported.invoiceId));

  await go('/operator');
  await page.getByRole('link', { name: 'Pause', exact: true }).click();
  await page.getByLabel('Reason').fill('month end');
  expect(await press('Pause')).toContain('The schedule is paused.');
  expect(await go('/operator')).toContain('paused: month end');
  await page.getByRole('link', { name: 'Resume', exact: true }).click();
  expect(await press('Resume')).toContain('The schedule is resumed.');

  await go(`/invoices/${missed.invoiceId}`);
  await page.getByRole('link', { name: 'Retry', exact: true }).click();
  expect(await press('Retry')).toContain('The retry has started');

  expect((await deliver(product.webhookUrl, '{')).statusCode).toBe(400);
  await go('/quarantine');
  await page.locator('main a[href^="/quarantine/d-"]').first().click();
  await page.getByRole('link', { name: 'Requeue', exact: true }).click();
  expect(await press('Requeue')).toContain('are still refused');
  await page.goto(`${dashboard}/quarantine`);
  await page.locator('main a[href^="/quarantine/d-"]').first().click();
  await page.getByRole('link', { name: 'Discard', exact: true }).click();
  await page.getByLabel('Reason').fill('rubbish');
  expect(await press('Discard')).toContain('is discarded.');

  const log = await go('/operator/audit');
  for (const what of [
    ...['backfill', 'snapshot', 'import', 'schedule pause', 'schedule resume', 'invoices retry'],
    ...['quarantine requeue', 'quarantine discard', 'month end', 'rubbish'],
  ]) {
    expect(log).toContain(what);
  }
  const { code, out } = await product.command('audit', 'verify', '--json');
  expect([code, JSON.parse(out)]).toMatchObject([0, { entries: 16, problems: [] }]);
});
