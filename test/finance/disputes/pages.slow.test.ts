import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OperatorWork } from '../../../dashboard/operator/operator-work.ts';
import type { RunningDashboard } from '../../../dashboard/server.ts';
import { type Disputes, openDisputes } from '../../../finance/disputes/disputes.ts';
import { atRiskPages } from '../../../finance/disputes/pages/at-risk-pages.ts';
import { disputePages } from '../../../finance/disputes/pages/claim-pages.ts';
import { openAuditLog } from '../../../lib/audit-log.ts';
import { dashboardOver } from '../../dashboard/support.ts';
import { anInvoice, aShipment, type ReportsFixture, reportsFixture } from '../../support/reports-fixture.ts';
import { launchChromium } from '../../support/tools/chromium.ts';
import { cellsOf } from '../../support/tools/read-workbook.ts';

const ANN = { user: 'ann', password: 'ann-may-act' };
const asAnn = { authorization: `Basic ${Buffer.from('ann:ann-may-act').toString('base64')}` };
const twice = (tracking: string, cost: string) =>
  Array.from({ length: 2 }, () => aShipment({ tracking, cost }));
const NASTY = `N"<b>'&`;

let fixture: ReportsFixture;
let disputes: Disputes;
let acting: RunningDashboard;
let showing: RunningDashboard;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  fixture = await reportsFixture([
    anInvoice([...twice('A', '12.5'), ...twice('B', '7.0001'), ...twice(NASTY, '3'), ...twice('D', '2')]),
    anInvoice([aShipment({ tracking: 'A', cost: '-12.5' }), aShipment({ tracking: 'E', cost: '8' })]),
  ]);
  disputes = openDisputes({ dataDir: fixture.folder, databasePath: fixture.path });
  const plugins = [atRiskPages(disputes), disputePages(disputes)];
  const operator = {
    // The pages of claims need nothing of it.
    work: {} as OperatorWork,
    decode: async () => null,
    ...{
      audit: openAuditLog(fixture.folder),
      uploadFolder: join(fixture.folder, 'uploads'),
    },
  };
  acting = await dashboardOver(fixture.path, { plugins, operator, admin: { operators: [ANN] } });
  showing = await dashboardOver(fixture.path, { plugins });
  browser = await launchChromium();
  page = await pageWith({ javaScriptEnabled: false });
});
afterAll(async () => {
  await browser?.close();
  await acting?.close();
  await showing?.close();
  await fixture?.remove();
});

async function pageWith(options: BrowserContextOptions): Promise<Page> {
  const httpCredentials = { username: ANN.user, password: ANN.password };
  const context = await browser.newContext({ httpCredentials, ...options });
  return context.newPage();
}
const listed = async () => [...(await disputes.list()).claims].reverse();
const post = (path: string, fields: [string, string][], headers: Record<string, string> = asAnn) =>
  fetch(`${acting.url}${path}`, { method: 'POST', headers, body: new URLSearchParams(fields) });

describe('claims in pages', { shuffle: false }, () => {
  describe('an operator', () => {
    test('ticks rows of a report, sees what is claimed, and opens the claims, without JavaScript', async () => {
      await page.goto(`${acting.url}/reports/duplicates?carrier=ups`);
      const rows = page.locator('tbody tr').filter({ has: page.locator('input[name=row]') });
      for (const number of ['B', NASTY]) {
        const row = rows.filter({ has: page.getByRole('cell', { name: number, exact: true }) });
        await row.locator('input[name=row]').check();
      }
      await page.getByRole('button', { name: 'Claim the ticked rows' }).click();
      // A click waits until the next page begins to come, which is before its head is there.
      await expect.poll(() => page.title()).toContain('Open 2 claims: 10.0001 USD');
      const content = await page.locator('#content').innerText();
      expect(content).toContain('billed 7.0001, expected 0.0000, claimed 7.0001 USD.');
      expect(content).toContain(`${NASTY} on invoice`);
      expect(await listed()).toEqual([]);
      await page.getByLabel('Note, for yourselves').fill('both are ours');
      await page.getByRole('button', { name: 'Open' }).click();
      expect(await page.getByRole('status').innerText()).toBe('Opened D-1, D-2.');
      expect(await listed()).toMatchObject([
        { id: 'D-1', tracking_number: 'B', note: 'both are ours', state: 'open' },
        { id: 'D-2', tracking_number: NASTY },
      ]);
      const audit = await page.goto(`${acting.url}/operator/audit`);
      expect(await audit?.text()).toContain('disputes open');
    });

    test('sees that a row is claimed already and that no row is selected', async () => {
      await page.goto(`${acting.url}/reports/duplicates`);
      await page.getByRole('button', { name: 'Claim the ticked rows' }).click();
      expect(await page.getByRole('alert').innerText()).toContain('No row is ticked');
      await page.getByRole('link', { name: 'Back' }).click();
      expect(page.url()).toBe(`${acting.url}/reports/duplicates`);
      for (const box of await page.locator('input[name=row]').all()) await box.check();
      await page.getByRole('button', { name: 'Claim the ticked rows' }).click();
      const content = await page.locator('#content').innerText();
      expect(content).toContain('is skipped: it is claimed already, as D-1.');
      await page.getByRole('button', { name: 'Open' }).click();
      expect((await listed()).map(({ tracking_number }) => tracking_number)).toEqual(['B', NASTY, 'D']);
    });

    test('changes a claim on its page, and several on the list, with a note', async () => {
      await page.goto(`${acting.url}/disputes/D-1`);
      await page.getByRole('button', { name: 'Mark as sent' }).click();
      await page.getByLabel('Note, for yourselves').fill('by mail');
      await page.getByRole('button', { name: 'Change' }).click();
      expect(await page.getByRole('status').innerText()).toBe('D-1 is sent, version 2.');
      await page.goto(`${acting.url}/disputes?state=open`);
      await page.getByLabel('D-2', { exact: true }).check();
      await page.getByLabel('D-3', { exact: true }).check();
      await page.getByLabel('The ticked claims become').selectOption('sent');
      await page.getByRole('button', { name: 'Change' }).click();
      await page.getByRole('button', { name: 'Change' }).click();
      expect((await listed()).map(({ state }) => state)).toEqual(['sent', 'sent', 'sent']);
      await page.goto(`${acting.url}/disputes/D-1`);
      await page.getByRole('button', { name: 'Add a note' }).click();
      await page.getByLabel('Note, for yourselves').fill('case 4711');
      await page.getByRole('button', { name: 'Add the note' }).click();
      const claim = await (await page.goto(`${acting.url}/disputes/D-1`))?.text();
      for (const text of ['case 4711', 'by mail', 'both are ours', '>ann<']) expect(claim).toContain(text);
    });

    test('is refused after another user changed the claim', async () => {
      await page.goto(`${acting.url}/disputes/D-2`);
      await page.getByRole('button', { name: 'Mark as rejected' }).click();
      await disputes.change({ claims: [{ id: 'D-2', version: 2 }], state: 'credited', note: '', by: 'bob' });
      await page.getByRole('button', { name: 'Change' }).click();
      expect(await page.getByRole('alert').innerText()).toMatch(
        /D-2 has changed: bob made it version 3 \(credited\)/,
      );
      expect((await listed())[1]).toMatchObject({ state: 'credited', version: 3 });
    });

    test('takes the file of a carrier from the list', async () => {
      await page.goto(`${acting.url}/disputes?carrier=UPS&state=sent`);
      const address = await page.getByRole('link', { name: 'XLSX for UPS' }).getAttribute('href');
      const file = await fetch(new URL(address ?? '', acting.url));
      expect(file.headers.get('content-disposition')).toBe('attachment; filename="claims-UPS.xlsx"');
      const cells = cellsOf(new Uint8Array(await file.arrayBuffer()));
      expect(cells.map(([id, , number]) => [id, number])).toEqual([
        ['Our reference', 'Tracking number'],
        ['D-1', 'B'],
        ['D-3', 'D'],
      ]);
      const none = await fetch(`${acting.url}/disputes/export?state=rejected`);
      expect([none.status, await none.text()]).toEqual([
        400,
        expect.stringContaining('Nothing is claimed by these claims'),
      ]);
    });
  });

  describe('other users', () => {
    const choose: [string, string][] = [
      ['report', 'duplicates'],
      ['query', '{"filters":{},"parameters":{}}'],
      ['row', 'x'],
    ];

    test.each([
      ['without a password', {}, 401],
      ['from a page of another site', { ...asAnn, origin: 'https://evil.example' }, 403],
      ['from a site that the browser names', { ...asAnn, 'sec-fetch-site': 'cross-site' }, 403],
    ])('are answered %s', async (_, headers, status) => {
      for (const path of ['/disputes/choose', '/disputes/change'])
        expect((await post(path, choose, headers)).status).toBe(status);
    });

    test('a form only offers: without the token of the confirmation nothing is changed', async () => {
      const before = await listed();
      const offered = await post('/disputes/change', [
        ['claim', 'D-3:2'],
        ['state', 'closed'],
      ]);
      expect([offered.status, await offered.text()]).toEqual([200, expect.stringContaining('name="token"')]);
      expect((await post('/operator/act', [['token', 'x']])).status).toBe(409);
      expect(await listed()).toEqual(before);
    });

    test.each([
      ['/disputes/choose', [['report', 'cost']], 'The form is not one of ours'],
      [
        '/disputes/choose',
        [
          ['report', 'duplicates'],
          ['query', '{'],
        ],
        'The form is not one of ours',
      ],
      ['/disputes/choose', choose, 'Nothing can be claimed'],
      [
        '/disputes/change',
        [
          ['state', 'lost'],
          ['claim', 'D-1:1'],
        ],
        'There is no such state',
      ],
      ['/disputes/change', [['state', 'sent']], 'No claim is ticked'],
      [
        '/disputes/change',
        [
          ['state', 'sent'],
          ['claim', 'D-99:1'],
        ],
        'There is no such claim',
      ],
      [
        '/disputes/change',
        [
          ['state', 'open'],
          ['claim', 'D-3:2'],
        ],
        'so it cannot become open',
      ],
    ] as [string, [string, string][], string][])(
      '%s with %j is refused: %s',
      async (path, fields, message) => {
        const answer = await post(path, fields);
        expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining(message)]);
      },
    );

    test('shows pages without forms when no operator is configured', async () => {
      for (const path of ['/disputes', '/disputes/D-1', '/reports/duplicates']) {
        const html = await (await fetch(`${showing.url}${path}`)).text();
        expect(html).toContain('href="/disputes"');
        expect(html).not.toMatch(/method="post"|name="row"|name="claim"/);
      }
      const refused = await fetch(`${showing.url}/disputes/choose`, { method: 'POST' });
      expect(refused.status).toBe(404);
      expect((await fetch(`${showing.url}/disputes/D-99`)).status).toBe(404);
      const data = await (await fetch(`${showing.url}/disputes?format=json&state=sent`)).json();
      expect(data).toMatchObject({
        claims: [{ id: 'D-3' }, { id: 'D-1', claimed: '7.0001', recovered: '0.0000' }],
        totals: [{ currency_code: 'USD', claims: 2, claimed: '9.0001' }],
      });
    });
  });

  test('the pages have no barrier for axe, wide, narrow and dark, fetch nothing and log nothing', async () => {
    const looked = await pageWith({});
    const logged: string[] = [];
    const strangers: string[] = [];
    looked.on('console', (message) => logged.push(message.text()));
    looked.on('request', (request) => {
      if (!request.url().startsWith(acting.url)) strangers.push(request.url());
    });
    for (const path of [
      '/disputes',
      '/disputes?state=sent',
      '/disputes/D-1',
      '/reports/duplicates',
      '/disputes?state=rejected',
    ]) {
      for (const [width, colorScheme] of [
        [1280, 'light'],
        [390, 'dark'],
      ] as const) {
        await looked.emulateMedia({ colorScheme });
        await looked.setViewportSize({ width, height: 900 });
        await looked.goto(`${acting.url}${path}`);
        await looked.evaluate(axe.source);
        const found = await looked.evaluate(
          'axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))',
        );
        expect(found, `${path} ${width}`).toEqual([]);
        const overflow = await looked.evaluate('document.documentElement.scrollWidth > innerWidth');
        expect(overflow, `${path} ${width}`).toBe(false);
      }
    }
    expect([strangers, logged]).toEqual([[], []]);
  });

  test('money at risk counts each line once, and names what became of it', async () => {
    const answer = await fetch(
      `${acting.url}/money-at-risk?state=all&from=2020-01-01&to=2030-01-01&format=json`,
      {
        headers: asAnn,
      },
    );
    const { lines } = (await answer.json()) as {
      lines: { invoice_id: string; row_number: number; state: string; claim_id: string | null }[];
    };
    const keys = lines.map(({ invoice_id, row_number }) => `${invoice_id}:${row_number}`);
    expect(keys.length).toBeGreaterThan(0);
    expect(new Set(keys).size).toBe(keys.length);
    const claims = await disputes.list();
    const claimed = lines.filter(({ claim_id }) => claim_id !== null);
    expect(claimed).not.toEqual([]);
    for (const { claim_id, state } of claimed)
      expect([claims.claims.some(({ id }) => id === claim_id), state], claim_id ?? '').toEqual([
        true,
        expect.not.stringMatching('new'),
      ]);
  });
});
