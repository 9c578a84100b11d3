import axe from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/service.ts';
import { launchChromium } from '../support/tools/chromium.ts';
import { type Receiver, startReceiver } from './support.ts';

const HOSTILE = '<img src=x onerror=alert(1)>"\'&';

let browser: Browser;
let receiver: Receiver;
let sandbox: Sandbox;
/** One with and one without script: a browser takes longer over a new page than over what a test does there. */
const pages = new Map<boolean, Page>();
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
  // The scripts of an open page would request objects that the reset has removed.
  await pages.get(true)?.goto('about:blank');
  await sandbox.reset();
  await sandbox.production.reset();
});

/** Opens a page; whatever the browser complains about or fetches from elsewhere is collected. */
async function open(path = '', { javaScriptEnabled } = { javaScriptEnabled: true }): Promise<Page> {
  let page = pages.get(javaScriptEnabled);
  if (page === undefined) {
    page = await newPage(javaScriptEnabled);
    pages.set(javaScriptEnabled, page);
  }
  await page.goto(`${sandbox.pageUrl}${path}`);
  return page;
}

async function newPage(javaScriptEnabled: boolean): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const isOurs = request.url().startsWith(sandbox.pageUrl) || request.url().startsWith('data:');
    if (!isOurs) complaints.push(`requested ${request.url()}`);
  });
  return page;
}

const withoutScript = { javaScriptEnabled: false } as const;
const follow = (page: Page, link: Locator) =>
  Promise.all([page.waitForEvent('domcontentloaded'), link.click()]);
const press = (page: Page, name: string) => follow(page, page.getByRole('button', { name, exact: true }));
/** A field by its name, since the label of a wrapped select contains its options too. */
const field = (place: Page | Locator, name: string) => place.locator(`[name="${name}"]`);
const notice = (page: Page) => page.getByRole('status').textContent();
const problem = (page: Page) => page.getByRole('alert').textContent();

async function furnish() {
  const [tenant, other] = sandbox.tenants();
  const webhook = sandbox.registerWebhook({
    name: `ERP ${HOSTILE}`,
    url: receiver.url,
    headers: { Authorization: 'Basic planted-header-secret' },
    active: true,
  });
  sandbox.registerWebhook({ name: 'One tenant', url: receiver.url, tenants: [tenant?.tenantId ?? ''] });
  const schedule = sandbox.schedules.add({
    name: 'Weekly',
    autoApprove: true,
    tenantOverrides: { [other?.tenantId ?? '']: false },
  });
  await sandbox.seedInvoices(6, 3);
  const partner = await sandbox.createInvoice({ partnerLevel: true });
  sandbox.faults.add({ name: 'wrong-hash', rate: 0.5, count: 2, target: { tenant: tenant?.name ?? '' } });
  await sandbox.idle();
  const delivery = sandbox.deliveries().at(-1);
  return {
    '': 'Overview',
    invoices: 'Invoices',
    [`invoices/${partner.invoiceId}`]: partner.invoiceNumber,
    [`invoices/${sandbox.invoices()[2]?.invoiceId}`]: 'INV-000003',
    webhooks: 'Webhooks',
    [`webhooks/${webhook.registrationId}`]: 'ERP',
    schedules: 'Billing schedules',
    [`schedules/${schedule.scheduleId}`]: 'Weekly',
    deliveries: 'Deliveries',
    [`deliveries/${delivery?.deliveryId}`]: 'invoice_',
    faults: 'Faults',
  };
}

describe('every page', () => {
  // axe sees every colour and every arrangement once; what depends on neither is looked at once.
  const wide = { width: 1280, height: 900 };
  const narrow = { width: 375, height: 800 };
  const looks = [
    { colorScheme: 'light', viewport: wide, checked: 'everything' },
    { colorScheme: 'dark', viewport: wide, checked: 'nothing' },
    { colorScheme: 'light', viewport: narrow, checked: 'nothing' },
    { colorScheme: 'dark', viewport: narrow, checked: 'colours' },
  ] as const;

  test('has no accessibility violation in light and dark, wide and narrow', async () => {
    const paths = await furnish();
    const page = await open();
    for (const [path, heading] of Object.entries(paths)) {
      await page.goto(`${sandbox.pageUrl}${path}`);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain(heading);
      await page.evaluate(
        "document.querySelectorAll('main details').forEach((drawer) => (drawer.open = true))",
      );
      for (const { colorScheme, viewport, checked } of looks) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.setViewportSize(viewport);
        const found = checked === 'nothing' ? [] : await violations(page, checked);
        const isTooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
        const look = { path, colorScheme, width: viewport.width };
        expect({ ...look, found, isTooWide }).toEqual({ ...look, found: [], isTooWide: false });
      }
    }
    expect(complaints).toEqual([]);
  });

  test('answers 404 for an unknown object', async () => {
    const page = await open('', withoutScript);
    for (const path of ['invoices/none', 'webhooks/none', 'schedules/none', 'deliveries/none']) {
      const response = await page.goto(`${sandbox.pageUrl}${path}`);
      expect(response?.status()).toBe(404);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('No such page');
    }
  });

  test('shows the production account separately', async () => {
    await sandbox.production.createInvoice({ set: { invoiceNumber: 'PRODUCTION-1' } });
    const page = await open('production/invoices');
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await page.getByRole('link', { name: 'PRODUCTION-1' }).count()).toBe(1);
    await follow(page, page.getByRole('link', { name: 'Overview' }));
    expect(page.url()).toBe(`${sandbox.pageUrl}production/`);
    await page.goto(`${sandbox.pageUrl}invoices`);
    expect(await page.getByRole('link', { name: 'PRODUCTION-1' }).count()).toBe(0);
  });
});

describe('webhooks', () => {
  test('are registered inactive, tested, enabled, changed, disabled and deleted, without script', async () => {
    const page = await open('webhooks', withoutScript);
    await field(page, 'name').fill('ERP');
    await field(page, 'url').fill(receiver.url);
    await page.getByLabel('invoice_voided').uncheck();
    await page.getByLabel('Only these:').check();
    await page.getByLabel('Harbor & Pine, Inc.').check();
    await page.getByLabel('Custom headers').fill('Authorization: Basic abc\nX-System: erp: 1');
    await press(page, 'Register, inactive');
    expect(await notice(page)).toContain('inactive');
    const [added] = sandbox.webhooks();
    expect(added).toMatchObject({
      name: 'ERP',
      active: false,
      eventTypes: ['invoice_created', 'invoice_finalized'],
      tenants: [sandbox.tenants()[0]?.tenantId],
      headers: { Authorization: 'Basic abc', 'X-System': 'erp: 1' },
    });

    await page.getByLabel('Event type of the test payload').selectOption('invoice_created');
    await press(page, 'Send test payload');
    await sandbox.idle();
    await page.reload();
    expect(await page.getByText('{"status":"ok"}').count()).toBe(1);
    expect(await page.getByText('"testEvent": true').count()).toBe(1);

    await page.goto(`${sandbox.pageUrl}webhooks/${added?.registrationId}`);
    await press(page, 'Enable');
    expect(sandbox.webhooks()[0]?.active).toBe(true);
    await field(page, 'name').fill('ERP, renamed');
    await page.getByRole('radio', { name: 'All' }).check();
    await press(page, 'Save');
    expect(sandbox.webhooks()[0]).toMatchObject({
      name: 'ERP, renamed',
      tenants: 'all',
      headers: { Authorization: 'Basic abc', 'X-System': 'erp: 1' },
    });
    await page.getByLabel(/Remove all custom headers/).check();
    await press(page, 'Save');
    expect(sandbox.webhooks()[0]?.headers).toEqual({});
    await press(page, 'Disable');
    expect(sandbox.webhooks()[0]?.active).toBe(false);
    await page.getByText('Delete this webhook').click();
    await press(page, 'Delete for good');
    expect(sandbox.webhooks()).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

describe('invoices', () => {
  test('are generated, submitted, approved and canceled, without script', async () => {
    sandbox.registerWebhook({ name: 'ERP', url: receiver.url, active: true });
    const page = await open('invoices', withoutScript);
    await field(page, 'tenant').first().selectOption({ label: 'Müller & Söhne GmbH' });
    await field(page, 'shipments').fill('4');
    await page.getByLabel('Invoice date').fill('2026-03-01');
    await press(page, 'Generate in DRAFT');
    const [invoice] = sandbox.invoices();
    expect(invoice).toMatchObject({ status: 'DRAFT', shipmentCount: 4, dueDate: '2026-03-16' });
    expect(await page.getByText('2026-03-16').count()).toBe(1);
    await press(page, 'Submit for approval');
    expect(await notice(page)).toContain('No event');
    await press(page, 'Approve');
    expect(await notice(page)).toContain('invoice_finalized');
    expect(await page.getByText(invoice?.file.sha256 ?? '').count()).toBe(1);
    await press(page, 'Cancel invoice');
    expect(sandbox.invoices()[0]?.status).toBe('CANCELED');
    expect(await page.getByRole('button').count()).toBe(0);
    await sandbox.idle();
    await page.reload();
    for (const type of ['invoice_created', 'invoice_finalized', 'invoice_voided']) {
      expect(await page.getByRole('link', { name: type }).count()).toBe(1);
    }
  });

  test('are approved with a failing export, and exported again', async () => {
    const { invoiceId } = await sandbox.createInvoice({ shipments: 2 });
    sandbox.submit(invoiceId);
    const page = await open(`invoices/${invoiceId}`, withoutScript);
    await press(page, 'Approve, export fails');
    expect(await page.getByText('The export failed').count()).toBe(1);
    expect(sandbox.events().map(({ eventType }) => eventType)).toEqual(['invoice_created']);
    expect(sandbox.faults.list()).toEqual([]);
    await press(page, 'Export again');
    expect(sandbox.invoice(invoiceId).exports).toHaveLength(1);
  });
});

describe('billing schedules', () => {
  test('are created with overrides, run, changed and deleted, without script', async () => {
    const [one, other] = sandbox.tenants();
    const page = await open('schedules', withoutScript);
    await field(page, 'name').fill('Weekly');
    await field(page, 'shipments').fill('2');
    await page.getByLabel('Auto-approve invoices').check();
    await page.getByLabel('Only those ticked').check();
    await page.getByRole('checkbox', { name: one?.name ?? '', exact: true }).check();
    await page.getByRole('checkbox', { name: other?.name ?? '', exact: true }).check();
    await page.getByLabel(`Auto-approve for ${other?.name}`).selectOption('off');
    await press(page, 'Create');
    expect(await page.getByLabel(`Auto-approve for ${other?.name}`).inputValue()).toBe('off');
    await press(page, 'Run now');
    expect(sandbox.invoices().map(({ tenantId, status }) => [tenantId, status])).toEqual([
      [one?.tenantId, 'APPROVED'],
      [other?.tenantId, 'DRAFT'],
    ]);
    await page.goto(`${sandbox.pageUrl}schedules/${sandbox.schedules.list()[0]?.scheduleId}`);
    await page.getByLabel('Enabled').uncheck();
    await page.getByLabel(/Runs every/).fill('0.5');
    await press(page, 'Save');
    expect(await problem(page)).toContain('at least 1');
    expect(await page.getByLabel('Enabled').isChecked()).toBe(false);
    await page.getByLabel(/Runs every/).fill('3600');
    await press(page, 'Save');
    expect(sandbox.schedules.list()[0]).toMatchObject({ enabled: false, everySeconds: 3600 });
    await page.getByText('Delete this schedule').click();
    await press(page, 'Delete for good');
    expect(sandbox.schedules.list()).toEqual([]);
  });
});

describe('fault switches', () => {
  test('take rate, count, target and settings, and switch off', async () => {
    const tenant = sandbox.tenants()[2];
    const page = await open('faults', withoutScript);
    await field(page, 'name').selectOption('cut-off-body');
    await field(page, 'rate').fill('12.5');
    await field(page, 'count').fill('3');
    await field(page, 'endpoint').selectOption('details');
    await field(page, 'tenant').selectOption({ label: tenant?.name ?? '' });
    await field(page, 'params').fill('share: 0.25\nclean: true');
    await press(page, 'Switch on');
    expect(sandbox.faults.list()).toMatchObject([
      {
        name: 'cut-off-body',
        rate: 0.125,
        count: 3,
        target: { endpoint: 'details', tenant: tenant?.tenantId },
        params: { share: '0.25', clean: 'true' },
      },
    ]);
    expect(await page.locator('tbody tr').first().textContent()).toContain('12.5 %, 3 times at most');
    await press(page, 'Switch off cut-off-body');
    expect(sandbox.faults.list()).toEqual([]);
    await field(page, 'name').selectOption('drop');
    await field(page, 'count').fill('many');
    await press(page, 'Switch on');
    expect(await problem(page)).toContain('not a number');
    expect(await field(page, 'name').inputValue()).toBe('drop');
    await field(page, 'count').fill('');
    await press(page, 'Switch on');
    await press(page, 'Switch all off');
    expect(sandbox.faults.list()).toEqual([]);
  });
});

describe('the page', () => {
  test('works with the keyboard alone', async () => {
    const page = await open('invoices');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Generate an invoice');
    const isClosed = (await page.locator('details.drawer').getAttribute('open')) === null;
    if (isClosed) await page.keyboard.press('Enter');
    for (let field = 0; field < 3; field += 1) await page.keyboard.press('Tab');
    await page.keyboard.type('7');
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
    expect(sandbox.invoices()[0]?.shipmentCount).toBe(7);
  });

  test('updates without a reload', async () => {
    const page = await open('invoices');
    const { invoiceNumber } = await sandbox.createInvoice({ shipments: 1 });
    await page.getByRole('link', { name: invoiceNumber }).waitFor();
    expect(complaints).toEqual([]);
  });
});

/** The serious and critical findings of axe, by rule and element; what is right stays in the browser. */
async function violations(page: Page, checked: 'everything' | 'colours'): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
  const rules = checked === 'colours' ? "runOnly: ['color-contrast']," : '';
  const run = `axe.run(document, { ${rules} resultTypes: ['violations'] })`;
  const found = (await page.evaluate(`${run}.then(({ violations }) => violations)`)) as axe.Result[];
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}
