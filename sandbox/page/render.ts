import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import type { Account } from '../account.ts';
import type { InternalStatus } from '../model.ts';

export interface Page {
  readonly view: string;
  readonly title: string;
  readonly section: Section;
  readonly data: Readonly<Record<string, unknown>>;
}

export const SECTIONS = ['overview', 'invoices', 'webhooks', 'schedules', 'deliveries', 'faults'] as const;
export type Section = (typeof SECTIONS)[number];

export interface Surroundings {
  /** Empty or `/production`. */
  readonly base: string;
  readonly account: Account;
  readonly notice: string | null;
  readonly problem: string | null;
}

const eta = new Eta({ views: join(import.meta.dirname, 'views'), cache: true, autoTrim: false });

const STATUS_LABELS: Readonly<Record<InternalStatus, string>> = {
  DRAFT: 'Draft',
  PENDING_APPROVAL: 'Pending approval',
  APPROVED: 'Approved',
  CANCELED: 'Canceled',
};

export function renderPage(page: Page, { base, account, notice, problem }: Surroundings): string {
  const { environment, partner } = account;
  const { title, section } = page;
  const frame = { title, section, base, environment, partner, notice, problem };
  const body = eta.render(`./${page.view}`, { ...page.data, ...frame, h: HELPERS });
  return eta.render('./layout', { ...frame, body, h: HELPERS, sections: SECTIONS });
}

const ICONS: Readonly<Record<Section, string>> = {
  ...{ overview: iconNamed('home'), invoices: iconNamed('file'), webhooks: iconNamed('webhook') },
  ...{ schedules: iconNamed('clock'), deliveries: iconNamed('paper-airplane'), faults: iconNamed('bug') },
};

function iconNamed(name: string): string {
  const file = import.meta.resolve(`@primer/octicons/build/svg/${name}-16.svg`);
  return readFileSync(fileURLToPath(file), 'utf8').replace(
    '<svg ',
    '<svg class="icon" fill="currentColor" aria-hidden="true" ',
  );
}

const FORMATS = { badge, instant, duration, amount, count, bytes, plural };
const HELPERS = { ...FORMATS, statusLabels: STATUS_LABELS, icons: ICONS };

const COLORS: Readonly<Record<string, string>> = {
  ...{ DRAFT: 'yellow', PENDING_APPROVAL: 'azure', APPROVED: 'green', CANCELED: 'secondary' },
  ...{ pending: 'yellow', delivered: 'green', failed: 'red', dropped: 'secondary' },
  ...{ active: 'green', inactive: 'secondary', on: 'green', off: 'secondary' },
};

/** The color follows from the label unless a state is given. */
function badge(label: string, state: string = label): string {
  const text = STATUS_LABELS[label as InternalStatus] ?? label;
  return `<span class="badge bg-${COLORS[state] ?? 'secondary'}-lt">${eta.config.escapeFunction(text)}</span>`;
}

/** In UTC. */
function instant(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

/** The largest unit that the number is a multiple of: `2 h`, `90 s`. */
function duration(seconds: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
  ] as const;
  const unit = units.find(([, length]) => seconds >= length && seconds % length === 0);
  return unit === undefined ? `${seconds} s` : `${seconds / unit[1]} ${unit[0]}`;
}

function amount(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

function count(value: number): string {
  return amount(String(value));
}

function bytes(size: number): string {
  if (size < 1_000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1_000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

function plural(value: number, noun: string, nouns = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : nouns}`;
}
