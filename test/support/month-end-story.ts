/**
 * The end of a month at the dashboard, click by click from the overview: last month by carrier against the month before, why it
 * changed, which lines can be claimed, the claim, and the comparison in Excel. A test performs it, and docs/pictures shows it.
 */

import type { Page } from 'playwright-core';

export interface Step {
  readonly name: string;
  readonly isPicture?: boolean;
  /** Clicks that reach a page or download a file. */
  readonly clicks: number;
  readonly click: (page: Page) => Promise<void>;
  readonly sees: (page: Page) => Promise<boolean>;
}

export const MAX_CLICKS = 8;

let saved = '';

const heads = async (page: Page): Promise<string> =>
  (await page.locator('[aria-label="Rows of the report"] thead').innerText()) ?? '';
const follow = async (page: Page, link: string | RegExp): Promise<void> => {
  await page.getByRole('link', { name: link, exact: true }).first().click();
  await page.waitForLoadState();
};
const press = async (page: Page, button: string | RegExp): Promise<void> => {
  await page.getByRole('button', { name: button, exact: true }).click();
  await page.waitForLoadState();
};

export const MONTH_END: readonly Step[] = [
  {
    name: 'month-end-1-by-carrier',
    isPicture: true,
    clicks: 1,
    click: (page) => follow(page, 'Carriers'),
    sees: async (page) =>
      /Billing\s+cost\s+Billing\s+cost\s+before\s+Difference/.test(await heads(page)) &&
      /[\d.]+ % (less|more) than/.test(await page.locator('.answer').innerText()),
  },
  {
    name: 'month-end-2-in-excel',
    clicks: 2,
    async click(page) {
      const download = page.waitForEvent('download');
      await page.getByText('Download', { exact: true }).click();
      await page.getByRole('link', { name: 'Excel', exact: true }).click();
      saved = (await download).suggestedFilename();
    },
    sees: async () => /^cost_\d{4}-\d{2}-\d{2}_\d{4}-\d{2}-\d{2}\.xlsx$/.test(saved),
  },
  {
    name: 'month-end-3-why',
    isPicture: true,
    clicks: 1,
    click: (page) => follow(page, 'Why did it change?'),
    sees: async (page) => {
      const steps = await page.locator('tbody tr').allInnerTexts();
      return ['first period', 'volume', 'price', 'mix', 'second period'].every((step) =>
        steps.some((row) => row.includes(`ups\t${step}`)),
      );
    },
  },
  {
    name: 'month-end-4-money-at-risk',
    isPicture: true,
    clicks: 1,
    click: (page) => follow(page, /^Money at risk/),
    sees: async (page) => /can still be claimed/.test(await page.locator('.answer').innerText()),
  },
  {
    name: 'month-end-5-what-is-claimed',
    clicks: 1,
    click: (page) => press(page, /^Claim all \d+ that are new$/),
    sees: async (page) => /^Open \d+ claims: /.test(await page.locator('h1').innerText()),
  },
  {
    name: 'month-end-6-opened',
    clicks: 1,
    click: (page) => press(page, 'Open'),
    sees: async (page) => /^Opened D-1, /.test(await page.getByRole('status').innerText()),
  },
  {
    name: 'month-end-7-claim',
    isPicture: true,
    clicks: 1,
    click: (page) => follow(page, 'Claim D-1'),
    sees: async (page) => (await page.locator('h1').innerText()) === 'Claim D-1',
  },
];
