/** Chooses the level of invoices that a report counts, and writes the notes of its head. */

import { jsonValue } from '../lib/duckdb-values.ts';
import type { PublishedFile } from './published-file.ts';
import { grouped } from './render/labels.ts';
import type { AppliedFilters, ReportLevel } from './report-filters.ts';
import type { ReportHead } from './report-result.ts';

export interface LevelSize {
  /** `tenant`, `partner` or `unknown` (imported without details). */
  readonly level: string;
  /** Without any filter. */
  readonly allShipments: number;
  /** All invoices, in any state, without filters. */
  readonly allInvoices: number;
}

export interface LevelCount extends LevelSize {
  /** With the filters, as are the rest. */
  readonly shipments: number;
  readonly invoices: number;
  readonly inPounds: number;
  readonly inKilograms: number;
  readonly proved: number;
  readonly contradictedInvoices: number;
}

/** Tenant level, unless only partner-level invoices exist (drafts, before anything is loaded). */
export function chooseLevel(counts: readonly LevelSize[]): ReportLevel {
  const loaded = counts.filter((count) => count.allShipments > 0);
  const known = loaded.length > 0 ? loaded : counts.filter((count) => count.allInvoices > 0);
  const levels = known.map((count) => count.level);
  return levels.length > 0 && levels.every((level) => level === 'partner') ? 'partner' : 'tenant';
}

/** The values of `invoice_level` that a level counts; an unknown one counts with the tenants. */
export function levelsOf(level: ReportLevel): readonly string[] {
  if (level === 'all') return ['tenant', 'unknown', 'partner'];
  return level === 'partner' ? ['partner'] : ['tenant', 'unknown'];
}

export function weighedIn(counts: readonly LevelCount[]): ReportHead['weighed'] {
  const sum = (of: (count: LevelCount) => number): number =>
    counts.reduce((total, count) => total + of(count), 0);
  const inPounds = sum((count) => count.inPounds);
  const inKilograms = sum((count) => count.inKilograms);
  return { inPounds, inKilograms, without: sum((count) => count.shipments) - inPounds - inKilograms };
}

/** Percent with two decimals, rounded down, so that 100.00 means all of them. */
export function provedPercent(counts: readonly LevelCount[]): string | null {
  const shipments = BigInt(counts.reduce((sum, count) => sum + count.shipments, 0));
  if (shipments === 0n) return null;
  const hundredths = (BigInt(counts.reduce((sum, count) => sum + count.proved, 0)) * 10_000n) / shipments;
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, '0')}`;
}

export function limitNotes({ rows, found }: Pick<ReportHead, 'rows' | 'found'>): readonly string[] {
  return rows < found ? [`${rows} of ${found} rows: the limit leaves out the others.`] : [];
}

/** Full sentences, most important first. */
export function headNotes(about: {
  readonly counts: readonly LevelCount[];
  readonly level: ReportLevel;
  /** false: the level was chosen automatically. */
  readonly chosen: boolean;
  /** true: the report compares the levels. */
  readonly comparesLevels: boolean;
  readonly filters: AppliedFilters;
  /** true: the report shows states of invoices, which are published as they are now only. */
  readonly readsStates: boolean;
  /** Invoices of another level that pass the filters, where the report lists invoices. */
  readonly invoicesLeftOut: number;
}): string[] {
  const { counts, level } = about;
  const of = (name: string): LevelCount | undefined =>
    counts.find((count) => count.level === name && count.shipments > 0);
  const partner = of('partner');
  const tenant = of('tenant');
  const unknown = of('unknown');
  const notes: string[] = [];
  if (about.comparesLevels && partner && (tenant ?? unknown)) {
    notes.push('Both levels are read and set side by side; a shipment billed at both counts once at each.');
  }
  const addsOneLevel = !about.comparesLevels;
  if (addsOneLevel && level === 'tenant' && partner) {
    notes.push(
      `Left out: ${amount(partner)} at partner level. A partner-level invoice sums the shipments of all tenants, and adding both counts twice; the level partner or all shows them.`,
    );
  }
  if (addsOneLevel && level === 'partner' && (tenant ?? unknown)) {
    notes.push(`Left out: ${amount(tenant, unknown)} at tenant level, so that nothing is counted twice.`);
  }
  if (addsOneLevel && level === 'partner' && !about.chosen)
    notes.push('Only partner-level invoices exist, so these are reported.');
  if (addsOneLevel && level === 'all' && partner && (tenant ?? unknown)) {
    notes.push('Both levels are added: a shipment billed to a tenant and to the partner is counted twice.');
  }
  if (level !== 'partner' && unknown) {
    notes.push(
      `Counted with the tenants: ${amount(unknown)} whose level is unknown (imported without details).`,
    );
  }
  if (about.invoicesLeftOut > 0) {
    const other = level === 'tenant' ? 'partner' : 'tenant';
    notes.push(
      `Not listed: ${plural(about.invoicesLeftOut, 'invoice')} at ${other} level; the level ${other} or all lists them.`,
    );
  }
  const selected = counts.filter((count) => levelsOf(level).includes(count.level));
  const { without } = weighedIn(selected);
  if (without > 0)
    notes.push(`Without weight: ${plural(without, 'shipment')}; averages per lb contain their cost.`);
  const contradicted = selected.reduce((sum, count) => sum + count.contradictedInvoices, 0);
  if (contradicted > 0) {
    notes.push(
      `Contradicted by their own header or event: ${plural(contradicted, 'invoice')}; the report proof says how.`,
    );
  }
  if (about.filters.asKnownOn !== null) {
    notes.push(
      about.readsStates
        ? `Shipments are as they were known on ${about.filters.asKnownOn}; states of invoices are those of the publication.`
        : `Answered as it was known on ${about.filters.asKnownOn}.`,
    );
  }
  return notes;
}

function amount(...counts: readonly (LevelCount | undefined)[]): string {
  const sum = (of: (count: LevelCount) => number): number =>
    counts.reduce((total, count) => total + (count ? of(count) : 0), 0);
  return `${plural(
    sum((count) => count.shipments),
    'shipment',
  )} of ${plural(
    sum((count) => count.invoices),
    'invoice',
  )}`;
}

function plural(count: number, noun: string): string {
  return `${grouped(String(count))} ${noun}${count === 1 ? '' : 's'}`;
}

/** @param partners null: all; the empty text: invoices without a known partner */
export async function levelsIn(
  file: PublishedFile,
  { asKnownOn }: AppliedFilters,
  partners: readonly string[] | null,
): Promise<readonly LevelSize[]> {
  const rows =
    asKnownOn === null
      ? await file.cachedRows('levels')
      : (await file.run('levels-as-known-on')).convertRowObjects(jsonValue);
  const sizes = new Map<string, LevelSize>();
  for (const row of rows) {
    if (partners !== null && !partners.includes(String(row.partner_id ?? ''))) continue;
    const level = String(row.level);
    const { allShipments = 0, allInvoices = 0 } = sizes.get(level) ?? {};
    sizes.set(level, {
      level,
      allShipments: allShipments + Number(row.all_shipments),
      allInvoices: allInvoices + Number(row.all_invoices),
    });
  }
  return [...sizes.values()];
}

/** A level without a row in the head has no shipments that pass the filters. */
export function withLevels(
  all: readonly LevelSize[],
  head: readonly Readonly<Record<string, unknown>>[],
): readonly LevelCount[] {
  return all.map((size) => {
    const row = head.find(({ level }) => level === size.level) ?? {};
    return {
      ...size,
      shipments: Number(row.shipments ?? 0),
      invoices: Number(row.invoices ?? 0),
      inPounds: Number(row.in_pounds ?? 0),
      inKilograms: Number(row.in_kilograms ?? 0),
      proved: Number(row.proved ?? 0),
      contradictedInvoices: Number(row.contradicted_invoices ?? 0),
    };
  });
}
