/** Draws a report's charts as SVG on the server: no script on the page, nothing fetched, prints well. The library works in a thread. */

import { visible } from '../../lib/wire/text.ts';
import type { ChartSpec } from '../catalogue.ts';
import type { ReportColumn, ReportRow } from '../cells.ts';
import type { ReportResult } from '../report-result.ts';
import { barsOf, type Drawing, MAX_BARS, optionOf } from './chart-options.ts';
import { type Point, pointsOf } from './chart-points.ts';
import { drawInThread } from './draw-in-thread.ts';
import { columnLabel, grouped } from './labels.ts';
import { escapeAttribute } from './templates.ts';

export interface Chart {
  readonly title: string;
  /** One sentence for those who cannot see it. */
  readonly description: string;
  readonly svg: string;
  /** The same drawn for a telephone, where the wide one could not be read; a page shows one of the two. */
  readonly narrowSvg: string;
}

export interface ChartOptions {
  /** Pixels of the wide drawing. */
  readonly width?: number;
  readonly mostBars?: number;
  /** The address of what a bar, a point or a cell is made of; null: there is none. */
  readonly leadTo?: (rows: readonly ReportRow[], column: string) => string | null;
}

const DEFAULT_WIDTH = 900;
const NARROW_WIDTH = 350;

/** A chart for each currency, since amounts of two currencies never share an axis. */
export async function drawCharts(
  result: ReportResult,
  { width = DEFAULT_WIDTH, mostBars = MAX_BARS, leadTo = () => null }: ChartOptions = {},
): Promise<Chart[]> {
  if (result.rows.length === 0) return [];
  const drawing = result.charts.flatMap((spec) =>
    Array.from(
      Map.groupBy(result.rows, (row) => text(row.currency_code)),
      ([currency, rows]) => drawChart({ result, spec, currency, rows, width, mostBars, leadTo }),
    ),
  );
  return (await Promise.all(drawing)).flat();
}

/** Drawing is three times as fast once the engine knows the code, so whoever starts early can have that behind him. */
export async function practiseDrawing(): Promise<void> {
  const names = Array.from({ length: 8 }, (_, index) => `${index}`);
  const rows = names.flatMap((name) =>
    names.map((key) => ({ name, key: `2026-0${key}`, value: `${Number(name) + Number(key)}` })),
  );
  const specs: readonly ChartSpec[] = [
    { kind: 'line', roles: { key: 'key', series: 'name', value: 'value' } },
    { kind: 'heatmap', roles: { key: 'key', y: 'name', value: 'value' } },
    { kind: 'bar', roles: { key: 'key', value: 'value' } },
  ];
  for (const width of [DEFAULT_WIDTH, NARROW_WIDTH, DEFAULT_WIDTH]) {
    for (const spec of specs) {
      const drawing = { title: '', unit: '', spec, points: pointsOf(spec, rows), mostBars: MAX_BARS, width };
      await drawInThread(drawing);
    }
  }
}

/** Nothing when all is zero or unknown: an empty drawing only takes room. */
async function drawChart({
  result,
  spec,
  currency,
  rows,
  width,
  mostBars,
  leadTo,
}: Wanted): Promise<Chart[]> {
  const value = columnsOf(result, spec.roles.value)[0];
  const unit = value?.unit?.replace('money', currency) ?? '';
  const named = value ? `${columnLabel({ ...value, unit: null })}${unit === '' ? '' : ` in ${unit}`}` : '';
  const by = [spec.roles.key, spec.roles.series, spec.roles.y]
    .flatMap((names) => (names === undefined ? [] : columnsOf(result, names)))
    .map((column) => columnLabel(column).toLowerCase());
  const suffix = currency === '' || unit.includes(currency) ? '' : `, shipments billed in ${currency}`;
  const title = `${named} by ${listed([...new Set(by)])}${suffix}`;
  const points = pointsOf(spec, rows);
  const incompleteFrom = incompleteKey(result, spec, points);
  if (!points.some((point) => Number(point.value ?? 0) !== 0)) return [];
  const drawn = async (size: number): Promise<string> => {
    const drawing = { title, unit, spec, points, mostBars, width: size, incompleteFrom };
    const [, , places] = optionOf(drawing);
    const svg = await drawInThread(drawing);
    return linked(svg, (series, index) => {
      const point = places[series]?.[index];
      const address = point === undefined ? null : leadTo(point.rows, spec.roles.value ?? '');
      if (point === undefined || address === null) return null;
      const place = [point.key, point.series].filter((part) => part !== '').join(', ');
      return { address, label: `${visible(place)}: ${grouped(point.value ?? '')} ${unit}`.trim() };
    });
  };
  const description = describe({ title, unit, spec, points, mostBars, width });
  const [svg, narrowSvg] = await Promise.all([drawn(width), drawn(NARROW_WIDTH)]);
  return [{ title, description, svg, narrowSvg }];
}

/** The last month of a line, where it may still change: it is still open, or known invoices are missing. */
function incompleteKey(
  { head, columns }: ReportResult,
  { kind, roles }: ChartSpec,
  points: readonly Point[],
) {
  const isByMonth =
    kind === 'line' && columns.some(({ name }) => name === roles.key && /^(ship_)?month$/.test(name));
  const last = points
    .map(({ key }) => key)
    .sort()
    .at(-1);
  if (!isByMonth || last === undefined) return null;
  const { stillOpen, notCounted } = head.completeness;
  return stillOpen !== null || notCounted !== null || last >= head.asOf.slice(0, 7) ? last : null;
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

interface Wanted {
  readonly result: ReportResult;
  readonly spec: ChartSpec;
  readonly currency: string;
  readonly rows: readonly ReportRow[];
  readonly width: number;
  readonly mostBars: number;
  readonly leadTo: NonNullable<ChartOptions['leadTo']>;
}

const MARK =
  /<(path|rect|circle|polygon)\b[^>]*ecmeta_series_index="(\d+)" ecmeta_data_index="(\d+)"[^>]*><\/\1>/g;

/** Each mark is a link to what it stands for. A picture holds no links, so it is a group then. */
function linked(
  svg: string,
  linkOf: (series: number, index: number) => { readonly address: string; readonly label: string } | null,
): string {
  let links = 0;
  const drawn = svg.replace(MARK, (mark: string, _tag, series: string, index: string) => {
    const link = linkOf(Number(series), Number(index));
    if (link === null) return mark;
    links += 1;
    return `<a href="${escapeAttribute(link.address)}" aria-label="${escapeAttribute(link.label)}">${mark}</a>`;
  });
  return links === 0 ? svg : drawn.replace('role="img"', 'role="group"');
}

function describe({ title, points, unit, spec, mostBars }: Drawing): string {
  const known = points.filter((point) => point.value !== null);
  const largest = known.reduce<Point | undefined>(
    (most, point) => (most === undefined || Number(point.value) > Number(most.value) ? point : most),
    undefined,
  );
  const cut =
    spec.kind === 'bar' && points.length > barsOf(points, mostBars).length
      ? ` The first ${barsOf(points, mostBars).length} of ${points.length}.`
      : '';
  const place = largest ? [largest.key, largest.series].filter((part) => part !== '').join(', ') : '';
  const most = largest
    ? ` The largest is ${place} with ${grouped(largest.value ?? '')}${unit === '' ? '' : ` ${unit}`}.`
    : '';
  return `${title}.${most}${cut}`;
}

function columnsOf(result: ReportResult, names: string | undefined): ReportColumn[] {
  return (names ?? '').split('+').map((name) => {
    const column = result.columns.find((each) => each.name === name);
    if (column) return column;
    throw new Error(`Report ${result.name}: its chart needs a column "${name}", which it does not answer.`);
  });
}

function text(cell: unknown): string {
  return cell === null || cell === undefined ? '' : visible(String(cell));
}
