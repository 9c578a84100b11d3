import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { shortName } from '../lib/text.ts';
import type { ReportCell } from '../reports/cells.ts';
import { money, stateBadge, stateLabel } from '../reports/render/html-cells.ts';
import { CHART_CSS } from '../reports/render/html-page.ts';
import { grouped, instantLabel } from '../reports/render/labels.ts';
import { escapeAttribute, escapeHtml, templatesIn } from '../reports/render/templates.ts';

export interface Frame {
  readonly title: string;
  readonly section: string;
  readonly environment: string;
  /** The text `As of …, publication …`; null when nothing is published. */
  readonly asOf: string | null;
  readonly canAct: boolean;
  readonly lead?: string;
  readonly period: string;
  /** Menu entries of other parts, by group of the menu. */
  readonly plugins: ReadonlyMap<string, readonly MenuEntry[]>;
  readonly badges: Readonly<Record<string, number>>;
  readonly unhealthy: readonly { readonly name: string; readonly detail: string; readonly since: string }[];
}

export type MenuEntry = readonly [address: string, label: string, icon: string];

/** Values of a view, of which none may have the name of a helper. */
export type ViewValues = Readonly<Record<string, unknown>> & {
  readonly [name in keyof typeof HELPERS]?: never;
};

const SPLIT = '<!-- body -->';

const eta = templatesIn(new URL('./views', import.meta.url));

const kit = asset('kit', 'css', withDarkScheme(textOf('@tabler/core/dist/css/tabler.min.css')));
const style = asset('style', 'css', `${CHART_CSS}\n${textOf('./dashboard.css')}`);
const script = asset('script', 'js', textOf('./page.js'));
const charts = asset('charts', 'js', textOf('echarts/dist/echarts.min.js'));
export const ASSETS = [kit, style, script, charts] as const;

function textOf(file: string): string {
  return readFileSync(fileURLToPath(import.meta.resolve(file)), 'utf8');
}

function asset(name: string, extension: 'css' | 'js', content: string) {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  let compressed: Buffer | null = null;
  return {
    ...{ address: `/${name}-${hash}.${extension}`, content },
    type: `text/${extension === 'css' ? 'css' : 'javascript'}; charset=utf-8`,
    compressed: () => (compressed ??= gzipSync(content)),
  };
}

/** The kit's dark rules need an attribute that a script would have to set; these follow the system without one. */
function withDarkScheme(css: string): string {
  const rules = [...css.matchAll(/([^{}]+)\{([^{}]*)\}/g)].flatMap(
    ([, selectors = '', declarations = '']) => {
      const dark = selectors.split(',').filter((selector) => selector.startsWith('[data-bs-theme=dark]'));
      if (dark.length === 0 || selectors.startsWith(':root')) return [];
      return `${dark.join(',').replaceAll('[data-bs-theme=dark]', ':root')}{${declarations}}`;
    },
  );
  return `${css}\n@media screen and (prefers-color-scheme: dark){${rules.join('')}}`;
}

const HELPERS = {
  ...{ count, money, instant: instantText, stateLabel, withCode, copyable, icon, stateBadge },
  attribute: escapeAttribute,
  inPath: (name: unknown) => encodeURIComponent(shortName(String(name))),
  escape: escapeHtml,
} as const;

const MENU: readonly (readonly [group: string, entries: readonly MenuEntry[]])[] = [
  ['', [['/', 'Overview', 'home']]],
  [
    'Analyze',
    [
      ['/reports', 'Reports', 'graph'],
      ['/shipments', 'Shipments', 'package'],
    ],
  ],
  [
    'Invoices',
    [
      ['/invoices', 'Invoices', 'file'],
      ['/quarantine', 'Needs a person', 'person'],
      ['/reports/gaps', 'Gaps', 'search'],
    ],
  ],
  ['Findings', []],
  ['Month end', []],
  [
    'System',
    [
      ['/alerts', 'Alerts', 'bell'],
      ['/events', 'Events', 'webhook'],
      ['/health', 'Health', 'pulse'],
    ],
  ],
];
const KEEPS_PERIOD = ['/', '/shipments', '/reports'];
const ACT: MenuEntry = ['/operator', 'Actions', 'play'];

export function renderPage(view: string, frame: Frame, values: ViewValues): string {
  const body = renderPart(view, { ...values, canAct: frame.canAct });
  const around = { lead: '', ...frame };
  const keepsPeriod = (address: string): boolean => KEEPS_PERIOD.includes(address) && around.period !== '';
  const menu = MENU.map(([group, entries]) => {
    const added = group === 'System' && frame.canAct ? [ACT] : (frame.plugins.get(group) ?? []);
    return {
      group,
      entries: [...entries, ...added].map(([address, label, icon]) => ({
        ...{ label, icon, isCurrent: address === frame.section, badge: frame.badges[address] ?? 0 },
        href: keepsPeriod(address) ? `${address}?${around.period}` : address,
      })),
    };
  }).filter(({ entries }) => entries.length > 0);
  const files = { styles: [kit.address, style.address], script: script.address, charts: charts.address };
  return eta.render('./layout', { ...around, body, split: SPLIT, menu, ...files, ...HELPERS });
}

export function renderPart(view: string, values: ViewValues): string {
  return eta.render(`./${view}`, { ...values, ...HELPERS });
}

/** The part `above` can be sent before the body of the page is known. */
export function splitPage(html: string): { readonly above: string; readonly below: string } {
  const at = html.indexOf(SPLIT);
  return { above: html.slice(0, at), below: html.slice(at) };
}

function withCode(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function copyable(text: unknown): string {
  return `<code class="text-break" data-copy="${escapeAttribute(text)}">${escapeHtml(text)}</code>`;
}

export function count(cell: ReportCell | undefined): string {
  return cell === null || cell === undefined ? '' : grouped(String(cell));
}

export function instantText(cell: ReportCell | undefined): string {
  return cell === null || cell === undefined ? '' : instantLabel(String(cell));
}

/** @param name the name of a file of the icon set */
function icon(name: string): string {
  const known = icons.get(name);
  if (known !== undefined) return known;
  const file = import.meta.resolve(`@primer/octicons/build/svg/${name}-16.svg`);
  const read = readFileSync(fileURLToPath(file), 'utf8').replace(
    '<svg ',
    '<svg class="icon" fill="currentColor" aria-hidden="true" ',
  );
  icons.set(name, read);
  return read;
}

const icons = new Map<string, string>();
