/**
 * Takes the pictures of docs/pictures from a running `billsync up --sandbox` that was seeded and has an operator:
 * `scripts/run scripts/take-pictures.ts http://127.0.0.1:9090/ https://127.0.0.1:PORT/ USER:PASSWORD` (`up` prints both addresses).
 */

import { join } from 'node:path';
import { MONTH_END } from '../test/support/month-end-story.ts';
import { launchChromium } from '../test/support/tools/chromium.ts';

const [dashboard, sandbox, operator] = process.argv.slice(2);
if (dashboard === undefined || sandbox === undefined || operator === undefined) {
  process.stderr.write('Name the addresses of the dashboard and of the sandbox, and an operator.\n');
  process.exit(2);
}
const [username = '', password = ''] = operator.split(':');
const folder = join(import.meta.dirname, '..', 'docs', 'pictures');
const browser = await launchChromium();
const context = await browser.newContext({
  ...{ ignoreHTTPSErrors: true, httpCredentials: { username, password } },
  viewport: { width: 1280, height: 800 },
});

context.setDefaultTimeout(120_000);

async function take(name: string, url: string, height: number): Promise<void> {
  const page = await context.newPage();
  await page.setViewportSize({ width: 1280, height });
  await page.goto(url, { waitUntil: 'networkidle' });
  while ((await page.getByText('being read').count()) > 0) await page.waitForTimeout(1_000);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.close();
}

await take('dashboard', dashboard, 1000);
await take('report', new URL('/reports/carriers', dashboard).href, 800);
await take('invoices', new URL('/invoices', dashboard).href, 600);
await take('sandbox', sandbox, 620);
const page = await context.newPage();
await page.goto(dashboard);
for (const { name, click, isPicture = false } of MONTH_END) {
  await click(page);
  if (isPicture) await page.screenshot({ path: join(folder, `${name}.png`) });
}
await take('disputes', new URL('/disputes', dashboard).href, 760);
await take('close-1-files', new URL('/files', dashboard).href, 760);
await take('close-2-statements', new URL('/statements', dashboard).href, 760);
await take('close-3-checklist', new URL('/close', dashboard).href, 1000);
await browser.close();
