/** Renders the pages' templates; everything that is put into one is escaped unless it is HTML of our own making. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { REPORT_CSS } from '../reports/render/html-page.ts';
import { grouped, instantLabel } from '../reports/render/labels.ts';
import { escapeAttribute, escapeHtml, templatesIn } from '../reports/render/templates.ts';
import type { ReportCell } from '../reports/report-result.ts';

export type ViewName =
  | 'overview'
  | 'invoices'
  | 'invoice'
  | 'events'
  | 'quarantine'
  | 'quarantined'
  | 'reports'
  | 'report'
  | 'report-form'
  | 'shipments'
  | 'shipments-form'
  | 'shipment'
  | 'found'
  | 'alerts'
  | 'runbook'
  | 'operator'
  | 'operator-agree'
  | 'operator-done'
  | 'operator-backfill'
  | 'operator-audit'
  | 'health'
  | 'views'
  | 'guest'
  | 'message';

export interface Frame {
  readonly title: string;
  /** Which entry of the menu is the current one. */
  readonly section: string;
  readonly environment: string;
  /** `As of …, publication …`; null when nothing is published. */
  readonly asOf: string | null;
  /** Whether an operator can act from the pages. */
  readonly canAct: boolean;
  /** true: a newer publication is there, and its page is being made. */
  readonly isFormer: boolean;
  /** HTML that stands above the body. */
  readonly lead?: string;
  /** The days of the page as a query, empty for all. */
  readonly period: string;
  /** Entries of the menu besides our own. */
  readonly guests: readonly (readonly [address: string, label: string])[];
  /** Components that are not well. */
  readonly unwell: readonly { readonly name: string; readonly detail: string; readonly since: string }[];
}

/** What a template is given; no value may have the name of a helper, which would stand in its place. */
export type ViewValues = Readonly<Record<string, unknown>> & {
  readonly [name in keyof typeof HELPERS]?: never;
};

/** Where the part of a page begins that has to be waited for. */
const SPLIT = '<!-- figures -->';

const eta = templatesIn(new URL('./views', import.meta.url));

const style = asset('style', 'css', `${REPORT_CSS}\n${textBeside('dashboard.css')}`);
const script = asset('script', 'js', textBeside('page.js'));
/** What every page fetches besides itself. */
export const ASSETS = [
  { ...style, type: 'text/css; charset=utf-8' },
  { ...script, type: 'text/javascript; charset=utf-8' },
] as const;

function textBeside(file: string): string {
  return readFileSync(new URL(`./${file}`, import.meta.url), 'utf8');
}

/** Its address changes with what it says, so that a browser may keep it for ever. */
function asset(name: string, extension: string, text: string) {
  const mark = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return { address: `/${name}-${mark}.${extension}`, text };
}

/** What every template can call. */
const HELPERS = {
  ...{ count, money, instant, stateLabel, words },
  attribute: escapeAttribute,
  escape: escapeHtml,
} as const;

/** In the order of the menu. */
const SECTIONS: readonly (readonly [string, string])[] = [
  ['/', 'Overview'],
  ['/shipments', 'Shipments'],
  ['/invoices', 'Invoices'],
  ['/events', 'Events'],
  ['/quarantine', 'Quarantine'],
  ['/reports/gaps', 'Gaps'],
  ['/reports', 'Reports'],
  ['/alerts', 'Alerts'],
  ['/health', 'Health'],
];
/** Whoever goes there from a page of some days means the same days. */
const KEEPS_PERIOD = ['/shipments', '/reports'];

const ACT = ['/operator', 'Act'] as const;

export function renderPage(view: ViewName, frame: Frame, values: ViewValues): string {
  const body = renderPart(view, { ...values, canAct: frame.canAct });
  const around = { lead: '', ...frame };
  return eta.render('./layout', {
    ...around,
    body,
    split: SPLIT,
    instant,
    sections: [...SECTIONS, ...frame.guests, ...(frame.canAct ? [ACT] : [])].map(([address, label]) => ({
      ...{ address, label },
      href: KEEPS_PERIOD.includes(address) && around.period !== '' ? `${address}?${around.period}` : address,
    })),
    style: style.address,
    script: script.address,
  });
}

/** @returns HTML of one template without the page around it; values are escaped */
export function renderPart(view: ViewName, values: ViewValues): string {
  return eta.render(`./${view}`, { ...values, ...HELPERS });
}

/** A rendered page as what can be sent before its body is known, and the rest of it. */
export function splitPage(html: string): { readonly above: string; readonly below: string } {
  const at = html.indexOf(SPLIT);
  return { above: html.slice(0, at), below: html.slice(at) };
}

/** Words with commands between backticks, as HTML. */
function words(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

/** 12,345 */
export function count(cell: ReportCell | undefined): string {
  return cell === null || cell === undefined ? '' : grouped(String(cell));
}

/** 1,234.5600 USD */
function money(cell: ReportCell | undefined, currency: ReportCell | undefined): string {
  return cell === null || cell === undefined ? '' : `${grouped(String(cell))} ${currency ?? ''}`.trim();
}

export function instant(cell: ReportCell | undefined): string {
  return cell === null || cell === undefined ? '' : instantLabel(String(cell));
}

function stateLabel(state: ReportCell | undefined): string {
  return String(state ?? '').replaceAll('_', ' ');
}
