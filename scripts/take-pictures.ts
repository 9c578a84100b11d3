/**
 * Takes the pictures of docs/pictures from a running `billsync up --sandbox` that was seeded:
 * `scripts/run scripts/take-pictures.ts http://127.0.0.1:9090/ https://127.0.0.1:PORT/` (dashboard, sandbox; `up` prints both).
 */

import { join } from 'node:path';
import { MONTH_END } from '../test/support/month-end-story.ts';
import { launchChromium } from '../test/support/tools/chromium.ts';

const [dashboard, sandbox] = process.argv.slice(2);
if (dashboard === undefined || sandbox === undefined) {
  process.stderr.write('Name the addresses of the dashboard and of the sandbox.\n');
  process.exit(2);
}
const PICTURES = [
  ['dashboard', dashboard, 1000],
  ['report', new URL('/reports/carriers', dashboard).href, 900],
  ['invoices', new URL('/invoices', dashboard).href, 560],
  // Of claims that were opened before: `billsync disputes open duplicates --all`.
  ['disputes', new URL('/disputes', dashboard).href, 760],
  ['sandbox', sandbox, 400],
] as const;

const browser = await launchChromium();
const context = await browser.newContext({ ignoreHTTPSErrors: true });
for (const [name, url, height] of PICTURES) {
  const page = await context.newPage();
  await page.setViewportSize({ width: 1280, height });
  await page.goto(url, { waitUntil: 'networkidle' });
  await page.screenshot({ path: join(import.meta.dirname, '..', 'docs', 'pictures', `${name}.png`) });
}
const page = await context.newPage();
await page.setViewportSize({ width: 1280, height: 1300 });
await page.goto(dashboard);
for (const { name, click, isFile = false } of MONTH_END) {
  await click(page);
  if (isFile) continue;
  await page.screenshot({ path: join(import.meta.dirname, '..', 'docs', 'pictures', `${name}.png`) });
}
await browser.close();
