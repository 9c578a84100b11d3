import { shortName, visible } from '../../lib/text.ts';
import type { ChartSpec } from '../catalogue.ts';
import type { ReportRow } from '../cells.ts';

export interface Point {
  readonly key: string;
  /** The name of the line, or of the row of a heat map; empty when there is only one. */
  readonly series: string;
  /** The value as exact text; null when it is unknown. */
  readonly value: string | null;
  readonly rows: readonly ReportRow[];
}

/** Returns a point for each place; `combine=sum` adds rows of one place. */
export function pointsOf(spec: ChartSpec, rows: readonly ReportRow[]): Point[] {
  const { key: across, series: line, y, value: column = '', combine } = spec.roles;
  const placed = Map.groupBy(rows, (row) =>
    JSON.stringify([joinedLabels(row, across), joinedLabels(row, line ?? y)]),
  );
  return Array.from(placed, ([place, of]) => {
    const [key = '', series = ''] = JSON.parse(place) as string[];
    const values = of.map(({ [column]: cell = null }) => (cell === null ? null : String(cell)));
    return { key, series, value: combine === 'sum' ? sumOf(values) : (values.at(-1) ?? null), rows: of };
  });
}

export function sumOf(values: readonly (string | null)[]): string | null {
  return values.reduce(
    (sum, value) => (sum === null || value === null ? (sum ?? value) : addDecimals(sum, value)),
    null,
  );
}

function joinedLabels(row: ReportRow, names: string | undefined): string {
  return names === undefined
    ? ''
    : names
        .split('+')
        .map((name) => cellText(row[name]))
        .join(' · ');
}

/** Adds two decimals of the same scale. */
export function addDecimals(one: string, other: string): string {
  const scale = one.split('.')[1]?.length ?? 0;
  const sum = BigInt(one.replace('.', '')) + BigInt(other.replace('.', ''));
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0');
  const at = digits.length - scale;
  return `${sum < 0n ? '-' : ''}${digits.slice(0, at)}${scale > 0 ? `.${digits.slice(at)}` : ''}`;
}

function cellText(cell: unknown): string {
  return cell === null || cell === undefined || cell === '' ? '(none)' : visible(shortName(String(cell)));
}
