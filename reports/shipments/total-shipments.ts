/** What the shipments that were asked for come to, exactly, by currency and partner. */

import type { Prepared } from '../prepare-session.ts';
import type { PublishedFile } from '../published-file.ts';
import { readColumns, readRows } from '../read-rows.ts';
import type { LevelCount } from '../report-head.ts';
import type { ReportColumn, ReportRow } from '../report-result.ts';
import { provideShared } from '../shared-views.ts';
import { bindConditions, type ShipmentConditions } from './conditions.ts';
import { filledText, query } from './statement.ts';

export interface ShipmentTotals {
  readonly publication: number;
  readonly columns: readonly ReportColumn[];
  /** One for each currency, and for each partner where there are several. Decimals are exact text. */
  readonly rows: readonly ReportRow[];
  readonly counts: readonly LevelCount[];
}

/** @throws ReportFilterError a condition that cannot be meant */
export async function totalShipments(
  file: PublishedFile,
  prepared: Prepared,
  conditions: ShipmentConditions,
): Promise<ShipmentTotals> {
  const { publication, all } = prepared;
  const { sql, values } = bindConditions(conditions);
  await provideShared(file, sql);
  const filled = {
    asked: filledText('asked', { conditions: sql }),
    repeats: filledText('repeats', { conditions: sql }),
  };
  const reader = await query(file, 'totals', { filled, values });
  const answered = readColumns(reader, { units: TOTAL_UNITS, details: [] });
  const columns = answered.slice(
    0,
    answered.findIndex(({ name }) => name === 'level'),
  );
  const known = readRows(reader, answered);
  const found = known.filter(({ level }) => level !== null);
  const rows = readRows(reader, answered, { shown: columns }).filter(
    (_, index) => known[index]?.level === null,
  );
  const counts = all.map(({ level, allShipments, allInvoices }): LevelCount => {
    const row = found.find((each) => each.level === level);
    const of = (name: string): number => Number(row?.[name] ?? 0);
    return {
      ...{ level, allShipments, allInvoices },
      ...{ shipments: of('shipments'), invoices: of('invoices'), proved: of('proved') },
      ...{ inPounds: of('in_pounds'), inKilograms: of('in_kilograms') },
      contradictedInvoices: of('contradicted_invoices'),
    };
  });
  return { publication, columns, rows, counts };
}

const TOTAL_UNITS = {
  ...{ billing_cost: 'money', cost_per_shipment: 'money', credits: 'money' },
  ...{ billable_weight_lb: 'lb', cost_per_lb: 'money/lb' },
};
