/** SVG is drawn on the server, so charts need no script and print well; the library runs in a thread. */

import { visible } from '../../lib/text.ts';
import type { ChartSpec } from '../catalogue.ts';
import type { ReportColumn, ReportRow } from '../cells.ts';
import type { ReportResult } from '../report-result.ts';
import { barsOf, type ChartOption, type Drawing, optionOf, rounded } from './chart-options.ts';
import { type Point, pointsOf } from './chart-points.ts';
import { drawInThread } from './draw-in-thread.ts';
import { columnLabel } from './labels.ts';
import { escapeAttribute, escapeHtml } from './templates.ts';

export interface Drawn {
  readonly svg: string;
  readonly option: ChartOption;
}

export interface Chart {
  readonly title: string;
  readonly description: string;
  readonly wide: Drawn;
  /** The drawing for a telephone; a page shows one of the two. */
  readonly narrow: Drawn;
}

/** Returns the address of the rows of a mark; null when it has no link. */
type ChartLink = (rows: readonly ReportRow[], column: string) => string | null;

/** The widths of the two drawings in pixels. */
const WIDE_WIDTH = 900;
const NARROW_WIDTH = 350;

/** Draws one chart for each currency, since two currencies never share an axis. */
export async function drawCharts(result: ReportResult, leadTo: ChartLink = () => null): Promise<Chart[]> {
  if (result.rows.length === 0) return [];
  const drawing = result.charts.flatMap((spec) =>
    Array.from(
      Map.groupBy(result.rows, (row) => plainCell(row.currency_code)),
      ([currency, rows]) => drawChart({ result, spec, currency, rows, leadTo }),
    ),
  );
  return (await Promise.all(drawing)).flat();
}

/** @param page of the dashboard, whose script draws the chart again; the title may link to a report */
export function chartFigure(
  { title, description, wide, narrow }: Chart,
  page: { readonly address?: string } | null = null,
): string {
  const heading = escapeHtml(title);
  const drawn = (name: string, { svg, option }: Drawn): string =>
    `<div class="${name}"${page === null ? '' : ` data-chart="${escapeAttribute(JSON.stringify(option))}"`}>${svg}</div>`;
  return [
    '<figure class="card"><div class="card-body">',
    `<figcaption class="card-title">${page?.address === undefined ? heading : `<a href="${page.address}">${heading}</a>`}</figcaption>`,
    drawn('wide', wide),
    drawn('narrow', narrow),
    `<p class="text-secondary mb-0">${escapeHtml(description)}</p></div></figure>`,
  ].join('\n');
}

interface ChartRequest {
  readonly result: ReportResult;
  readonly spec: ChartSpec;
  readonly currency: string;
  readonly rows: readonly ReportRow[];
  readonly leadTo: ChartLink;
}

/** Draws a chart, or none when all values are zero or unknown. */
async function drawChart({ result, spec, currency, rows, leadTo }: ChartRequest): Promise<Chart[]> {
  const value = columnsOf(result, spec.roles.value)[0];
  const unit = value?.unit?.replace('money', currency) ?? '';
  const named = value ? `${columnLabel({ ...value, unit: null })}${unit === '' ? '' : ` in ${unit}`}` : '';
  const isBridge = spec.kind === 'waterfall' && spec.roles.series !== undefined;
  const by = [isBridge ? undefined : spec.roles.key, spec.roles.series, spec.roles.y]
    .flatMap((names) => (names === undefined ? [] : columnsOf(result, names)))
    .map((column) => columnLabel(column).toLowerCase());
  const suffix = currency === '' || unit.includes(currency) ? '' : `, shipments billed in ${currency}`;
  const title = `${named} by ${new Intl.ListFormat('en-GB').format(new Set(by))}${suffix}`;
  const points = pointsOf(spec, rows);
  if (!points.some((point) => Number(point.value ?? 0) !== 0)) return [];
  const drawing = {
    ...{ unit, spec, points, width: WIDE_WIDTH, incompleteFrom: incompleteKey(result, spec, points) },
    addressOf: ({ rows }: Point) => leadTo(rows, spec.roles.value ?? ''),
  };
  const [wide, narrow] = await Promise.all([
    draw(drawing, title),
    draw({ ...drawing, width: NARROW_WIDTH }, title),
  ]);
  return [{ title, description: describeChart(drawing, title), wide, narrow }];
}

/** The last month, when the period is still open or known invoices are missing. */
function incompleteKey(
  { head, columns }: ReportResult,
  { kind, roles }: ChartSpec,
  points: readonly Point[],
) {
  const isByMonth =
    (kind === 'line' || kind === 'stack') &&
    columns.some(({ name }) => name === roles.key && /^(ship_)?month$/.test(name));
  const last = points
    .map(({ key }) => key)
    .sort()
    .at(-1);
  if (!isByMonth || last === undefined) return null;
  const { stillOpen, notCounted } = head.completeness;
  return stillOpen !== null || notCounted !== null || last >= head.asOf.slice(0, 7) ? last : null;
}

async function draw(drawing: Drawing, title: string): Promise<Drawn> {
  const [option, height] = optionOf(drawing);
  const svg = await drawInThread({ option, height, width: drawing.width, title });
  return { option, svg: linkMarks(svg, option) };
}

const DRAWN_MARK =
  /<(path|rect|circle|polygon)\b[^>]*ecmeta_series_index="(\d+)" ecmeta_data_index="(\d+)"[^>]*><\/\1>/g;

/** An image cannot contain links, so it becomes a group. */
function linkMarks(svg: string, { series }: ChartOption): string {
  let links = 0;
  const drawn = svg.replace(DRAWN_MARK, (shape: string, _tag, at: string, index: string) => {
    const mark = series[Number(at)]?.data[Number(index)];
    if (typeof mark !== 'object' || mark.address === null) return shape;
    links += 1;
    const label = `${visible(mark.name)}: ${mark.rounded}`;
    return `<a href="${escapeAttribute(mark.address)}" aria-label="${escapeAttribute(label)}">${shape}</a>`;
  });
  return links === 0 ? svg : drawn.replace('role="img"', 'role="group"');
}

function describeChart({ points, unit, spec }: Drawing, title: string): string {
  const known = points.filter((point) => point.value !== null);
  const largest = known.reduce<Point | undefined>(
    (most, point) => (most === undefined || sizeOf(point) > sizeOf(most) ? point : most),
    undefined,
  );
  const drawn = barsOf(points).length;
  const cut = spec.kind === 'bar' && points.length > drawn ? ` The first ${drawn} of ${points.length}.` : '';
  const place = largest ? [largest.key, largest.series].filter((part) => part !== '').join(', ') : '';
  const most =
    largest && spec.kind !== 'waterfall'
      ? ` The largest is ${place} with ${`${rounded(largest.value ?? '', unit)} ${unit}`.trim()}.`
      : '';
  return `${title}.${most}${cut}`;
}

function sizeOf({ value }: Point): number {
  return Math.abs(Number(value));
}

function columnsOf(result: ReportResult, names: string | undefined): ReportColumn[] {
  return (names ?? '').split('+').map((name) => {
    const column = result.columns.find((each) => each.name === name);
    if (column) return column;
    throw new Error(`Report ${result.name}: its chart needs a column "${name}", which it does not have.`);
  });
}

function plainCell(cell: unknown): string {
  return cell === null || cell === undefined ? '' : visible(String(cell));
}
