import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listReports } from '../../reports/catalogue.ts';
import type { ReportRow } from '../../reports/cells.ts';
import type { ReportFilters } from '../../reports/report-filters.ts';
import { openReportSession } from '../../reports/report-session.ts';
import {
  anInvoice,
  aShipment,
  type FixtureInvoice,
  type ReportsFixture,
  reportsFixture,
} from '../support/reports-fixture.ts';

const reports = listReports();

const OF_ALL_TENANTS: Readonly<Record<string, readonly string[]>> = {
  outliers: ['median', 'difference', 'robust_z', 'like_shipments'],
  register: ['cash_until_due'],
};

/** Five months of what most reports look for: late lines, a dear one, a second charge, a void, a draft. */
function monthsOf(owner: { tenant: string; tenantId: string; partnerId: string }): FixtureInvoice[] {
  const { tenant, tenantId, partnerId } = owner;
  const invoice = (month: number, stated: Partial<FixtureInvoice> = {}): FixtureInvoice => {
    const of = `2026-0${month}`;
    const day = { tenant, invoiceDate: `${of}-27`, carrierInvoiceDate: `${of}-20`, shipDate: `${of}-10` };
    const lines = Array.from({ length: 9 }, (_, at) =>
      aShipment({ ...day, tracking: `${of}-${at}`, cost: String(10 + at) }),
    );
    const odd = [
      aShipment({ ...day, tracking: `${of}-0`, cost: '3' }),
      aShipment({ ...day, tracking: `${of}-late`, shipDate: '2025-12-10', cost: '8', carrier: 'fedex' }),
      aShipment({ ...day, tracking: `${of}-dear`, cost: '90' }),
      aShipment({ ...day, tracking: `${of}-1`, cost: '-11' }),
    ];
    return anInvoice([...lines, ...odd], {
      ...{
        tenant,
        tenantId,
        partnerId,
        number: `N-${month}`,
        start: `${of}-01`,
        end: `${of}-25`,
        date: `${of}-27`,
      },
      ...{ due: `${of}-28`, loadedAt: `${of}-27T12:00:00Z`, createdAt: `${of}-26T00:00:00Z` },
      ...stated,
    });
  };
  return [
    ...[1, 2, 3, 5].map((month) => invoice(month)),
    invoice(4, { state: 'voided', voidedAt: '2026-05-02T00:00:00Z' }),
    invoice(3, {
      number: 'N-wrong',
      statedTotal: '1.0000',
      differences: [['total-amount', '1.0000', '2.0000']],
    }),
    anInvoice([], { tenant, tenantId, partnerId, number: 'N-draft', state: 'draft', proof: null }),
  ];
}

async function answers(path: string, filters: ReportFilters): Promise<Map<string, readonly ReportRow[]>> {
  const session = await openReportSession({ databasePath: path, filters });
  try {
    const found = new Map<string, readonly ReportRow[]>();
    for (const { name } of reports) found.set(name, (await session.run(name)).rows);
    return found;
  } finally {
    session.close();
  }
}

function sorted(rows: readonly ReportRow[], without: readonly string[]): string[] {
  const kept = (row: ReportRow) => Object.entries(row).filter(([column]) => !without.includes(column));
  return rows.map((row) => JSON.stringify(kept(row))).sort();
}

describe.each([
  {
    whose: 'two partners with tenants of unlike names and the same numbers',
    owners: [
      { tenant: 'Acme', tenantId: 't-1', partnerId: 'p-1' },
      { tenant: 'Zeta', tenantId: 't-2', partnerId: 'p-2' },
    ],
    only: (at: 0 | 1): ReportFilters => ({ partners: [`p-${at + 1}`] }),
    // A partner is in every row; tenants are separate where the report names them.
    isSeparate: () => true,
  },
  {
    whose: 'two tenants of one name',
    owners: [
      { tenant: 'Odd', tenantId: 't-1', partnerId: 'p-1' },
      { tenant: 'Odd', tenantId: 't-2', partnerId: 'p-1' },
    ],
    only: (at: 0 | 1): ReportFilters => ({ tenants: [`t-${at + 1}`] }),
    isSeparate: (rows: readonly ReportRow[]) => rows.some((row) => 'tenant' in row),
  },
])('$whose', ({ owners, only, isSeparate }) => {
  let fixture: ReportsFixture;
  let whole: Map<string, readonly ReportRow[]>;
  let parts: Map<string, readonly ReportRow[]>[];
  beforeAll(async () => {
    fixture = await reportsFixture(owners.flatMap(monthsOf));
    whole = await answers(fixture.path, {});
    parts = [await answers(fixture.path, only(0)), await answers(fixture.path, only(1))];
  });
  afterAll(() => fixture.remove());

  test.each(reports.map(({ name }) => name))('have separate rows in %s', (name) => {
    const rows = whole.get(name) ?? [];
    if (!isSeparate(rows)) return;
    const without = OF_ALL_TENANTS[name] ?? [];
    const apart = parts.flatMap((part) => part.get(name) ?? []);
    expect(sorted(rows, without)).toEqual(sorted(apart, without));
  });
});
