import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CSV_HEADERS } from '../../lib/wire/csv-file.ts';
import { listReports } from '../../reports/catalogue.ts';
import { attackEach } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { billsync, type RunningRole, startRole } from '../support/processes/billsync.ts';

const LINES = 300_000;
const INVOICE = '11111111-2222-4333-8444-555555555500';
const MAX_BYTES = 600_000;
/** The limit of a page's queries; a busy machine takes a multiple of the usual 1 to 6 s. */
const MAX_SECONDS = 60;
/** DuckDB's share of a reader is 1.5 GB. */
const MAX_MEMORY_KB = 3_500_000;

const folder = testFolder();
const env = { BILLSYNC_DATA_DIR: join(folder, 'data') };
let dashboard: RunningRole;
let url = '';

/** Every line has a carrier, a zone, a service and an origin of its own, as in a file whose columns are shifted. */
async function writeWideInvoice(path: string): Promise<void> {
  const file = createWriteStream(path);
  file.write(`${CSV_HEADERS.join(',')}\r\n`);
  for (let line = 0; line < LINES; line += 1) {
    const day = String(1 + (line % 28)).padStart(2, '0');
    const cost = `${1 + (line % 90)}.${String(line % 100).padStart(2, '0')}`;
    const zone = `1Z${String(line).padStart(12, '0')}`;
    file.write(
      `Acme,2026-10-05,${INVOICE},2026-09-${day},O${line},USD,${cost},${1 + (line % 70)}.5,LB,1Y${line},carrier ${line},${zone},2026-10-01,service ${line}\r\n`,
    );
  }
  file.end();
  await finished(file);
}

beforeAll(async () => {
  const path = join(folder, 'wide.csv');
  await writeWideInvoice(path);
  expect(await billsync(['import', path], { env })).toMatchObject({ exitCode: 0 });
  dashboard = await startRole(['dashboard', '--port', '0'], { env });
  url = String(dashboard.addresses.dashboard).replace(/\/$/, '');
}, 600_000);
afterAll(() => dashboard.end('SIGTERM'));

const peakKb = (): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${dashboard.child.pid}/status`, 'utf8'))?.[1]);

async function open(path: string): Promise<{ status: number; text: string; seconds: number }> {
  const began = performance.now();
  const answer = await fetch(`${url}${path}`);
  const text = await answer.text();
  return { status: answer.status, text, seconds: (performance.now() - began) / 1_000 };
}

test('every page of one wide invoice is bounded in size, time and memory', async () => {
  const pages = [
    ...['/', '/invoices', `/invoices/${INVOICE}`, '/events', '/alerts', '/views', '/quarantine', '/health'],
    ...['/shipments', '/search?q=carrier', '/reports', '/disputes', '/statements'],
    ...listReports().map(({ name }) => `/reports/${name}`),
  ];
  await attackEach('pages of a wide invoice', pages, async (path) => {
    const { status, text, seconds } = await open(path);
    const isBounded = Buffer.byteLength(text) < MAX_BYTES && seconds < MAX_SECONDS;
    if (!isBounded || status !== 200) console.error(path, status, text.length, seconds);
    return isBounded && status === 200;
  });
  expect(peakKb()).toBeLessThan(MAX_MEMORY_KB);
}, 1_800_000);

test('lists say how many values they leave out, and a field takes another one', async () => {
  const { text } = await open('/shipments');
  expect(text).toContain('200 of 300,000, the largest; another one:');
  const one = await open('/shipments?other_carrier=carrier+299999&other_zone=');
  expect(one.text).toContain('carrier 299999');
  expect(one.text).not.toContain('carrier 299998');
  expect((await open('/reports/carriers')).text).toContain('300,000');
  // A slow page is sent in parts, and its status before the rows are read.
  const compared = await open('/reports/carriers?from=2026-09-02&to=2026-09-03&compare=previous');
  expect(compared.text).toContain('narrow it by a filter');
}, 600_000);

test('fourteen readers at once take no more memory than one', async () => {
  const paths = Array.from(
    { length: 14 },
    (_, nth) => `/shipments?from=2026-09-${String(nth + 1).padStart(2, '0')}`,
  );
  const answers = await Promise.all(paths.map(open));
  expect(answers.every(({ status, text }) => status === 200 && Buffer.byteLength(text) < MAX_BYTES)).toBe(
    true,
  );
  expect(peakKb()).toBeLessThan(MAX_MEMORY_KB);
}, 600_000);
