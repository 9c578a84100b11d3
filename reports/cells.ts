/** `decimal` cells are exact text, `count` cells numbers; dates are `YYYY-MM-DD`, instants ISO 8601 UTC. */
export type ColumnType = 'text' | 'count' | 'decimal' | 'date' | 'instant' | 'flag';

export interface ReportColumn {
  readonly name: string;
  readonly label?: string;
  readonly type: ColumnType;
  /** The number of digits after the point of a `decimal`; 0 for other types. */
  readonly scale: number;
  /** The unit; `money` means the row's `currency_code`, null that there is none. */
  readonly unit: string | null;
  readonly align: 'left' | 'right';
  /** True when a terminal may leave the column out; files always contain it. */
  readonly isDetail: boolean;
}

export function reportColumn(
  name: string,
  type: ColumnType = 'text',
  more: Partial<ReportColumn> = {},
): ReportColumn {
  const isNumber = type === 'decimal' || type === 'count';
  return {
    ...{ name, type, scale: type === 'decimal' ? 4 : 0, unit: null },
    ...{ align: isNumber ? 'right' : 'left', isDetail: false, ...more },
  };
}

export function moneyColumn(name: string, more: Partial<ReportColumn> = {}): ReportColumn {
  return reportColumn(name, 'decimal', { unit: 'money', ...more });
}

export type ReportCell = string | number | boolean | null;
export type ReportRow = Readonly<Record<string, ReportCell>>;
