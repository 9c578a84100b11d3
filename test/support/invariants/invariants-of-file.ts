/** I2, I3, I4 and I9 of one DuckDB file, by questions of its own: it shares none with the product. */

import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { type Ask, askACopy } from './ask-a-copy.ts';
import { addTo, describeSum, differences, exact, type Sum } from './exact-sums.ts';
import {
  broken,
  type InvariantName,
  type InvariantOptions,
  type Truth,
  type Violation,
} from './violation.ts';

/** @param nameOf under which name a broken invariant is told: all of the published file's are I5 */
export async function checkDatabase(
  path: string,
  { dataDir, truth }: InvariantOptions,
  nameOf: (invariant: InvariantName) => InvariantName,
): Promise<readonly Violation[]> {
  try {
    const found = await askACopy(path, async (ask) => [
      ...(await checkRows(ask, truth)),
      ...(await checkLedgers(ask, dataDir)),
      ...(await checkVoided(ask, truth)),
      ...(await ask('select index_name from duckdb_indexes()')).map(({ index_name }) =>
        broken('I9', `there is an index ${index_name}`),
      ),
    ]);
    return found.map(({ invariant, what }) =>
      broken(nameOf(invariant), `${basename(path)}: ${invariant} ${what}`),
    );
  } catch (error) {
    return [broken(nameOf('I2'), `${basename(path)} cannot be read: ${String(error)}`)];
  }
}

/** I2 against the service's books: rows and sum of each invoice, and of each key that reports add up by. */
async function checkRows(ask: Ask, { billed }: Truth): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  for (const key of ['invoiceId', 'tenant', 'carrier'] as const) {
    const column = key === 'invoiceId' ? 'invoice_id' : key;
    const expected = new Map<string, Sum>();
    for (const row of billed) addTo(expected, `${row[key]} ${row.currencyCode}`, row.billingCost);
    const found = new Map(
      (
        await ask(
          `select ${column}::varchar || ' ' || currency_code as name, count(*) as n, sum(billing_cost) as cost
           from shipments group by all`,
        )
      ).map(({ name, n, cost }): [string, Sum] => [
        name ?? '',
        { rows: Number(n), tenThousandths: exact(cost ?? '') },
      ]),
    );
    for (const what of differences(expected, found)) violations.push(broken('I2', `${column} ${what}`));
  }
  return violations;
}

/** I2 against ledger and file, and I3. */
async function checkLedgers(ask: Ask, dataDir: string): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  const loads = await ask(
    `select l.load_id, l.invoice_id, l.file_sha256, l.shipments, l.billing_cost,
            count(r.load_id) as stored, coalesce(sum(r.billing_cost), 0) as stored_cost
     from internal.loads as l left join internal.shipment_rows as r on r.load_id = l.load_id group by all`,
  );
  for (const load of loads) {
    const name = `load ${load.load_id} of invoice ${load.invoice_id}`;
    if (load.stored !== load.shipments || exact(load.stored_cost ?? '') !== exact(load.billing_cost ?? '')) {
      violations.push(
        broken(
          'I2',
          `${name}: ${load.stored} rows (${load.stored_cost}), ledger ${load.shipments} (${load.billing_cost})`,
        ),
      );
    }
    const file = await sumOfFile(dataDir, load.file_sha256 ?? '');
    if (
      describeSum(file) !==
      describeSum({ rows: Number(load.stored), tenThousandths: exact(load.stored_cost ?? '') })
    ) {
      violations.push(
        broken('I2', `${name}: ${load.stored} rows (${load.stored_cost}), file ${describeSum(file)}`),
      );
    }
  }
  for (const { what } of await ask(
    `select 'row of load ' || load_id || ', which no ledger knows' as what from internal.shipment_rows
     where load_id not in (select load_id from internal.loads) group by load_id
     union all
     select 'load ' || current_load_id || ' is active for ' || count(*) || ' invoices' from internal.invoice_state
     where current_load_id is not null group by current_load_id having count(*) > 1
     union all
     select 'invoice ' || invoice_id || ' has file ' || file_sha256 || ' ' || count(*) || ' times' from internal.loads
     group by invoice_id, file_sha256 having count(*) > 1
     union all
     select 'invoice ' || invoice_id || ' has ' || count(distinct file_sha256) || ' files in shipments'
     from shipments group by invoice_id having count(distinct file_sha256) > 1
     union all
     select 'invoice ' || invoice_id || ' has ' || count(*) || ' rows of state' from internal.invoice_state
     group by invoice_id having count(*) > 1`,
  )) {
    violations.push(broken('I3', what ?? ''));
  }
  return violations;
}

/** I4: neither as rows nor as an invoice that counts. */
async function checkVoided(ask: Ask, { voided }: Truth): Promise<readonly Violation[]> {
  const shown = new Set(
    (await ask('select distinct invoice_id from shipments')).map(({ invoice_id }) => invoice_id),
  );
  const states = new Map(
    (await ask('select invoice_id, state from invoices')).map((row) => [row.invoice_id, row.state]),
  );
  return voided.flatMap((id) => [
    ...(shown.has(id) ? [broken('I4', `voided invoice ${id} has rows in shipments`)] : []),
    ...(states.get(id) === 'voided'
      ? []
      : [broken('I4', `voided invoice ${id} is ${states.get(id) ?? 'unknown'}`)]),
  ]);
}

/** The archived file, read by another CSV reader than the product's two. */
async function sumOfFile(dataDir: string, sha256: string): Promise<Sum | undefined> {
  const path = join(dataDir, 'archive', 'files', sha256.slice(0, 2), `${sha256}.csv`);
  const bytes = await readFile(path).catch(() => null);
  if (bytes === null) return undefined;
  const rows = parse(bytes, { columns: true, bom: true }) as Readonly<Record<string, string>>[];
  const costs = rows.map((row) => exact(row['Billing Cost'] ?? ''));
  return { rows: rows.length, tenThousandths: costs.reduce((sum, cost) => sum + cost, 0n) };
}
