/** What a report answers, whatever it is then written as: one result feeds the terminal, the files and the pages. */

import type { ChartSpec } from './catalogue.ts';
import type { Completeness } from './completeness.ts';
import type { FilterMatch } from './match-filters.ts';
import type { AppliedFilters, ReportLevel } from './report-filters.ts';
import type { WorkedExample } from './worked-example.ts';

/** `decimal` cells are exact text; `count` cells are numbers; dates are `YYYY-MM-DD`, instants ISO 8601 UTC. */
export type ColumnType = 'text' | 'count' | 'decimal' | 'date' | 'instant' | 'flag';

export interface ReportColumn {
  readonly name: string;
  /** What a person reads above it; its name in words by default. */
  readonly label?: string;
  readonly type: ColumnType;
  /** Digits after the point of a `decimal`, else 0. */
  readonly scale: number;
  /** `money` is the row's `currency_code`; null when the column has no unit. */
  readonly unit: string | null;
  readonly align: 'left' | 'right';
  /** true: a terminal may leave it out when it does not fit; files always hold it. */
  readonly isDetail: boolean;
}

export type ReportCell = string | number | boolean | null;
export type ReportRow = Readonly<Record<string, ReportCell>>;

/** What has to be known to trust the rows. */
export interface ReportHead {
  readonly filters: AppliedFilters;
  /** What the words of the filters were found to mean. */
  readonly matches: readonly FilterMatch[];
  readonly parameters: Readonly<Record<string, string | null>>;
  readonly level: ReportLevel;
  /** When the published file was made, ISO 8601 UTC. */
  readonly asOf: string;
  readonly publication: number;
  readonly timeZone: 'UTC';
  readonly rows: number;
  /** How many rows there are without the limit that was asked for. */
  readonly found: number;
  /** Shipments that passed the filters. */
  readonly shipments: number;
  /** How many of them were weighed in which unit; kilograms are brought to pounds at 2.2046226218. */
  readonly weighed: { readonly inPounds: number; readonly inKilograms: number; readonly without: number };
  /** Percent of them whose file was proved by hash or header, two decimals; null when there are none. */
  readonly provedPercent: string | null;
  /** Applies to the days of the filters. */
  readonly completeness: Completeness;
  /** Those of `notes` that say how many rows of each file of one's own matched. */
  readonly files: readonly string[];
  /** Full sentences: what was left out, and what else to know before using the numbers. */
  readonly notes: readonly string[];
}

/** The same with rows that come in batches, for files of any size; they can be read once. */
export interface StreamedResult extends Omit<ReportResult, 'rows'> {
  readonly batches: AsyncIterable<readonly ReportRow[]>;
}

export interface ReportResult {
  readonly name: string;
  readonly title: string;
  readonly grain: string;
  readonly means: string;
  readonly order: string;
  readonly cannotSay: string;
  readonly example: WorkedExample | null;
  readonly charts: readonly ChartSpec[];
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
  /** Columns whose rows add up within a currency and partner; missing: in none do they. */
  readonly summed?: readonly string[];
  readonly head: ReportHead;
}
