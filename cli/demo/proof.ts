import { dividedHalfAway, fromTenThousandths, toTenThousandths } from '../../lib/decimal.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import { runReport } from '../../reports/report-session.ts';
import type { BilledRow } from '../../sandbox/service.ts';

export interface ProvedReport {
  readonly name: string;
  readonly level: BilledRow['level'];
  readonly report: ReportResult;
  readonly rows: number;
  readonly cells: number;
  readonly differences: readonly string[];
  readonly billed: ReadonlyMap<string, string>;
}

const REPORTS: readonly {
  readonly name: string;
  readonly by: BilledKey;
  readonly level: BilledRow['level'];
}[] = [
  { name: 'tenants', by: 'tenant', level: 'tenant' },
  { name: 'carriers', by: 'carrier', level: 'tenant' },
  { name: 'zones', by: 'carrier_zone', level: 'tenant' },
  { name: 'tenants', by: 'tenant', level: 'partner' },
];

const CELLS = [
  'invoices',
  'shipments',
  'billing_cost',
  'cost_per_shipment',
  'billable_weight_lb',
  'cost_per_lb',
  'packages',
] as const;

export async function proveReports(
  databasePath: string,
  billed: readonly BilledRow[],
): Promise<readonly ProvedReport[]> {
  const proved: ProvedReport[] = [];
  for (const { name, by, level } of REPORTS) {
    const report = await runReport({ databasePath, name, filters: { level } });
    const totals = totalsOf(billed, { by, level });
    const differences = compare(report, by, totals);
    proved.push({
      name,
      level,
      report,
      rows: totals.length,
      cells: totals.length * CELLS.length,
      differences,
      billed: billedByCurrency(totals),
    });
  }
  return proved;
}

function compare(report: ReportResult, by: BilledKey, totals: readonly BilledTotal[]): readonly string[] {
  const differences: string[] = [];
  const expected = new Map(totals.map((total) => [groupOf(total.key, total.currency_code), total]));
  for (const row of report.rows) {
    const group = groupOf(row[by], row.currency_code);
    const total = expected.get(group);
    expected.delete(group);
    if (total === undefined) {
      differences.push(`${group}: the report has a row that was never billed`);
      continue;
    }
    for (const cell of CELLS) {
      const reported = row[cell] === null || row[cell] === undefined ? null : String(row[cell]);
      if (reported !== total[cell])
        differences.push(`${group} ${cell}: reported ${reported}, billed ${total[cell]}`);
    }
  }
  for (const group of expected.keys()) differences.push(`${group}: billed, and missing from the report`);
  return differences;
}

function groupOf(key: unknown, currency: unknown): string {
  return JSON.stringify([key ?? null, currency]);
}

type BilledKey = 'tenant' | 'carrier' | 'carrier_zone';

interface BilledTotal {
  readonly key: string | null;
  readonly currency_code: string;
  readonly invoices: string;
  readonly shipments: string;
  readonly billing_cost: string;
  readonly cost_per_shipment: string;
  readonly billable_weight_lb: string | null;
  readonly cost_per_lb: string | null;
  readonly packages: string;
}

const KEY_OF: Readonly<Record<BilledKey, (row: BilledRow) => string | null>> = {
  tenant: (row) => row.tenant,
  carrier: (row) => row.carrier,
  carrier_zone: (row) => row.zone,
};

export function totalsOf(
  rows: readonly BilledRow[],
  { by, level }: { readonly by: BilledKey; readonly level: BilledRow['level'] },
): readonly BilledTotal[] {
  const billed = rows.filter((row) => row.status === 'APPROVED' && row.level === level);
  const groups = Map.groupBy(billed, (row) => groupOf(KEY_OF[by](row), row.currencyCode));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined
      ? []
      : [{ key: KEY_OF[by](first), currency_code: first.currencyCode, ...totalOf(group) }];
  });
}

function billedByCurrency(totals: readonly BilledTotal[]): ReadonlyMap<string, string> {
  const groups = Map.groupBy(totals, ({ currency_code }) => currency_code);
  return new Map(
    [...groups]
      .map(
        ([currency, group]) =>
          [currency, fromTenThousandths(sumOf(group.map((each) => each.billing_cost)))] as const,
      )
      .sort(),
  );
}

/**
 * Kilograms become pounds at 2.2046226218, after summing; a quotient is rounded once, half away from zero, and a cost
 * is divided by unrounded pounds.
 */
function totalOf(rows: readonly BilledRow[]): Omit<BilledTotal, 'key' | 'currency_code'> {
  const cost = sumOf(rows.map(({ billingCost }) => billingCost));
  // Several lines may be about one package.
  const packages = new Set(
    rows.map(({ carrier, trackingNumber }) => JSON.stringify([carrier, trackingNumber])),
  );
  const weights = rows.filter(({ billableWeight }) => billableWeight !== null);
  const inUnit = (isKilograms: boolean): bigint =>
    sumOf(weights.flatMap((row) => ((row.unit === 'KG') === isKilograms ? (row.billableWeight ?? []) : [])));
  const exactPounds = inUnit(false) * 10_000_000_000n + inUnit(true) * 22_046_226_218n;
  return {
    invoices: String(new Set(rows.map(({ invoiceId }) => invoiceId)).size),
    shipments: String(rows.length),
    billing_cost: fromTenThousandths(cost),
    cost_per_shipment: fromTenThousandths(dividedHalfAway(cost, BigInt(packages.size))),
    billable_weight_lb:
      weights.length === 0 ? null : fromTenThousandths(dividedHalfAway(exactPounds, 10_000_000_000n)),
    cost_per_lb:
      exactPounds === 0n
        ? null
        : fromTenThousandths(dividedHalfAway(cost * 100_000_000_000_000n, exactPounds)),
    packages: String(packages.size),
  };
}

function sumOf(amounts: readonly string[]): bigint {
  return amounts.reduce((sum, amount) => sum + toTenThousandths(amount), 0n);
}
