/** Asks `billsync report` as a person beside the data folder would, and compares with what was billed, to the fourth decimal. */

import type { ForeignRow } from '../foreign-service/foreign-rows.ts';
import { billsync } from '../processes/billsync.ts';
import { addTo, differences, exact, type Sum } from './exact-sums.ts';

const KEYS = { tenants: 'tenant', carriers: 'carrier', zones: 'carrier_zone' } as const;

/** @returns in words, what differs; empty when the three reports add up to the rows */
export async function compareReports(
  dataDir: string,
  rows: readonly ForeignRow[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [report, key] of Object.entries(KEYS)) {
    const expected = new Map<string, Sum>();
    for (const row of rows) {
      const value = key === 'carrier_zone' ? row.zone : row[key];
      addTo(expected, `${value} ${row.currencyCode}`, row.billingCost);
    }
    const reported = await ask(dataDir, ['report', report, '--level', 'all', '--format', 'json']);
    const sums = new Map(
      reported.map((row): [string, Sum] => [
        `${row[key] ?? ''} ${row.currency_code}`,
        { rows: Number(row.shipments), tenThousandths: exact(String(row.billing_cost)) },
      ]),
    );
    found.push(...differences(expected, sums).map((what) => `report ${report}: ${what}`));
  }
  return found;
}

async function ask(
  dataDir: string,
  args: readonly string[],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { exitCode, stdout, stderr } = await billsync(args, { env: { BILLSYNC_DATA_DIR: dataDir } });
  if (exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stderr}`);
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>[];
}
