/**
 * Names that a sender chooses (tenant, carrier, zone, service, origin, tracking and invoice number) name something of JavaScript, or
 * nothing that a font can draw: every report, page, statement and export shows them, and nothing is left behind in the process.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { makeStatements } from '../../finance/statements/make-statements.ts';
import { unknownLetters } from '../../finance/statements/pdf-fonts.ts';
import { Paper } from '../../finance/statements/render-pdf.ts';
import { renderStatement, STATEMENT_FORMATS } from '../../finance/statements/render-statement.ts';
import { listReports } from '../../reports/catalogue.ts';
import { REPORT_FORMATS, renderReport } from '../../reports/render/render-report.ts';
import { dashboardOver } from '../dashboard/support.ts';
import { attack } from '../support/attack.ts';
import { BILLSYNC, cleanEnvironment } from '../support/processes/billsync.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';

const NAMES = ['__proto__', 'constructor', 'toString'];
const fixture = await reportsFixture(
  [0, 1].flatMap((month) =>
    NAMES.map((name, index) => {
      const day = `2026-0${3 + month}-0${index + 1}`;
      const hostile = aShipment({
        ...{ tenant: name, carrier: name, zone: name, service: name, origin: name, tracking: name },
        ...{ invoiceDate: day, shipDate: day, cost: `1${index}${month}.5` },
      });
      return anInvoice([hostile, { ...hostile, cost: '2' }], {
        ...{ tenant: name, number: `${name}${month === 0 ? '' : month}`, date: day, start: day, end: day },
        ...{ tenantId: name },
      });
    }),
  ),
  { publishedAt: '2026-05-01T00:00:00Z' },
);
afterAll(() => fixture.remove());
afterEach(() => {
  const left = [];
  for (const key in {}) left.push(key);
  expect(left).toEqual([]);
});

const catalogue = listReports();

test.each(catalogue.map(({ name }) => name))('renders report %s in every format', async (name) => {
  const result = await fixture.run(name, { level: 'all' });
  for (const format of REPORT_FORMATS) {
    const { body } = await renderReport(result, format);
    expect(body).toBeDefined();
  }
});

test('serves every page, with each name as a filter', async () => {
  const dashboard = await dashboardOver(fixture.path);
  const pages = ['/', '/invoices', '/events', '/shipments', '/health', '/quarantine', '/alerts'];
  const reports = catalogue.map(({ name }) => `/reports/${name}`);
  const filtered = NAMES.flatMap((name) => [
    `/?tenant=${name}&carrier=${name}`,
    `/reports/carriers?carrier=${name}&zone=${name}`,
    `/reports/cost?by=carrier%2Bmonth&pivot=carrier`,
    `/reports/carriers?pivot=${name}&sort=${name}`,
    `/shipments?is_carrier=${name}&is_tenant=${name}`,
    `/shipments/${name}`,
    `/search?q=${name}`,
    `/invoices?tenant=${name}`,
  ]);
  const failed: string[] = [];
  try {
    const all = [...pages, ...reports, ...filtered];
    for (const page of all) {
      const answer = await fetch(`${dashboard.url}${page}`);
      await answer.text();
      if (answer.status >= 500) failed.push(`${page}: ${answer.status}`);
    }
    expect(failed).toEqual([]);
    attack('pages with hostile names', { tries: all.length, held: all.length - failed.length });
  } finally {
    await dashboard.close();
  }
});

test('writes a statement for every tenant in every format', async () => {
  for (const format of STATEMENT_FORMATS) {
    const made = await statementsOf(fixture, '2026-03', format);
    expect([...made.keys()].sort()).toEqual([...NAMES].sort());
  }
  for (const format of ['csv', 'parquet']) {
    const target = join(fixture.folder, `export-${format}`);
    const args = ['export', '--output', target, '--format', format, '--data-dir', fixture.folder];
    expect(await runCommand(args)).toMatchObject({ exitCode: 0 });
  }
  const csv = readdirSync(join(fixture.folder, 'export-csv', 'shipments'), {
    recursive: true,
    encoding: 'utf8',
  })
    .filter((name) => name.endsWith('.csv'))
    .map((name) => readFileSync(join(fixture.folder, 'export-csv', 'shipments', name), 'utf8'))
    .join('');
  for (const name of NAMES) expect(csv).toContain(name);
});

test('removes __proto__ from processes and threads', () => {
  const probe = join(fixture.folder, 'probe.mjs');
  const condition = "'__proto__' in {}";
  writeFileSync(
    probe,
    `import { Worker, isMainThread } from 'node:worker_threads';
     import { fork } from 'node:child_process';
     process.stderr.write(String(${condition}) + ';');
     if (isMainThread && process.env.PROBED === undefined) {
       process.env.PROBED = 'yes';
       new Worker("process.stderr.write(String(${condition}) + ';')", { eval: true, execArgv: [] });
     }`,
  );
  const { stderr } = spawnSync(BILLSYNC, ['--version'], {
    env: cleanEnvironment({ NODE_OPTIONS: `--import=${pathToFileURL(probe)}` }),
    encoding: 'utf8',
  });
  expect(stderr).toBe('false;false;');
});

describe('letters that no font can draw', () => {
  const SPACES = '\u00a0\u2007\u202f\u3000';
  test('are printed in every statement', async () => {
    const paper = new Paper('a4', { title: 'all', at: new Date(0) });
    const all = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code));
    // Those that no font draws are all put as one letter.
    const unknown = new Set(unknownLetters(all));
    const drawn = all.filter((letter) => !unknown.has(letter)).join('');
    expect(drawn.length).toBeGreaterThan(1_000);
    for (let from = 0; from < drawn.length; from += 100) {
      paper.text(drawn.slice(from, from + 100));
      paper.heading(drawn.slice(from, from + 100), 11);
    }
    for (const code of [0xd800, 0xfeff, 0xfffd, 0xffff, 0x1f600, 0x10ffff])
      paper.text(String.fromCodePoint(code));
    expect((await paper.end('all')).length).toBeGreaterThan(10_000);
  });

  test('do not block the statements of other tenants', async () => {
    const named = (tenant: string) =>
      anInvoice([aShipment({ tenant, invoiceDate: '2026-03-10' })], { tenant, date: '2026-03-10' });
    const tenants = ['Alpha', `Be${SPACES}ta`, 'Gamma', 'Omega'];
    const own = await reportsFixture(tenants.map(named));
    try {
      expect([...(await statementsOf(own, '2026-03', 'pdf')).keys()].sort()).toEqual([...tenants].sort());
      // Where the file of one should be, there is a folder.
      const out = join(own.folder, 'out');
      const args = ['statement', '--all-tenants', '--period', '2026-03', '--format', 'pdf', '--output', out];
      expect(await runCommand([...args, '--data-dir', own.folder])).toMatchObject({ exitCode: 0 });
      const files = readdirSync(out).filter((name) => name.endsWith('.pdf'));
      const [blocked = ''] = files.filter((name) => name.includes('gamma'));
      const again = join(own.folder, 'again');
      mkdirSync(join(again, blocked), { recursive: true });
      const { exitCode, stderr } = await runCommand([...args.slice(0, -1), again, '--data-dir', own.folder]);
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/no statement could be made of Gamma \(.+\); 3 of 4 were/);
      expect(
        readdirSync(again)
          .filter((name) => name.endsWith('.pdf'))
          .sort(),
      ).toEqual(files.sort());
    } finally {
      await own.remove();
    }
  });
});

async function statementsOf(
  { path }: { readonly path: string },
  period: string,
  format: (typeof STATEMENT_FORMATS)[number],
): Promise<ReadonlyMap<string, number>> {
  const made = new Map<string, number>();
  const sources = {
    ...{ databasePath: path, dataDir: dirname(path), timeLimitMs: 60_000 },
    now: new Date('2026-05-02T00:00:00Z'),
  };
  const wanted = { tenants: [], partners: [], period, isFinal: false, withShipments: true };
  await makeStatements(sources, wanted, async (each) => {
    const files = await renderStatement(each, format);
    made.set(each.statement.tenant, files.length);
  });
  return made;
}
