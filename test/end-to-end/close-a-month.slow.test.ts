import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OperatorWork } from '../../dashboard/operator/operator-work.ts';
import type { RunningDashboard } from '../../dashboard/server.ts';
import { checklistOf } from '../../finance/closing/checklist.ts';
import { closePages } from '../../finance/closing/close-pages.ts';
import { recordMonth } from '../../finance/closing/month-journal.ts';
import { checkClosedMonths, restatedSums } from '../../finance/closing/restated.ts';
import { openDisputes } from '../../finance/disputes/disputes.ts';
import { atRiskPages } from '../../finance/disputes/pages/at-risk-pages.ts';
import { disputePages } from '../../finance/disputes/pages/claim-pages.ts';
import { filePages } from '../../finance/given-files/file-pages.ts';
import { statementPages } from '../../finance/statements/page/statement-pages.ts';
import { openAuditLog } from '../../lib/audit-log.ts';
import { readGaps } from '../../worker/publication-listeners.ts';
import { dashboardOver, SILENT } from '../dashboard/support.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { monthOf25Tenants, TENANTS } from '../support/month-of-25-tenants.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { anInvoice, aShipment, type ReportsFixture, reportsFixture } from '../support/reports-fixture.ts';
import { barriers } from '../support/tools/barriers.ts';
import { launchChromium } from '../support/tools/chromium.ts';

const ANN = { username: 'ann', password: 'ann-may-act' };
const LATER = new Date('2026-12-02T12:00:00Z');
const NOW = new Date('2026-11-28T12:00:00Z');
const RATES = 'carrier,service_level,zone,from_lb,to_lb,currency_code,rate\nups,Ground,5,0,10,USD,12.1000\n';

let fixture: ReportsFixture;
let later: ReportsFixture;
let dashboard: RunningDashboard;
let browser: Browser;
let page: Page;
let clicks = 0;

beforeAll(async () => {
  const invoices = monthOf25Tenants();
  fixture = await reportsFixture(invoices, { publishedAt: '2026-11-28T00:00:00Z' });
  const line = aShipment({ shipDate: '2026-10-15', invoiceDate: '2026-11-30', cost: '12.5000' });
  const late = anInvoice([line], {
    number: 'INV-LATE',
    date: '2026-11-30',
    loadedAt: '2026-11-30T12:00:00Z',
  });
  later = await reportsFixture([...invoices, late], { publishedAt: '2026-12-02T00:00:00Z' });
  const place = { dataDir: fixture.folder, databasePath: fixture.path, now: () => NOW };
  const disputes = openDisputes(place);
  dashboard = await dashboardOver(fixture.path, {
    plugins: [
      ...[atRiskPages(disputes, place.now), disputePages(disputes, place.now), filePages(place)],
      statementPages({ ...place, timeLimitMs: 60_000 }),
      closePages({ ...place, timeLimitMs: 60_000, disputes }),
    ],
    operator: {
      ...{ work: {} as OperatorWork, decode: async () => null },
      ...{ audit: openAuditLog(fixture.folder), uploadFolder: join(fixture.folder, 'uploads') },
    },
    admin: { operators: [{ user: ANN.username, password: ANN.password }] },
  });
  browser = await launchChromium();
  page = await (await browser.newContext({ httpCredentials: { ...ANN, send: 'always' } })).newPage();
});
afterAll(async () => {
  await browser?.close();
  await dashboard?.close();
  await fixture?.remove();
  await later?.remove();
});

const go = async (path: string): Promise<void> => {
  await page.goto(`${dashboard.url}${path}`);
};
/** By the keyboard: focus and Enter, as a person without a mouse does. */
const press = async (role: 'link' | 'button', name: string | RegExp): Promise<void> => {
  clicks += 1;
  await page.getByRole(role, { name, exact: true }).first().press('Enter');
  await page.waitForLoadState();
};
interface Total {
  readonly currency_code: string;
  readonly billed: string;
}
interface Json {
  readonly rows: readonly Readonly<Record<string, string>>[];
  readonly head: { readonly notes: readonly string[] };
  readonly items: readonly {
    readonly title: string;
    readonly open: readonly { readonly text: string }[];
  }[];
  readonly gaps: readonly object[];
  readonly lines: readonly object[];
  readonly statements: readonly { readonly tenant: string; readonly totals: readonly Total[] }[];
  readonly closing: { readonly totals: readonly Total[] };
}
const units = (amount = '0'): bigint => BigInt(amount.replace('.', ''));
const decimal = (amount: bigint): string => String(amount).replace(/(\d{4})$/, '.$1');
const heading = async (): Promise<string> => page.locator('h1').innerText();
const json = async (path: string): Promise<Json> =>
  (
    await fetch(`${dashboard.url}${path}`, { headers: { accept: 'application/json' } })
  ).json() as Promise<Json>;
const command = async (...args: readonly string[]) => {
  const { stdout, stderr, exitCode } = await runCommand([...args, '--data-dir', fixture.folder]);
  return { stdout, stderr, exitCode };
};

async function give(name: string, content: string): Promise<void> {
  await page
    .locator('input[type=file]')
    .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(content) });
  await press('button', 'Check it');
}

test('a month of 25 tenants is closed in the pages, by the keyboard, with the figures of the commands', async () => {
  clicks = 0;
  // The rates: a wrong file names each wrong line, a right one what it matches; both as the command says it.
  await go('/money-at-risk');
  await press('link', /^Files$/);
  await press('link', 'Agreed rates');
  await give('rates.csv', `${RATES}ups,,,,,USDD,x\n`);
  const refusal = await page.getByRole('alert').innerText();
  expect(refusal).toMatch(/line 3: currency_code is "USDD".*\n.*line 3: rate is "x"/);
  await press('link', 'Back');
  await give('rates.csv', RATES);
  const preview = await page.getByRole('region', { name: 'What will happen' }).innerText();
  expect(preview).toContain('1 of 1 rows matched');
  await press('button', 'Store');
  const stored = await command('user-files', 'show', 'report-files/rates.csv');
  expect(stored.exitCode).toBe(0);
  expect(await readFile(join(fixture.folder, 'user/report-files/rates.csv'), 'utf8')).toBe(RATES);

  // Statements: the table has the amounts of the command; 23 are complete, and two are sent with a reason.
  await press('link', /^Statements$/);
  expect(await heading()).toBe('Statements of October 2026');
  expect(await barriers(page)).toEqual([]);
  const listed = await json('/statements?period=2026-10&format=json');
  const reported = await command('report', 'tenants', '--period', '2026-10', '--level', 'tenant', '--json');
  const rows = JSON.parse(reported.stdout) as readonly Record<string, string>[];
  expect(
    listed.statements
      .flatMap(({ tenant, totals }) =>
        totals.map(({ currency_code, billed }) => [tenant, currency_code, billed]),
      )
      .sort(),
  ).toEqual(rows.map((row) => [row.tenant, row.currency_code, row.billing_cost]).sort());
  await press('button', 'Send all 23 that are complete');
  await press('button', 'Send');
  expect(await page.getByRole('status').innerText()).toBe('23 statements of 2026-10 sent.');
  await press('link', 'Back');
  await page.getByLabel('Tick all').press('Space');
  clicks += 1;
  await press('button', 'Send the ticked statements');
  await page
    .getByLabel('Why they are sent incomplete; they contain it')
    .fill('The carrier answers in December.');
  await press('button', 'Send');
  await press('link', 'Back');
  expect(await page.locator('.answer').innerText()).toBe('25 tenants: 25 sent.');
  const sent = await readdir(join(fixture.folder, 'user/sent-statements'));
  expect(sent.filter((name) => name !== 'all-tenants')).toHaveLength(TENANTS.length);

  // Findings: they are dismissed with a reason, and one is taken back.
  const ofOctober = '/money-at-risk?from=2026-10-01&to=2026-10-31';
  await expect
    .poll(async () => {
      await go(ofOctober);
      return page.locator('.answer').count();
    })
    .toBe(1);
  expect(await barriers(page)).toEqual([]);
  await press('button', /^Dismiss all \d+ that are new$/);
  await page.getByLabel('Why').fill('Agreed with the carriers.');
  await press('button', 'Dismiss');
  expect(await page.getByRole('status').innerText()).toMatch(/^Dismissed \d+\.$/);
  await go(`${ofOctober}&risk=duplicates&state=dismissed`);
  expect(await page.getByRole('region', { name: 'Lines at risk' }).innerText()).toContain(
    'Agreed with the carriers. (ann)',
  );
  await page
    .getByRole('checkbox', { name: /^TWICE on/ })
    .first()
    .press('Space');
  await press('button', 'Restore the ticked rows');
  await press('button', 'Restore');
  clicks += 1;

  // The checklist: two invoices, two gaps and a finding stay open, so the closing has a reason.
  await press('link', /^Close a month$/);
  expect(await heading()).toBe('Close October 2026');
  expect(await barriers(page)).toEqual([]);
  const points = async (): Promise<string> => page.getByLabel('Checklist').innerText();
  expect(await points()).toMatch(
    /2 open\s+Invoices in\s+INV-04-16: not approved yet\s+INV-05-16: being checked/,
  );
  expect(await points()).toMatch(/1 open\s+Findings handled\s+Billed twice: 1 line, 12\.\d{2} USD/);
  expect(await points()).toMatch(/done\s+Statements sent/);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export the reports' }).press('Enter');
  clicks += 1;
  expect((await download).suggestedFilename()).toBe('reports-2026-10.zip');
  await go('/close?period=2026-10');
  expect(await points()).toMatch(/done\s+Reports exported/);
  await press('button', 'Close the month');
  await page.getByLabel('Why it is closed with open points').fill('They follow in November.');
  await press('button', 'Close the month');
  expect(await page.getByRole('status').innerText()).toBe('2026-10 is closed.');
  await press('link', 'Back');
  expect(await page.locator('#content').innerText()).toContain('by ann: They follow in November.');
  const { closing } = await json('/close?period=2026-10&format=json');
  const summary = await command('report', 'summary', '--period', '2026-10', '--level', 'tenant', '--json');
  const months = JSON.parse(summary.stdout) as readonly Record<string, string>[];
  expect(closing.totals.map(({ currency_code, billed }) => [currency_code, billed])).toEqual(
    months.map((month) => [month.currency_code, month.billing_cost]).sort(),
  );
  const { stdout: log } = await command('audit', 'list', '--ndjson');
  expect(log).toContain('"action":"close"');

  // An invoice that comes later is a line of the next month, and an alert until that one is closed.
  const { alerts, open, raised } = memoryAlerts();
  const after = { dataDir: fixture.folder, databasePath: later.path, timeLimitMs: 60_000, now: () => LATER };
  const watched = { ...after, alerts, log: SILENT };
  await checkClosedMonths({ ...watched, databasePath: fixture.path });
  expect(raised).toEqual([]);
  await checkClosedMonths(watched);
  expect(open.get('month-restated/2026-10')?.detail).toBe('INV-LATE (loaded) 12.5000 USD');
  const disputes = openDisputes(after);
  const { restated, publication, publishedAt } = await checklistOf(
    { ...after, disputes },
    { period: '2026-11', by: 'ship-date' },
  );
  expect(restated.map(({ period, tenant, difference }) => [period, tenant, difference])).toEqual([
    ['2026-10', 'Acme', '12.5000'],
  ]);
  await recordMonth(fixture.folder, {
    ...{
      kind: 'closed',
      period: '2026-11',
      at: LATER.toISOString(),
      by: 'ann',
      reason: '',
      date_basis: 'ship-date',
    },
    ...{ publication, published_at: publishedAt, totals: [], open: [], restated: restatedSums(restated) },
  });
  await checkClosedMonths(watched);
  expect([...open.keys()]).toEqual([]);

  expect(clicks).toBeLessThanOrEqual(27);
});

test('amounts in one reporting currency are those of the command, with each rate and its day; a missing rate is said', async () => {
  const given = join(fixture.folder, 'given.csv');
  await writeFile(given, 'month,from_currency,to_currency,rate,day\n2026-10,CAD,USD,0.73,2026-10-31\n');
  await command('user-files', 'put', 'report-files/fx.csv', given);
  const asked = ['report', 'cost', '--period', '2026-10', '--param', 'by=carrier', '--param', 'in=usd'];
  const { stdout, stderr } = await command(...asked, '--json');
  const rows = JSON.parse(stdout) as Json['rows'];
  const shown = await json('/reports/cost?period=2026-10&p_by=carrier&p_in=USD&format=json');
  const amounts = (of: Json['rows']) =>
    of.map((row) => [row.carrier, row.currency_code, row.converted_cost, row.unconverted]);
  expect(amounts(shown.rows)).toEqual(amounts(rows));
  expect(rows.map(({ currency_code, converted_cost }) => [currency_code, converted_cost])).toEqual(
    rows.map(({ currency_code, billing_cost }) => {
      const rate = { CAD: 73n, USD: 100n }[currency_code ?? ''];
      return [currency_code, rate === undefined ? null : decimal((units(billing_cost) * rate + 50n) / 100n)];
    }),
  );
  const total = rows.reduce((sum, row) => sum + units(row.converted_cost ?? '0'), 0n);
  const [sum, left] = shown.head.notes;
  expect(sum).toMatch(
    /^In USD: [\d,.]+ for \d+ shipments, with the rates CAD 0\.73 \(of 2026-10-31, for 2026-10\)\.$/,
  );
  expect(units(/[\d,.]+\d/.exec(sum ?? '')?.[0].replaceAll(',', ''))).toBe(total);
  expect(left).toMatch(
    /^Not in any amount in USD: \d+ shipments in JPY of 2026-10, for which no exchange rate is given/,
  );
  for (const note of [sum, left]) expect(stderr).toContain(note);
  await go('/reports/carriers?period=2026-10&p_in=USD');
  expect(await page.getByLabel('Notes').innerText()).toContain(left);
  await press('link', 'Give the file of fx');
  expect(await heading()).toBe('Exchange rates');
});

test('a gap is answered with a reason, which is kept, and is open again by a click', async () => {
  const openGaps = async (): Promise<number> =>
    (await json('/close?period=2026-10&format=json')).items.find(({ title }) => title === 'Gaps answered')
      ?.open.length ?? 0;
  const before = await openGaps();
  expect(before).toBeGreaterThan(0);
  const decide = async (label: 'Answer' | 'Reopen'): Promise<void> => {
    await go('/reports/gaps?from=2026-10-01&to=2026-10-31');
    await page.getByLabel('Row 1', { exact: true }).press('Space');
    await press('button', 'Answer or reopen the ticked gaps');
    if (label === 'Answer') await page.getByLabel('Why nothing is missing').fill('It was never used.');
    await press('button', label);
  };
  const elsewhere = async () => [
    (await readGaps(fixture.path)).length,
    (await json('/?format=json')).gaps.length,
  ];
  const [alerted = 0, listed = 0] = await elsewhere();
  await decide('Answer');
  expect(await openGaps()).toBe(before - 1);
  expect(await elsewhere()).toEqual([alerted - 1, listed - 1]);
  await go('/reports/gaps?from=2026-10-01&to=2026-10-31');
  expect(await page.getByRole('region', { name: 'Rows of the report' }).innerText()).toContain(
    'It was never used. (ann)',
  );
  await decide('Reopen');
  expect(await openGaps()).toBe(before);
});

test('the findings of a month that is closed by invoice date are those of these dates', async () => {
  const found = async (by: string): Promise<number> =>
    (await json(`/money-at-risk?from=2026-10-01&to=2026-10-31&by=${by}&format=json`)).lines.length;
  const { items } = await json('/close?period=2026-10&by=invoice-date&format=json');
  const { open = [] } = items.find(({ title }) => title === 'Findings handled') ?? {};
  const counted = open.map(({ text }) => Number(/^(\d+) lines?/.exec(text)?.[1] ?? 0));
  expect(counted.reduce((sum, count) => sum + count, 0)).toBe(await found('invoice-date'));
  expect(await found('invoice-date')).not.toBe(await found('ship-date'));
});
