/** Turns names of columns and values of cells into what a person reads; the machine formats do not come here. */

import { visible } from '../../lib/wire/text.ts';
import { periodText } from '../period.ts';
import type { ReportCell, ReportColumn, ReportHead } from '../report-result.ts';

/** `cost_per_lb` with unit `money/lb` reads "Cost per lb"; percentages and days say so: "Share of shipments (%)". */
export function columnLabel(column: ReportColumn): string {
  if (column.label !== undefined) return visible(column.label);
  const words = column.name.replaceAll('_', ' ');
  const label = words.charAt(0).toUpperCase() + words.slice(1);
  const unit = column.unit;
  const isSaid = unit === '%' && words.includes('percent');
  if (
    unit === null ||
    isSaid ||
    unit.startsWith('money') ||
    new RegExp(`\\b${escapeRegExp(unit)}\\b`).test(words)
  )
    return label;
  return `${label} (${unit})`;
}

/** Digits are grouped by commas, 1,234,567.8900; nothing is rounded. */
export function cellLabel(cell: ReportCell, column: ReportColumn): string {
  if (cell === null) return '';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  if (column.type === 'decimal' || column.type === 'count') return grouped(String(cell));
  if (column.type === 'instant') return instantLabel(String(cell));
  return visible(String(cell));
}

/** ISO 8601 UTC as people read it, to the second. */
export function instantLabel(at: string): string {
  return at
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z')
    .replace('Z', ' UTC');
}

/** The head of a result as label and value, in the order in which it is read. */
export function headLines(head: ReportHead): [string, string][] {
  const { filters } = head;
  const chosen: [string, readonly string[]][] = [
    ['tenant', filters.tenants],
    ['carrier', filters.carriers],
    ['zone', filters.zones],
    ['currency', filters.currencies],
  ];
  const narrowed = chosen
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => `${name} ${values.map((value) => JSON.stringify(value)).join(' or ')}`);
  const parameters = Object.entries(head.parameters).filter(([, value]) => value !== null);
  return [
    ['Period', `${periodText(filters)}, by ${filters.by.replace('-', ' ')}`],
    ['Filters', narrowed.length > 0 ? narrowed.join('; ') : 'none'],
    ...(parameters.length > 0
      ? [['Parameters', parameters.map(([name, value]) => `${name} ${value}`).join(', ')] as [string, string]]
      : []),
    ['Level', head.level],
    ['As known on', filters.asKnownOn === null ? 'now' : instantLabel(filters.asKnownOn)],
    ['As of', `${instantLabel(head.asOf)}, publication ${head.publication}`],
    ['Time zone', head.timeZone],
    ['Rows', grouped(String(head.rows))],
    ['Shipments', grouped(String(head.shipments))],
    ['Weighed', weighedLabel(head)],
    ['Proved', head.provedPercent === null ? 'nothing to prove' : `${head.provedPercent} % of shipments`],
  ];
}

/** Both units are named, whatever was weighed in them. */
export function weighedLabel({ weighed }: ReportHead): string {
  const amounts = [
    `${grouped(String(weighed.inPounds))} in lb`,
    `${grouped(String(weighed.inKilograms))} in kg (1 kg = 2.2046226218 lb)`,
  ];
  if (weighed.without > 0) amounts.push(`${grouped(String(weighed.without))} without weight`);
  return amounts.join(', ');
}

/** `1234567.5` becomes `1,234,567.5`; the digits themselves stay as they are. */
export function grouped(digits: string): string {
  const [whole = '', ...fraction] = digits.split('.');
  return [whole.replace(/\B(?=(\d{3})+(?!\d))/g, ','), ...fraction].join('.');
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/%]/g, '\\$&');
}
