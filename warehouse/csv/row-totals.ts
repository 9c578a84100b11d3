/** The count and sum of rows as csv-parse reads them, as `totalsOf` says it of rows that are loaded. */

import { CSV_HEADERS, type CsvHeader } from '../../lib/wire/csv-file.ts';
import { fromTenThousandths, toTenThousandths } from '../../lib/wire/decimal.ts';
import { addDamage, type DamageCounts, NO_DAMAGE } from '../../lib/wire/spreadsheet-damage.ts';
import type { Row } from '../duckdb/statements.ts';

interface Total {
  shipments: number;
  cost: bigint;
  tenant: string;
  first: string;
  last: string;
  damage: DamageCounts;
}

const INDEX = Object.fromEntries(CSV_HEADERS.map((name, index) => [name, index])) as Record<
  CsvHeader,
  number
>;

/** What rows amount to for each currency. */
export class RowTotals {
  readonly #of = new Map<string, Total>();
  #rows = 0;

  /** A row that breaks no rule. */
  add(row: readonly string[]): void {
    const cell = (name: CsvHeader): string => row[INDEX[name]] ?? '';
    const [code, tenant, day] = [cell('Currency Code'), cell('Tenant'), cell('Ship Date')];
    const total = this.#of.get(code) ?? {
      shipments: 0,
      cost: 0n,
      tenant,
      first: day,
      last: day,
      damage: NO_DAMAGE,
    };
    total.shipments += 1;
    total.damage = addDamage(total.damage, cell);
    total.cost += toTenThousandths(cell('Billing Cost'));
    if (tenant < total.tenant) total.tenant = tenant;
    if (day < total.first) total.first = day;
    if (day > total.last) total.last = day;
    this.#of.set(code, total);
    this.#rows += 1;
  }

  rows(): Row[] {
    return [...this.#of].map(([currency_code, { shipments, cost, tenant, first, last, damage }]) => ({
      ...{
        load_id: 0,
        currency_code,
        is_code: true,
        shipments,
        billing_cost: fromTenThousandths(cost),
        tenant,
      },
      ...damage,
      ...{ first_ship_date: first, last_ship_date: last, first_row: 1, last_row: this.#rows },
    }));
  }
}
