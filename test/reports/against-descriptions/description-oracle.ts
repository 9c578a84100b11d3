/** Shared by the tests that compute reports from their descriptions: in whole numbers, without SQL, with and without filters. */

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { ReportRow } from '../../../reports/cells.ts';
import type { ReportFilters } from '../../../reports/report-filters.ts';
import { runReport } from '../../../reports/report-session.ts';
import { testFolder } from '../../support/folders.ts';
import {
  type FixtureInvoice,
  type ReportsFixture,
  reportsFixture,
  tenThousandths,
} from '../../support/reports-fixture.ts';
import { type DenseLine, linesOf } from './dense-invoices.ts';
import { plainZone, ratedPounds } from './plain-arithmetic.ts';

export type Line = DenseLine;
export type Plain = Record<string, unknown>;

export interface OracleRequest {
  readonly parameters?: Readonly<Record<string, string>>;
  /** Lines of files of one's own, by table. */
  readonly files?: Readonly<Record<string, readonly string[]>>;
  readonly isOfAllLevels?: boolean;
  readonly filters?: ReportFilters;
}

export interface Oracle {
  /**
   * Runs the report with each of the filters and compares the columns that are computed, row by row, in any order.
   *
   * @param oracle gets the lines that pass the filters, all that are loaded, and whether a line passes the filter by tenant, all but
   *   `from`, or all but the dates
   */
  agrees(
    name: string,
    oracle: (
      lines: readonly Line[],
      loaded: readonly Line[],
      passes: {
        readonly tenant: (line: Line) => boolean;
        readonly butFrom: (line: Line) => boolean;
        readonly butDates: (line: Line) => boolean;
        readonly filters: ReportFilters;
      },
    ) => readonly Plain[],
    request?: OracleRequest,
  ): Promise<void>;
  /** The same of a report that lists invoices, without filters. */
  agreesOfInvoices(name: string, expected: readonly Plain[], request?: OracleRequest): Promise<void>;
}

const FILTERED: readonly {
  readonly filters: ReportFilters;
  readonly butFrom: (line: Line) => boolean;
  readonly butDates: (line: Line) => boolean;
}[] = [
  { filters: {}, butFrom: () => true, butDates: () => true },
  {
    filters: { from: '2026-02-01', to: '2026-04-14', carriers: ['UPS'], tenants: ['Acme'] },
    butFrom: ({ shipDate, carrier, tenant }) =>
      shipDate < '2026-04-15' && carrier === 'ups' && tenant === 'Acme',
    butDates: ({ carrier, tenant }) => carrier === 'ups' && tenant === 'Acme',
  },
];

export function oracleOver(
  invoices: readonly FixtureInvoice[],
  options: { readonly publishedAt?: string } = {},
): Oracle {
  const all = linesOf(invoices).filter((line) => !line.isVoided);
  let fixture: ReportsFixture;
  let folder: string;
  beforeAll(async () => {
    fixture = await reportsFixture(invoices, options);
    folder = testFolder();
  });
  afterAll(() => Promise.all([fixture.remove(), rm(folder, { recursive: true, force: true })]));

  async function rowsOf(
    name: string,
    filters: ReportFilters,
    { parameters, files }: OracleRequest,
  ): Promise<readonly ReportRow[]> {
    const tables: Record<string, string> = {};
    for (const [table, lines] of Object.entries(files ?? {})) {
      tables[table] = join(folder, `${name}-${table}.csv`);
      await writeFile(tables[table], `${lines.join('\n')}\n`);
    }
    const request = { databasePath: fixture.path, name, filters, tables, parameters: parameters ?? {} };
    return (await runReport(request)).rows;
  }

  function compare(found: readonly ReportRow[], expected: readonly Plain[], what: string): void {
    const columns = Object.keys(expected[0] ?? found[0] ?? {});
    const kept = (row: ReportRow | Plain) => JSON.stringify(columns.map((column) => row[column] ?? null));
    expect(found.map(kept).sort(), what).toEqual(expected.map(kept).sort());
  }

  return {
    async agrees(name, oracle, request = {}) {
      for (const { filters, butFrom, butDates } of FILTERED) {
        const loaded = all.filter((line) => request.isOfAllLevels || line.level !== 'partner');
        const tenant = (line: Line) => filters.tenants?.includes(line.tenant) ?? true;
        const passes = (line: Line) => butFrom(line) && line.shipDate >= (filters.from ?? '');
        const expected = oracle(loaded.filter(passes), loaded, { tenant, butFrom, butDates, filters });
        compare(await rowsOf(name, filters, request), expected, `${name} ${JSON.stringify(filters)}`);
        if (filters.carriers === undefined) expect(expected.length).toBeGreaterThan(0);
      }
    },
    async agreesOfInvoices(name, expected, request = {}) {
      compare(await rowsOf(name, request.filters ?? {}, request), expected, name);
      expect(expected.length).toBeGreaterThan(0);
    },
  };
}

export const T = tenThousandths;
export const isCharge = (line: Line): boolean => T(line.cost) > 0n;
export const hasCell = (line: Line): boolean =>
  isCharge(line) && line.service !== null && line.zone !== null && line.weight !== null;
export const cellOf = (line: Line) => [
  line.carrier,
  line.service,
  plainZone(line.zone),
  ratedPounds(line),
  line.currency,
];
export const largest = (values: readonly bigint[]): bigint => values.reduce((a, b) => (b > a ? b : a));
export const absolute = (value: bigint): bigint => (value < 0n ? -value : value);
