/** What a service billed against what `billsync report tenants` says, each by tenant and currency, exactly. */

import type { ForeignRow } from '../foreign-service/foreign-rows.ts';
import { runCommand } from '../processes/run-command.ts';
import { addTo, exact, type Sum } from './exact-sums.ts';

export function billedSums(
  rows: readonly Pick<ForeignRow, 'tenant' | 'currencyCode' | 'billingCost'>[],
): ReadonlyMap<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const row of rows) addTo(sums, `${row.tenant}/${row.currencyCode}`, row.billingCost);
  return sums;
}

/** @throws Error the command failed; what it said is in the message */
export async function reportedSums(env: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, Sum>> {
  const rows = await askJson<ReportedTenant[]>(['report', 'tenants'], env);
  return new Map(
    rows.map((row) => [
      `${row.tenant}/${row.currency_code}`,
      { rows: Number(row.shipments), tenThousandths: exact(row.billing_cost) },
    ]),
  );
}

interface ReportedTenant {
  readonly tenant: string;
  readonly currency_code: string;
  readonly billing_cost: string;
  readonly shipments: number | string;
}

/** The answer of a command in JSON. @throws Error it did not end with 0 */
export async function askJson<T>(args: readonly string[], env: Readonly<Record<string, string>>): Promise<T> {
  const { exitCode, stdout, stderr } = await runCommand([...args, '--json'], { env });
  if (exitCode !== 0) throw new Error(`${args.join(' ')}: ${exitCode} ${stderr}`);
  return JSON.parse(stdout) as T;
}
