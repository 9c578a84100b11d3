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
  const placed = Map.groupBy(rows, (row) => JSON.stringify([cellsOf(row, across), cellsOf(row, line ?? y)]));
  const [keyOf, seriesOf] = [distinctLabels(), distinctLabels()];
  return Array.from(placed, ([place, of]) => {
    const [cells = [], others = []] = JSON.parse(place) as unknown[][];
    const [key, series] = [keyOf(cells), seriesOf(others)];
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

function cellsOf(row: ReportRow, names: string | undefined): readonly unknown[] {
  return names === undefined ? [] : names.split('+').map((name) => row[name] ?? null);
}

/** Different cells have different labels, as the columns of a pivot have. */
function distinctLabels(): (cells: readonly unknown[]) => string {
  const owners = new Map<string, string>();
  return (cells) => {
    const owner = JSON.stringify(cells);
    let name = cells.map(cellText).join(' · ');
    while ((owners.get(name) ?? owner) !== owner) name = `[${name}]`;
    owners.set(name, owner);
    return name;
  };
}

/** Adds two decimals of the same scale. */
export function addDecimals(one: string, other: string): string {
  const scale = one.split('.')[1]?.length ?? 0;
  const sum = BigInt(one.replace('.', '')) + BigInt(other.replace('.', ''));
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0');
  const at = digits.length - scale;
  return `${sum < 0n ? '-' : ''}${digits.slice(0, at)}${scale > 0 ? `.${digits.slice(at)}` : ''}`;
}

const NONE = '(none)';

function cellText(cell: unknown): string {
  if (cell === null || cell === '') return NONE;
  return cell === NONE ? `[${NONE}]` : visible(shortName(String(cell)));
}
