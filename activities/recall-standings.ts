/** Reads where very many invoices stand, for a backfill that asks the service only about what the ledger leaves open. */

import type { LedgerStatus } from '../warehouse/warehouse.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export function recallStandings({ warehouse }: WarehouseDependencies) {
  return ({ invoiceIds }: { readonly invoiceIds: readonly string[] }): Promise<readonly LedgerStatus[]> =>
    translated(() => warehouse.ledgerStatuses(invoiceIds));
}
