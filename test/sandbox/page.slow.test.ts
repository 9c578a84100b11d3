import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { launchChromium } from '../support/tools/chromium.ts';
import { type Receiver, startReceiver } from './support.ts';

const HOSTILE = '<img src=x onerror=alert(1)>"\'&';

let browser: Browser;
let receiver: Receiver;
let sandbox: Sandbox;
const complaints: string[] = [];

beforeAll(async () => {
  [browser, sandbox, receiver] = await Promise.all([
    launchChromium(),
    startSandbox({ retryDelayMs: 100 }),
    startReceiver(),
  ]);
});
afterAll(async () => {
  await browser.close();
  await sandbox.close();
  await receiver.close();
});
beforeEach(() => {
  complaints.length = 0;
});
afterEach(async () => {
  await sandbox.reset();
  await sandbox.production.reset();
});

/** Whatever the browser complains about or fetches from elsewhere is collected. */
async function open(path = '', { javaScriptEnabled = true } = {}): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(sandbox.pageUrl) && !request.url().startsWith('data:'))
      complaints.push(`requested ${request.url()}`);
  });
  await page.goto(`${sandbox.pageUrl}${path}`);
  return page;
}

const press = (page: Page, name: string) =>
  Promise.all([
    page.waitForEvent('domcontentloaded'),
    page.getByRole('button', { name, exact: true }).click(),
  ]);

test('lists invoices and deliveries, light and dark, wide and narrow, without an accessibility violation', async () => {
  sandbox.registerWebhook({ name: `ERP ${HOSTILE}`, url: receiver.url, active: true });
  await sandbox.seedInvoices(6, 3);
  await sandbox.createInvoice({ partnerLevel: true });
  await sandbox.idle();
  const page = await open();
  expect(await page.getByText(HOSTILE).count()).toBeGreaterThan(0);
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 375]) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: 900 });
      const isTooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      const look = { colorScheme, width };
      expect({ ...look, found: await violations(page), isTooWide }).toEqual({
        ...look,
        ...{ found: [], isTooWide: false },
      });
    }
  expect(complaints).toEqual([]);
  await page.context().close();
});

test('takes an invoice from its generation to its cancellation and delivers again, without script', async () => {
  sandbox.registerWebhook({ name: 'ERP', url: receiver.url, active: true });
  const page = await open('', { javaScriptEnabled: false });
  await press(page, 'Generate sample invoices');
  const draft = sandbox.invoices().find(({ status }) => status === 'DRAFT');
  const number = draft?.invoiceNumber ?? '';
  const status = () => sandbox.invoice(draft?.invoiceId ?? '').status;
  await press(page, `Submit ${number}`);
  expect([await page.getByRole('status').textContent(), status()]).toEqual([
    'The invoice waits for approval. No event is emitted for that.',
    'PENDING_APPROVAL',
  ]);
  await press(page, `Approve ${number}`);
  expect(status()).toBe('APPROVED');
  await sandbox.idle();
  const sent = sandbox.deliveries().length;
  await page.goto(sandbox.pageUrl);
  await press(page, `Resend invoice_finalized of ${number}`);
  expect(sandbox.deliveries()).toHaveLength(sent + 1);
  await press(page, `Cancel ${number}`);
  expect(status()).toBe('CANCELED');
  expect(await page.getByRole('button', { name: number, exact: false }).count()).toBeGreaterThan(0);
  expect(complaints).toEqual([]);
  await page.context().close();
});

test('approves a draft in one step, pages through many, says what is refused, and separates the accounts', async () => {
  for (let made = 0; made < 51; made += 1) await sandbox.createInvoice({ shipments: 1 });
  const { invoiceNumber: last, invoiceId } = sandbox.invoices().at(-1) ?? {};
  const page = await open('', { javaScriptEnabled: false });
  await press(page, `Approve ${last}`);
  expect(sandbox.invoice(invoiceId ?? '').status).toBe('APPROVED');
  const first = page.getByRole('rowheader', { name: 'INV-000001', exact: true });
  expect(await first.count()).toBe(0);
  await page.getByRole('link', { name: 'Older' }).click();
  expect(await first.count()).toBe(1);
  sandbox.cancel(sandbox.invoices()[0]?.invoiceId ?? '');
  await press(page, 'Approve INV-000001');
  expect(await page.getByRole('alert').textContent()).toContain('CANCELED is final');
  await page.goto(`${sandbox.pageUrl}production/`);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('production account');
  expect(await page.getByText('INV-0000').count()).toBe(0);
  await page.context().close();
});

test('updates without a reload', async () => {
  const page = await open();
  const { invoiceNumber } = await sandbox.createInvoice({ shipments: 1 });
  await page.getByRole('rowheader', { name: invoiceNumber }).waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
});

test('its admin API can be called from an interactive page', async () => {
  const page = await open('admin/docs/');
  await page
    .getByText(/generate an invoice and take it as far as the event/i)
    .first()
    .click();
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.locator('.live-responses-table').getByText('201').first().waitFor();
  expect(sandbox.invoices().map(({ status, shipmentCount }) => [status, shipmentCount])).toEqual([
    ['APPROVED', 25],
  ]);
  expect(complaints).toEqual([]);
  await page.context().close();
});

/** The serious and critical findings of axe, by rule and element; what is right stays in the browser. */
async function violations(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
  const found = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as axe.Result[];
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}
