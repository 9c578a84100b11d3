import { notCountedNotes } from './completeness.ts';
import { matchNotes } from './match-filters.ts';
import { type LevelCount, levelsOf, type Prepared } from './prepare-session.ts';
import { plural } from './render/labels.ts';
import type { ReportLevel } from './report-filters.ts';
import type { Completeness, ReportHead } from './report-result.ts';

export interface HeadRequest {
  readonly prepared: Prepared;
  readonly counts: readonly LevelCount[];
  readonly completeness: Completeness;
  readonly parameters: ReportHead['parameters'];
  readonly rows: number;
  readonly found: number;
  readonly notes?: readonly string[];
  readonly files?: readonly string[];
  readonly comparesLevels?: boolean;
  /** States of invoices are published as they are now only. */
  readonly readsStates?: boolean;
  /** The rows themselves show what is not counted. */
  readonly showsCompleteness?: boolean;
  readonly invoicesLeftOut?: number;
}

export function reportHead(request: HeadRequest): ReportHead {
  const { prepared, completeness, rows, found, files = [], comparesLevels = false } = request;
  const { filters, matches, asOf, publication, partners } = prepared;
  const level = comparesLevels ? 'all' : prepared.level;
  const counts = request.counts.filter((count) => levelsOf(level).includes(count.level));
  const inPounds = sumOf(counts, 'inPounds');
  const inKilograms = sumOf(counts, 'inKilograms');
  const shipments = sumOf(counts, 'shipments');
  const weighed = { inPounds, inKilograms, without: shipments - inPounds - inKilograms };
  const contradicted = sumOf(counts, 'contradictedInvoices');
  const announced = sumOf(counts, 'announcedInvoices');
  return {
    ...{ filters, matches, level, asOf, publication, rows, found, shipments, weighed, completeness, files },
    parameters: request.parameters,
    timeZone: 'UTC',
    provedPercent: provedPercent(shipments, sumOf(counts, 'proved')),
    notes: [
      ...(request.notes ?? []),
      ...files,
      ...(request.showsCompleteness ? [] : notCountedNotes(completeness)),
      ...matchNotes(matches),
      ...(partners.length > 1
        ? [`${partners.length} partners, distinguished by partner_id; nothing is added across them.`]
        : []),
      ...(partners.length > 1 && partners.includes('')
        ? ['Of one of them the id is not known: its invoices are a group of their own, without partner_id.']
        : []),
      ...levelNotes(request, level),
      ...(weighed.without > 0
        ? [`Without weight: ${plural(weighed.without, 'shipment')}; averages per lb contain their cost.`]
        : []),
      ...(announced > 0
        ? [`Announced, and not confirmed by the billing service yet: ${plural(announced, 'invoice')}.`]
        : []),
      ...(contradicted > 0
        ? [
            `Contradicted by their own header or event: ${plural(contradicted, 'invoice')}; the report proof shows how.`,
          ]
        : []),
      ...asKnownNotes(request),
    ],
  };
}

export function limitNotes(rows: number, found: number): readonly string[] {
  return rows < found ? [`${rows} of ${found} rows: the limit leaves out the others.`] : [];
}

/** The share with two decimals, rounded down, so that 100.00 means all; null without shipments. */
function provedPercent(shipments: number, proved: number): string | null {
  if (shipments === 0) return null;
  const hundredths = (BigInt(proved) * 10_000n) / BigInt(shipments);
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, '0')}`;
}

function levelNotes(
  { counts, prepared, comparesLevels = false, invoicesLeftOut = 0 }: HeadRequest,
  level: ReportLevel,
): readonly string[] {
  const found = counts.filter(({ shipments }) => shipments > 0);
  const partner = found.filter((count) => count.level === 'partner');
  const unknown = found.filter((count) => count.level === 'unknown');
  const tenants = found.filter((count) => count.level !== 'partner');
  const areBoth = partner.length > 0 && tenants.length > 0;
  const notes: string[] = [];
  if (areBoth && comparesLevels)
    notes.push('Both levels are read and compared; a shipment billed at both counts once at each.');
  else if (areBoth && level === 'all')
    notes.push('Both levels are added: a shipment billed to a tenant and to the partner is counted twice.');
  if (level === 'tenant' && partner.length > 0)
    notes.push(
      `Left out: ${amountOf(partner)} at partner level. A partner-level invoice sums the shipments of all tenants, and adding both counts twice; the level partner or all includes them.`,
    );
  if (level === 'partner' && tenants.length > 0)
    notes.push(`Left out: ${amountOf(tenants)} at tenant level, so that nothing is counted twice.`);
  if (level === 'partner' && prepared.filters.level === null)
    notes.push('Only partner-level invoices exist, so these are reported.');
  if (level !== 'partner' && unknown.length > 0)
    notes.push(
      `Counted as tenant level: ${amountOf(unknown)} whose level is unknown (imported without details).`,
    );
  if (invoicesLeftOut > 0) {
    const other = level === 'tenant' ? 'partner' : 'tenant';
    notes.push(
      `Not listed: ${plural(invoicesLeftOut, 'invoice')} at ${other} level; the level ${other} or all lists them.`,
    );
  }
  return notes;
}

function asKnownNotes({ prepared: { filters }, readsStates = false }: HeadRequest): readonly string[] {
  if (filters.asKnownOn === null) return [];
  return readsStates
    ? [
        `Shipments are as they were known on ${filters.asKnownOn}; states of invoices are those of the publication.`,
      ]
    : [`As known on ${filters.asKnownOn}.`];
}

function amountOf(counts: readonly LevelCount[]): string {
  return `${plural(sumOf(counts, 'shipments'), 'shipment')} of ${plural(sumOf(counts, 'invoices'), 'invoice')}`;
}

function sumOf(counts: readonly LevelCount[], field: Exclude<keyof LevelCount, 'level'>): number {
  return counts.reduce((sum, count) => sum + count[field], 0);
}
