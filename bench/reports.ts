/** Times every report against the barest scan that groups alike, and every page of the dashboard, on one large file. */

import { constants } from 'node:fs';
import { copyFile, mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { type RunningDashboard, startDashboard } from '../dashboard/server.ts';
import { createHealth } from '../ops/health.ts';
import { createMetrics } from '../ops/metrics.ts';
import { listReports } from '../reports/catalogue.ts';
import { openPublishedFile } from '../reports/published-file.ts';
import { openReportSession } from '../reports/report-session.ts';
import { makePublished } from './support/make-published.ts';
import { median } from './support/ratios.ts';

export const summary =
  'each report against a bare scan with the same grouping, and the pages, on 5 million shipments (--shipments N, --file PATH, --only NAME, --pages-only)';

/**
 * What a report groups by, as its floor does; reports of other grain name the nearest that reads the same columns.
 * null: it lists invoices and groups nothing, so there is no floor to hold it against.
 */
const GROUPINGS: Readonly<Record<string, string | null>> = {
  tenants: 'tenant, currency_code',
  carriers: 'carrier, currency_code',
  zones: 'carrier_zone, currency_code',
  cost: 'tenant, carrier, currency_code',
  services: 'carrier, service_level, carrier_zone, ceil(billable_weight), currency_code',
  summary: "date_trunc('month', ship_date), currency_code",
  mix: "date_trunc('month', ship_date), carrier, carrier_zone, currency_code",
  'billing-lag': 'carrier, currency_code, invoice_generation_date - ship_date',
  accrual:
    "date_trunc('month', ship_date), date_trunc('month', invoice_generation_date), tenant, carrier, currency_code",
  'accrual-journal':
    "date_trunc('month', ship_date), date_trunc('month', invoice_generation_date), tenant, carrier, currency_code",
  'data-quality':
    'currency_code, origin is null, billable_weight is null, carrier_zone, service_level is null',
  'rate-card': 'carrier, service_level, carrier_zone, ceil(billable_weight), currency_code',
  'price-changes':
    "date_trunc('month', ship_date), carrier, service_level, carrier_zone, ceil(billable_weight), currency_code",
  bridge:
    "carrier, service_level, carrier_zone, ceil(billable_weight), currency_code, date_trunc('month', ship_date)",
  outliers: 'carrier, service_level, carrier_zone, ceil(billable_weight), currency_code, billing_cost',
  'what-if': 'carrier, service_level, carrier_zone, ceil(billable_weight), currency_code',
  'rate-variance': 'carrier, service_level, carrier_zone, billable_weight, currency_code, billing_cost',
  duplicates: 'carrier, tracking_number, currency_code',
  levels: 'carrier, tracking_number, currency_code',
  margin: 'tenant, carrier, tracking_number, currency_code',
  'minimum-charges':
    "date_trunc('month', ship_date), carrier, service_level, carrier_zone, ceil(billable_weight), currency_code, billing_cost",
  'dimensional-weight': 'tenant, carrier, service_level, origin, ceil(billable_weight)',
  rebills: 'carrier, tracking_number, currency_code',
  restatement: 'invoice_id, tenant, currency_code',
  'carrier-statements': 'carrier, carrier_invoice_date, currency_code',
  'late-billed': 'carrier, currency_code, invoice_generation_date - ship_date',
  adjustments: 'carrier, tracking_number, currency_code',
  'rolling-spend': "date_trunc('week', ship_date), carrier, currency_code",
  budget: "date_trunc('month', ship_date), tenant, carrier, currency_code",
  payables: null,
  register: null,
  waiting: null,
  gaps: null,
  proof: null,
};

const ROUNDS = 3;
const PAGE_LIMIT_MS = 1_000;

export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      shipments: { type: 'string', default: '5000000' },
      file: { type: 'string' },
      only: { type: 'string' },
      'pages-only': { type: 'boolean', default: false },
    },
  });
  const folder = await mkdtemp(join(tmpdir(), 'billsync-bench-'));
  const path = values.file ?? join(folder, 'reports.duckdb');
  try {
    if (!(await stat(path).catch(() => null))) {
      await makePublished({ path, folder, shipments: Number(values.shipments) });
    }
    if (!values['pages-only']) await timeReports(path, values.only);
    if (values.only === undefined) await timePages(path, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The ratio is the median of the rounds, each of which asks floor and report one after the other; the rest is the best. */
async function timeReports(path: string, only: string | undefined): Promise<void> {
  print('report', 'rows', 'ms', 'CPU ms', 'floor ms', 'floor CPU', 'CPU ratio');
  for (const { name } of await listReports()) {
    if (only !== undefined && name !== only) continue;
    const grouping = GROUPINGS[name];
    if (grouping === undefined) throw new Error(`Say by what the report ${name} groups, or null.`);
    const own: Timed[] = [];
    const floor: Timed[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      if (grouping !== null) floor.push(await timed(() => bareScan(path, grouping)));
      own.push(await timed(() => oneReport(path, name)));
    }
    const figures = [own[0]?.answer ?? 0, best(own, 'ms'), best(own, 'cpuMs')];
    if (grouping === null) print(name, ...figures, 'no grouping');
    else {
      const ratio = median(own.map(({ cpuMs }, round) => cpuMs / (floor[round]?.cpuMs ?? Number.NaN)));
      print(name, ...figures, best(floor, 'ms'), best(floor, 'cpuMs'), ratio.toFixed(1));
    }
  }
}

function best(rounds: readonly Timed[], of: 'ms' | 'cpuMs'): number {
  return Math.min(...rounds.map((round) => round[of]));
}

function print(name: string, ...figures: readonly (string | number)[]): void {
  const cells = figures.map((figure) =>
    (typeof figure === 'number' ? figure.toFixed(0) : figure).padStart(10),
  );
  console.log(name.padEnd(26), ...cells);
}

/** Opening the file is part of it on both sides. */
async function bareScan(path: string, grouping: string): Promise<number> {
  const file = await openPublishedFile(path);
  try {
    const sql = `select ${grouping}, count(*), sum(billing_cost) from shipments group by all`;
    return (await file.query(sql)).currentRowCount;
  } finally {
    file.close();
  }
}

async function oneReport(path: string, name: string): Promise<number> {
  const session = await openReportSession({ databasePath: path, timeLimitMs: 300_000 });
  try {
    return (await session.run(name)).rows.length;
  } finally {
    session.close();
  }
}

/**
 * What a reader waits for, page by page, each of a dashboard that was just started and makes nothing ahead: the first
 * who comes after the start, the first after a publication, and the next one. The bench fails when one waits a second
 * for a page.
 */
async function timePages(published: string, folder: string): Promise<void> {
  const path = join(folder, 'pages.duckdb');
  await copyFile(published, path, constants.COPYFILE_FICLONE);
  const names = (await listReports()).map(({ name }) => `/reports/${name}`);
  const slow: string[] = [];
  print('page', 'words ms', 'start ms', 'CPU ms', 'publ. ms', 'CPU ms', 'again ms', 'kB');
  for (const page of ['/', '/invoices', '/events', '/reports', '/health', ...names]) {
    const first = await firstReading(path, page);
    print(
      page,
      ...[first.wordsMs, first.start.ms, first.start.cpuMs],
      ...[first.next.ms, first.next.cpuMs],
      first.again.ms,
      first.start.answer,
    );
    if (first.start.ms >= PAGE_LIMIT_MS) slow.push(`${page}: whole after ${first.start.ms.toFixed(0)} ms`);
    if (first.next.ms >= PAGE_LIMIT_MS)
      slow.push(`${page}: ${first.next.ms.toFixed(0)} ms after a publication`);
  }
  if (slow.length === 0) return console.log('first readers wait no longer than they may for any page');
  console.log(`first readers wait too long, or this machine is not quiet:\n${slow.join('\n')}`);
  process.exitCode = 1;
}

/** The start is the best of rounds, each of a dashboard of its own; what a busy machine adds is no property of the page. */
async function firstReading(
  path: string,
  page: string,
): Promise<{ wordsMs: number; start: Timed; next: Timed; again: Timed }> {
  const starts: { wordsMs: number; start: Timed }[] = [];
  for (let round = 1; ; round += 1) {
    const dashboard = await dashboardOver(path);
    let wordsMs = Number.NaN;
    const start = await timed(async () => {
      const began = performance.now();
      const answer = await fetch(dashboard.url + page);
      wordsMs = performance.now() - began;
      return (await answer.text()).length / 1024;
    });
    starts.push({ wordsMs, start });
    if (round === ROUNDS) {
      const quickest = starts.toSorted((one, other) => one.start.ms - other.start.ms)[0] ?? {
        wordsMs,
        start,
      };
      const later = await afterAPublication(dashboard, path, page);
      await dashboard.close();
      return { ...quickest, ...later };
    }
    await dashboard.close();
  }
}

async function afterAPublication(
  dashboard: RunningDashboard,
  path: string,
  page: string,
): Promise<{ next: Timed; again: Timed }> {
  const read = (): Promise<Timed> => timed(async () => (await pageOf(dashboard, page)).length / 1024);
  // Another instant on the file is to the dashboard what a publication is: another file.
  await utimes(path, new Date(), new Date());
  const next = await read();
  // What is still being made for that page must not be counted with the next one.
  while ((await pageOf(dashboard, page)).includes('A newer publication is being read')) await sleep(20);
  return { next, again: await read() };
}

function dashboardOver(publishedPath: string): Promise<RunningDashboard> {
  return startDashboard({
    settings: { environment: 'test', admin: { host: '127.0.0.1', port: 0, basicAuth: null } },
    publishedPath,
    health: createHealth(),
    metrics: createMetrics('dashboard'),
    log: pino({ level: 'silent' }),
    timeLimitMs: 300_000,
    // Prepared as every dashboard is; the pages are the bench's to ask for.
    warmUpEveryMs: 3_600_000,
  });
}

async function pageOf(dashboard: RunningDashboard, page: string): Promise<string> {
  return (await fetch(dashboard.url + page)).text();
}

interface Timed {
  readonly ms: number;
  /** Of all threads of this process: what a busy machine does not change much. */
  readonly cpuMs: number;
  readonly answer: number;
}

async function timed(work: () => Promise<number>): Promise<Timed> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  const answer = await work();
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpuMs: (user + system) / 1000, answer };
}
