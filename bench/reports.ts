/** Times every report against the barest scan that groups alike, and every page of the dashboard, on one large file. */

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { startDashboard } from '../dashboard/server.js';
import { createHealth } from '../ops/health.js';
import { createMetrics } from '../ops/metrics.js';
import { listReports } from '../reports/catalogue.js';
import { openPublishedFile } from '../reports/published-file.js';
import { openReportSession } from '../reports/report-session.js';
import { makePublished } from './support/make-published.js';

export const summary =
  'each report against a bare scan with the same grouping, and the pages, on 5 million shipments (--shipments N, --file PATH, --only NAME, --pages-only)';

/** What a report groups by, as its floor does; reports of other grain name the nearest that reads the same columns. */
const GROUPINGS: Readonly<Record<string, string>> = {
  tenants: 'tenant, currency_code',
  carriers: 'carrier, currency_code',
  zones: 'carrier_zone, currency_code',
  'carrier-zones': 'carrier, carrier_zone, currency_code',
  origins: 'origin, currency_code',
  matrix: 'tenant, carrier, service_level, currency_code',
  services: 'carrier, service_level, carrier_zone, ceil(billable_weight), currency_code',
  summary: "date_trunc('month', ship_date), currency_code",
  'zone-mix': "date_trunc('month', ship_date), carrier, carrier_zone, currency_code",
  'weight-breaks': 'ceil(billable_weight), billable_weight_unit, currency_code',
  'billing-lag': 'carrier, currency_code, invoice_generation_date - ship_date',
  accrual: "date_trunc('month', ship_date), date_trunc('month', invoice_generation_date), currency_code",
  'data-quality':
    'currency_code, origin is null, billable_weight is null, carrier_zone, service_level is null',
  'rate-card': 'carrier, service_level, carrier_zone, ceil(billable_weight), currency_code',
  'price-changes':
    "date_trunc('month', ship_date), carrier, service_level, carrier_zone, ceil(billable_weight), currency_code",
  bridge: 'carrier, service_level, carrier_zone, ceil(billable_weight), currency_code, ship_date',
  outliers: 'carrier, service_level, carrier_zone, ceil(billable_weight), currency_code, billing_cost',
  'what-if': 'carrier, service_level, carrier_zone, ceil(billable_weight), currency_code',
  'rate-variance': 'carrier, service_level, carrier_zone, billable_weight, currency_code, billing_cost',
  duplicates: 'carrier, tracking_number, currency_code',
  levels: 'carrier, tracking_number, currency_code',
  margin: 'tenant, carrier, tracking_number, currency_code',
  rebills: 'carrier, tracking_number, currency_code',
  restatement: 'invoice_id, tenant, currency_code',
};

const ROUNDS = 2;

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
    if (values.only === undefined) await timePages(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function timeReports(path: string, only: string | undefined): Promise<void> {
  print('report', 'rows', 'ms', 'CPU ms', 'floor ms', 'floor CPU', 'CPU ratio');
  for (const { name } of await listReports()) {
    if (only !== undefined && name !== only) continue;
    const floor = await fastest(() => bareScan(path, GROUPINGS[name]));
    const own = await fastest(() => oneReport(path, name));
    print(name, own.answer, own.ms, own.cpuMs, floor.ms, floor.cpuMs, (own.cpuMs / floor.cpuMs).toFixed(1));
  }
}

function print(name: string, ...figures: readonly (string | number)[]): void {
  const cells = figures.map((figure) =>
    (typeof figure === 'number' ? figure.toFixed(0) : figure).padStart(10),
  );
  console.log(name.padEnd(26), ...cells);
}

/** Opening the file is part of it on both sides. Reports of invoices have the list of invoices as their floor. */
async function bareScan(path: string, grouping: string | undefined): Promise<number> {
  const file = await openPublishedFile(path);
  try {
    const reader = await file.query(
      grouping === undefined
        ? 'select state, currency_code, count(*), sum(billing_cost) from invoices group by all'
        : `select ${grouping}, count(*), sum(billing_cost) from shipments group by all`,
    );
    return reader.currentRowCount;
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

/** Each page is asked for once with nothing kept from before, as the first reader after a publication meets it. */
async function timePages(path: string): Promise<void> {
  const names = (await listReports()).map(({ name }) => `/reports/${name}`);
  print('page', 'ms', 'CPU ms', 'kB');
  for (const page of ['/', '/invoices', '/events', '/reports', '/health', ...names]) {
    const dashboard = await startDashboard({
      settings: { environment: 'test', admin: { host: '127.0.0.1', port: 0, basicAuth: null } },
      publishedPath: path,
      health: createHealth(),
      metrics: createMetrics('dashboard'),
      log: pino({ level: 'silent' }),
      timeLimitMs: 300_000,
    });
    const { ms, cpuMs, answer } = await timed(async () => {
      const response = await fetch(dashboard.url + page);
      return (await response.arrayBuffer()).byteLength;
    });
    print(page, ms, cpuMs, answer / 1024);
    await dashboard.close();
  }
}

interface Timed {
  readonly ms: number;
  /** Of all threads of this process: what a busy machine does not change much. */
  readonly cpuMs: number;
  readonly answer: number;
}

async function fastest(work: () => Promise<number>): Promise<Timed> {
  let best = await timed(work);
  for (let round = 1; round < ROUNDS; round += 1) {
    const next = await timed(work);
    best = { ...next, ms: Math.min(best.ms, next.ms), cpuMs: Math.min(best.cpuMs, next.cpuMs) };
  }
  return best;
}

async function timed(work: () => Promise<number>): Promise<Timed> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  const answer = await work();
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpuMs: (user + system) / 1000, answer };
}
