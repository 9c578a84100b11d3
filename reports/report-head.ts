/** Decides which level of invoices a report counts, and says in sentences what a reader must know about the choice. */

import type { AppliedFilters, ReportLevel } from './report-filters.js';

export interface LevelCount {
  /** `tenant`, `partner` or `unknown` (imported without details). */
  readonly level: string;
  /** Without any filter. */
  readonly allShipments: number;
  /** With the filters, as are the rest. */
  readonly shipments: number;
  readonly invoices: number;
  readonly weighed: number;
  readonly proved: number;
  readonly contradictedInvoices: number;
}

/** Tenant level, unless only partner-level invoices exist. */
export function chooseLevel(counts: readonly LevelCount[]): ReportLevel {
  const levels = counts.filter((count) => count.allShipments > 0).map((count) => count.level);
  return levels.length > 0 && levels.every((level) => level === 'partner') ? 'partner' : 'tenant';
}

/** The values of `invoice_level` that a level counts; an unknown one counts with the tenants (decision 25). */
export function levelsOf(level: ReportLevel): readonly string[] {
  if (level === 'all') return ['tenant', 'unknown', 'partner'];
  return level === 'partner' ? ['partner'] : ['tenant', 'unknown'];
}

/** Percent with two decimals, rounded down, so that 100.00 means all of them. */
export function provedPercent(counts: readonly LevelCount[]): string | null {
  const shipments = BigInt(counts.reduce((sum, count) => sum + count.shipments, 0));
  if (shipments === 0n) return null;
  const hundredths = (BigInt(counts.reduce((sum, count) => sum + count.proved, 0)) * 10_000n) / shipments;
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, '0')}`;
}

/** Full sentences, most important first. */
export function headNotes(about: {
  readonly counts: readonly LevelCount[];
  readonly level: ReportLevel;
  /** true when the level was asked for, false when it was chosen here. */
  readonly chosen: boolean;
  readonly filters: AppliedFilters;
  /** true: the report shows states of invoices, which are published as they are now only. */
  readonly readsInvoices: boolean;
}): string[] {
  const { counts, level } = about;
  const of = (name: string): LevelCount | undefined =>
    counts.find((count) => count.level === name && count.shipments > 0);
  const partner = of('partner');
  const tenant = of('tenant');
  const unknown = of('unknown');
  const notes: string[] = [];
  if (level === 'tenant' && partner) {
    notes.push(
      `Left out: ${amount(partner)} at partner level. A partner-level invoice sums the shipments of all tenants, and adding both counts twice; the level partner or all shows them.`,
    );
  }
  if (level === 'partner' && (tenant ?? unknown)) {
    notes.push(`Left out: ${amount(tenant, unknown)} at tenant level, so that nothing is counted twice.`);
  }
  if (level === 'partner' && !about.chosen)
    notes.push('Only partner-level invoices exist, so these are reported.');
  if (level === 'all' && partner && (tenant ?? unknown)) {
    notes.push('Both levels are added: a shipment billed to a tenant and to the partner is counted twice.');
  }
  if (level !== 'partner' && unknown) {
    notes.push(
      `Counted with the tenants: ${amount(unknown)} whose level is unknown (imported without details).`,
    );
  }
  const selected = counts.filter((count) => levelsOf(level).includes(count.level));
  const weightless = selected.reduce((sum, count) => sum + count.shipments - count.weighed, 0);
  if (weightless > 0)
    notes.push(`Without weight: ${plural(weightless, 'shipment')}; averages per lb contain their cost.`);
  const contradicted = selected.reduce((sum, count) => sum + count.contradictedInvoices, 0);
  if (contradicted > 0) {
    notes.push(
      `Contradicted by their own header or event: ${plural(contradicted, 'invoice')}; the report proof says how.`,
    );
  }
  if (about.filters.asKnownOn !== null) {
    notes.push(
      about.readsInvoices
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
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
