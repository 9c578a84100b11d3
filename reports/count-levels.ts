/** How much a publication has by level, and how much of it passes the filters. */

import { jsonValue } from '../lib/duckdb-values.ts';
import type { PublishedFile } from './published-file.ts';
import type { AppliedFilters } from './report-filters.ts';
import type { LevelCount, LevelSize } from './report-head.ts';

/** What there is by level of the partners that were asked for, null for all; the empty text is an invoice of which none is known. */
export async function levelsIn(
  file: PublishedFile,
  { asKnownOn }: AppliedFilters,
  partners: readonly string[] | null,
): Promise<readonly LevelSize[]> {
  const rows =
    asKnownOn === null
      ? await file.cachedRows('levels')
      : (await file.run('levels-as-known-on')).convertRowObjects(jsonValue);
  const sizes = new Map<string, LevelSize>();
  for (const row of rows) {
    if (partners !== null && !partners.includes(String(row.partner_id ?? ''))) continue;
    const level = String(row.level);
    const { allShipments = 0, allInvoices = 0 } = sizes.get(level) ?? {};
    sizes.set(level, {
      level,
      allShipments: allShipments + Number(row.all_shipments),
      allInvoices: allInvoices + Number(row.all_invoices),
    });
  }
  return [...sizes.values()];
}

/** Of a level that the head has no row for nothing passes. */
export function withLevels(
  all: readonly LevelSize[],
  head: readonly Readonly<Record<string, unknown>>[],
): readonly LevelCount[] {
  return all.map((size) => {
    const row = head.find(({ level }) => level === size.level) ?? {};
    return {
      ...size,
      shipments: Number(row.shipments ?? 0),
      invoices: Number(row.invoices ?? 0),
      inPounds: Number(row.in_pounds ?? 0),
      inKilograms: Number(row.in_kilograms ?? 0),
      proved: Number(row.proved ?? 0),
      contradictedInvoices: Number(row.contradicted_invoices ?? 0),
    };
  });
}
