import { invalidFilter } from './errors.ts';
import { checkDay, type PeriodInput, periodBounds } from './period.ts';

export const REPORT_LEVELS = ['tenant', 'partner', 'all'] as const;
export type ReportLevel = (typeof REPORT_LEVELS)[number];

export const DATE_BASES = ['ship-date', 'invoice-date'] as const;
export type DateBasis = (typeof DATE_BASES)[number];

export interface ReportFilters extends PeriodInput {
  /** Which date a period is about: `ship-date` or `invoice-date` (the CSV's Invoice Generation Date). */
  readonly by?: string | undefined;
  /** Partners by id or name. They are never summed, so without a filter each has its own rows. */
  readonly partners?: readonly string[] | undefined;
  /** The tenants by their ids, the partner's ids, or their names. */
  readonly tenants?: readonly string[] | undefined;
  readonly carriers?: readonly string[] | undefined;
  readonly zones?: readonly string[] | undefined;
  readonly currencies?: readonly string[] | undefined;
  /** The level; undefined means tenant level, unless only partner-level invoices exist. */
  readonly level?: string | undefined;
  /** An ISO 8601 instant, or a date, which means its end in UTC. */
  readonly asKnownOn?: string | undefined;
}

export interface FilterOptions
  extends Pick<ReportFilters, 'from' | 'to' | 'period' | 'by' | 'level' | 'asKnownOn'> {
  readonly partner?: readonly string[] | undefined;
  readonly tenant?: readonly string[] | undefined;
  readonly carrier?: readonly string[] | undefined;
  readonly zone?: readonly string[] | undefined;
  readonly currency?: readonly string[] | undefined;
}

export function toReportFilters(named: FilterOptions): ReportFilters {
  const { from, to, period, by, level, asKnownOn, partner, tenant, carrier, zone, currency } = named;
  const lists = { partners: partner, tenants: tenant, carriers: carrier, zones: zone, currencies: currency };
  return { from, to, period, by, level, asKnownOn, ...lists };
}

/** A filter that is null or an empty list matches all. */
export interface AppliedFilters {
  readonly from: string | null;
  readonly to: string | null;
  readonly by: DateBasis;
  readonly partners: readonly string[];
  readonly tenants: readonly string[];
  readonly carriers: readonly string[];
  readonly zones: readonly string[];
  readonly currencies: readonly string[];
  /** The level; null when the levels in the file choose it. */
  readonly level: ReportLevel | null;
  /** The instant in ISO 8601 UTC with milliseconds; null for now. */
  readonly asKnownOn: string | null;
}

/** @param now the instant to which relative periods refer @throws ReportError */
export function checkFilters(filters: ReportFilters, now = new Date()): AppliedFilters {
  return {
    ...periodBounds(filters, now),
    by: oneOf('by', filters.by ?? 'ship-date', DATE_BASES),
    partners: filters.partners ?? [],
    tenants: filters.tenants ?? [],
    carriers: filters.carriers ?? [],
    zones: filters.zones ?? [],
    currencies: filters.currencies ?? [],
    level: filters.level === undefined ? null : oneOf('level', filters.level, REPORT_LEVELS),
    asKnownOn: filters.asKnownOn === undefined ? null : checkInstant('as-known-on', filters.asKnownOn),
  };
}

/** Returns the instant in UTC with milliseconds; a date means its end in UTC. @throws ReportError */
export function checkInstant(filter: string, value: string): string {
  const day = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(value);
  if (day?.[1]) {
    checkDay(filter, day[1]);
    const parsed = new Date(day[2] === undefined ? `${value}T23:59:59.999Z` : value);
    // A time zone can move 9999-12-31 into a five-digit year.
    if (!Number.isNaN(parsed.getTime()) && /^\d{4}-/.test(parsed.toISOString())) return parsed.toISOString();
  }
  throw invalidFilter(
    `"${value}" is no instant for ${filter}: write 2026-08-01 (the end of that day in UTC) or 2026-08-01T12:00:00Z.`,
  );
}

function oneOf<T extends string>(filter: string, value: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found) return found;
  throw invalidFilter(`"${value}" is no value for ${filter}: take ${known.join(', ')}.`);
}
