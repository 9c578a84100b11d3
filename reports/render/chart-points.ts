/** Turns a report's rows into what stands where in a chart: one exact value for each place. */

import type { ChartSpec } from '../catalogue.js';
import type { ReportRow } from '../report-result.js';

/** A place in the chart and what stands there. */
export interface Point {
  readonly key: string;
  /** The name of the line, or of the row of a heat map; empty when there is only one. */
  readonly series: string;
  /** Exact text; null: nothing is known there. */
  readonly value: string | null;
  /** Of which it is made. */
  readonly rows: readonly ReportRow[];
}

/** One point for each place. `combine=sum` adds up what several rows say of one place, in whole numbers. */
export function pointsOf(spec: ChartSpec, rows: readonly ReportRow[]): Point[] {
  const points = new Map<string, Point>();
  for (const row of rows) {
    const key = joined(row, spec.roles.key);
    const series = joined(row, spec.roles.series ?? spec.roles.y);
    const cell = row[spec.roles.value ?? ''] ?? null;
    const value = cell === null ? null : String(cell);
    const place = JSON.stringify([key, series]);
    const before = spec.roles.combine === 'sum' ? (points.get(place)?.value ?? null) : null;
    const sum = before !== null && value !== null ? plus(before, value) : (value ?? before);
    points.set(place, { key, series, value: sum, rows: [...(points.get(place)?.rows ?? []), row] });
  }
  return [...points.values()];
}

/** `a+b` as a role names two columns, whose values stand together. */
function joined(row: ReportRow, names: string | undefined): string {
  return names === undefined
    ? ''
    : names
        .split('+')
        .map((name) => label(row[name]))
        .join(' · ');
}

/** The sum of two decimals of the same scale. */
function plus(one: string, other: string): string {
  const scale = one.split('.')[1]?.length ?? 0;
  const sum = BigInt(one.replace('.', '')) + BigInt(other.replace('.', ''));
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0');
  const at = digits.length - scale;
  return `${sum < 0n ? '-' : ''}${digits.slice(0, at)}${scale > 0 ? `.${digits.slice(at)}` : ''}`;
}

function label(cell: unknown): string {
  return cell === null || cell === undefined || cell === '' ? '(none)' : String(cell);
}
