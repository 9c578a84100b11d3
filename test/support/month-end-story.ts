/**
 * The end of a month at the dashboard, click by click from the overview: last month by carrier against the month before, why it
 * changed, which charges to question, and these in Excel. A test goes this way, and docs/pictures shows it.
 */

import type { Page } from 'playwright-core';

export interface Step {
  /** Of its picture, where there is something to see. */
  readonly name: string;
  readonly isFile?: boolean;
  /** One click, with which a page is reached or a file is had. */
  readonly click: (page: Page) => Promise<void>;
  readonly sees: (page: Page) => Promise<boolean>;
}

export const MOST_CLICKS = 8;

/** Of the first row's numbers: how many lines, and what they charged. */
const CHARGED = 1;

let saved = '';
let charged = '';

const heads = async (page: Page): Promise<string> =>
  (await page.locator('table thead').first().innerText()) ?? '';
const follow = async (page: Page, link: string): Promise<void> => {
  await page.getByRole('link', { name: link, exact: true }).first().click();
  await page.waitForLoadState();
};

export const MONTH_END: readonly Step[] = [
  {
    name: 'month-end-1-by-carrier',
    click: (page) => follow(page, 'Carriers'),
    sees: async (page) => /Billing\s+cost\s+Billing\s+cost\s+before\s+Difference/.test(await heads(page)),
  },
  {
    name: 'month-end-2-why',
    click: (page) => follow(page, 'Why did it change?'),
    sees: async (page) => {
      const steps = await page.locator('tbody tr').allInnerTexts();
      return ['first period', 'volume', 'price', 'mix', 'second period'].every((step) =>
        steps.some((row) => row.includes(`ups\t${step}`)),
      );
    },
  },
  {
    name: 'month-end-3-which-charges',
    click: (page) => follow(page, 'Charged more than once'),
    sees: async (page) => {
      charged = (await page.locator('tbody td.number a').nth(CHARGED).innerText()) ?? '';
      return page.url().includes('/reports/duplicates?from=') && charged !== '';
    },
  },
  {
    name: 'month-end-4-in-excel',
    isFile: true,
    async click(page) {
      const download = page.waitForEvent('download');
      await page.getByText('Download', { exact: true }).click();
      await page.getByRole('link', { name: 'Excel', exact: true }).click();
      saved = (await download).suggestedFilename();
    },
    sees: async () => /^duplicates_\d{4}-\d{2}-\d{2}_\d{4}-\d{2}-\d{2}\.xlsx$/.test(saved),
  },
  {
    name: 'month-end-5-its-lines',
    async click(page) {
      await page.locator('tbody td.number a').nth(CHARGED).click();
      await page.waitForLoadState();
    },
    sees: async (page) =>
      (await page.locator('table.totals tbody').innerText()).split(/\s+/).includes(charged),
  },
];
