import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { findReport, listReports, parseReport } from '../../reports/catalogue.ts';
import { openPublishedFile } from '../../reports/open-published-file.ts';
import { answerOf } from '../../reports/render/answer.ts';
import { drawCharts } from '../../reports/render/charts.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { openReportSession, runReport } from '../../reports/report-session.ts';
import { testFolder } from '../support/folders.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { runOnFile } from '../warehouse/support.ts';

const reports = listReports();

const fixture = await reportsFixture(seededInvoices(5, 30));
const empty = await reportsFixture([]);
afterAll(() => Promise.all([fixture.remove(), empty.remove()]));

describe('the catalogue', () => {
  test('refuses a report file whose header is incomplete', () => {
    expect(() => parseReport('x', '-- title: A\n-- grain: b\nselect 1')).toThrow('"" is no purpose');
    const whole = '-- title: A\n-- purpose: Spend, 1\n-- grain: b\n-- means: c\n-- order: o\n-- limits: d\n';
    expect(() => parseReport('x', `${whole}-- params: $a float: e`)).toThrow('cannot read the parameter');
    expect(() => parseReport('x', whole.replace('Spend, 1', 'Fun'))).toThrow('"Fun" is no purpose');
    expect(() => parseReport('x', `${whole}-- drildown: shipments`)).toThrow(
      'line 7: a header has no key "drildown"',
    );
    expect(() => parseReport('x', `${whole}-- A sentence.`)).toThrow(
      'line 7: "-- A sentence." is no line of a header',
    );
    expect(() => parseReport('x', `${whole}-- reads: events`)).toThrow('it cannot read "events"');
    expect(() => parseReport('x', `${whole}-- drilldown: nowhere by x`)).toThrow(
      'Report x: it cannot link to "nowhere by x".',
    );
  });

  test('states in the header of a report what its statement reads', () => {
    for (const { name, reads, sql } of reports) {
      const code = sql.replaceAll(/--.*$/gm, '');
      const found = [
        ...(/\b(selected_invoices|invoice_currencies|invoices_owed)\b/.test(code) ? ['invoices'] : []),
        ...(/\bknown_invoices\b/.test(code) ? ['states'] : []),
        ...(/\bfiltered_shipments\b/.test(code) ? ['levels'] : []),
      ];
      expect([name, reads]).toEqual([name, found]);
    }
  });
});

describe('every report', () => {
  test.each(reports.map((report) => report.name))('runs %s without parameters', async (name) => {
    const report = reports.find((each) => each.name === name);
    const result = await fixture.run(name);
    expect(report?.drilldowns).not.toEqual([]);
    for (const key of ['title', 'grain', 'means', 'order', 'limits'] as const)
      expect(report?.[key], key).toBeTruthy();
    const nothing = await empty.run(name);
    expect(nothing.rows).toEqual([]);
    expect(nothing.head.provedPercent).toBeNull();
    // No column may be a float in disguise, and what the header speaks of exists.
    const columns = result.columns.map((column) => column.name);
    expect(nothing.columns).toEqual(result.columns);
    const isOfParameter = (column: string) =>
      report?.parameters.some((parameter) => parameter.name === report.groupColumns[column]);
    const named = [...Object.keys(report?.units ?? {}), ...(report?.details ?? [])];
    expect(columns).toEqual(expect.arrayContaining(named.filter((column) => isOfParameter(column) !== true)));
    for (const column of result.columns) {
      if (/(cost|^amount|total|margin|saving|variance)$/.test(column.name))
        expect(column.type, column.name).toBe('decimal');
    }
    if (columns.some((column) => /cost/.test(column))) expect(columns).toContain('currency_code');
    // A chart is drawn for each currency in which it has anything but zeros to show.
    const drawable = result.charts.flatMap(({ roles }) => {
      const visible = result.rows.filter((row) => Number(row[roles.value ?? ''] ?? 0) !== 0);
      return [...new Set(visible.map((row) => row.currency_code))];
    });
    expect(await drawCharts(result)).toHaveLength(drawable.length);
  });
});

test.each(
  reports.filter(({ sources }) =>
    ['rates', 'costs', 'statements', 'budget'].some((name) => sources.includes(name as never)),
  ),
)('$name without its file states what is missing, and no sum', async ({ name }) => {
  const result = await fixture.run(name);
  const page = String((await renderReport(result, 'html')).body);
  expect(answerOf(result).sentence).toMatch(/^No (rates|own costs|carrier statements|budget)/);
  expect(page).not.toMatch(/nothing matches|<td[^>]*>0\.00<\/td>\s*<\/tr>\s*<\/tfoot>/);
});

describe('runReport', () => {
  test('refuses to answer in part without an explicit limit', async () => {
    const { sql, ...report } = findReport('late-billed');
    const invoices = [
      anInvoice(
        Array.from({ length: 3 }, () => aShipment({ shipDate: '2026-01-01', invoiceDate: '2026-06-01' })),
      ),
    ];
    const fixture = await reportsFixture(invoices);
    const session = await openReportSession({ databasePath: fixture.path });
    try {
      const parameters = report.parameters.map((each) =>
        each.name === 'limit' ? { ...each, default: '2' } : each,
      );
      await expect(session.run({ ...report, sql, parameters })).rejects.toThrow('has 3 rows');
      expect((await session.run({ ...report, sql, parameters }, { limit: '3' })).head.notes).toEqual([]);
    } finally {
      session.close();
      await fixture.remove();
    }
  });

  test('suggests the report for a misspelt name', async () => {
    const running = runReport({ databasePath: fixture.path, name: 'tenant' });
    await expect(running).rejects.toMatchObject({ code: 'report-not-found' });
    await expect(runReport({ databasePath: fixture.path, name: 'carrierz' })).rejects.toThrow(
      'Did you mean carriers?',
    );
    await expect(runReport({ databasePath: fixture.path, name: '../session/macros' })).rejects.toThrow(
      'There is no report',
    );
  });

  test('suggests the parameter for a misspelt name', async () => {
    const parameters = { stuck_after: '3' };
    await expect(runReport({ databasePath: fixture.path, name: 'waiting', parameters })).rejects.toThrow(
      'Did you mean stuck_after_days?',
    );
  });

  test('reports that nothing is published', async () => {
    const folder = testFolder();
    await expect(
      runReport({ databasePath: join(folder, 'reports.duckdb'), name: 'tenants' }),
    ).rejects.toMatchObject({ code: 'not-published' });
  });

  test.each([
    ['a view', 'drop view invoices', 'invoices does not exist'],
    ['a macro', 'drop macro table loads_as_known_on', 'loads_as_known_on does not exist'],
    [
      'a column',
      'create or replace view invoices as select * exclude (tenant_id) from internal.invoice_state',
      'tenant',
    ],
  ])(
    'reports that a file without %s was published by another version, and what to do',
    async (_what, change, missing) => {
      const old = await reportsFixture([]);
      await runOnFile(old.path, change);
      const error = await runReport({
        databasePath: old.path,
        name: 'tenants',
        filters: { asKnownOn: '2026-03-01' },
      }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'published-by-another-version' });
      expect(error).toMatchObject({
        message: expect.stringContaining(`${old.path} was published by another version of billsync`),
        hint: expect.stringContaining('`billsync snapshot` publishes it again'),
      });
      expect(String(error)).toContain(missing);
      await old.remove();
    },
  );

  test('notes that gaps use the present invoices for every requested instant', async () => {
    const filters = { asKnownOn: '2026-03-01' };
    const { head } = await runReport({ databasePath: fixture.path, name: 'gaps', filters });
    expect(head.notes.join(' ')).toContain('states of invoices are those of the publication');
  });

  test('stops a report at its time limit with an error', async () => {
    const running = runReport({ databasePath: fixture.path, name: 'outliers', timeLimitMs: 1 });
    await expect(running).rejects.toMatchObject({ code: 'interrupted' });
    await expect(running).rejects.toThrow('was stopped after 0.001 s');
    await expect(running).rejects.toThrow(
      '--timeout on the command line, BILLSYNC_PAGE_TIMEOUT for the dashboard',
    );
  });

  test('accepts a time limit longer than any timer', async () => {
    const timeLimitMs = 100 * 86_400_000;
    const running = runReport({ databasePath: fixture.path, name: 'outliers', timeLimitMs });
    await expect(running).resolves.toMatchObject({ rows: expect.anything() });
  });

  test('spills to a folder of its own and leaves none behind', async () => {
    const folders = await Promise.all(
      [fixture, empty].map(async ({ path }) => {
        const file = await openPublishedFile(path);
        const [row] = (
          await file.query(
            "select current_setting('temp_directory') as folder, current_setting('memory_limit') as memory",
          )
        ).getRowObjectsJson();
        file.close();
        return row;
      }),
    );
    expect(folders[0]?.folder).not.toBe(folders[1]?.folder);
    for (const row of folders) expect(row?.memory).toMatch(/^(\d+\.\d MiB|1\.3 GiB)$/);
    expect((await readdir(fixture.folder)).filter((name) => name.includes('spill'))).toEqual([]);
  });

  test('leaves the published file unchanged', async () => {
    const before = await readFile(fixture.path);
    const session = await openReportSession({ databasePath: fixture.path, timeLimitMs: 600_000 });
    for (const { name } of reports) await session.run(name);
    session.close();
    expect((await readFile(fixture.path)).equals(before)).toBe(true);
  });
});

describe('the session', () => {
  test('answers concurrent reports each with its own parameters', async () => {
    const session = await openReportSession({ databasePath: fixture.path });
    const by = async (what: string): Promise<readonly string[]> =>
      (await session.run('cost', { by: what })).columns.map(({ name }) => name);
    const alone = [await by('carrier'), await by('zone'), await by('month')];
    expect(await Promise.all([by('carrier'), by('zone'), by('month')])).toEqual(alone);
    const rows = async (least: string): Promise<number> =>
      (await session.run('rate-card', { min_shipments: least })).rows.length;
    const [all, none] = await Promise.all([rows('1'), rows('1000000')]);
    expect(all).toBeGreaterThan(0);
    expect(none).toBe(0);
    session.close();
  });
});
