/** The lines that a statement adds up, as rows and as the CSV file that goes with it. */

import { createHash } from 'node:crypto';
import { renderCsv } from '../../reports/render/csv-text.ts';
import type { ReportColumn, ReportRow } from '../../reports/report-result.ts';

export interface ShipmentLines {
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
}

/** Its hash stands in the statement and it lies beside it, so it is asked for twice. */
const rendered = new WeakMap<ShipmentLines, string>();

/** RFC 4180; the same bytes for the same lines. */
export function shipmentsCsv(lines: ShipmentLines): string {
  const csv = rendered.get(lines) ?? renderCsv(lines);
  rendered.set(lines, csv);
  return csv;
}

/** How a statement names the file that goes with it. */
export function namedLines(lines: ShipmentLines): { readonly lines: number; readonly sha256: string } {
  const sha256 = createHash('sha256').update(shipmentsCsv(lines)).digest('hex');
  return { lines: lines.rows.length, sha256 };
}
