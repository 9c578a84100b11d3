/**
 * Signs that a spreadsheet program has saved a CSV. Count and sum of such a file are right, so only its cells reveal
 * it.
 */

import type { CsvFinding, CsvHeader } from './csv-file.ts';

/** Rows of a file that show a sign; `damage_of` in warehouse/sql/csv-session.sql counts the same. */
export interface DamageCounts {
  readonly scientific: number;
  /** More than 15 digits; of these with only zeros behind the fifteenth; and the zeros in all. */
  readonly long_numbers: number;
  readonly cut_numbers: number;
  readonly cut_zeros: number;
  readonly full_origins: number;
  readonly short_origins: number;
  readonly short_us_origins: number;
}

export const NO_DAMAGE: DamageCounts = {
  ...{ scientific: 0, long_numbers: 0, cut_numbers: 0, cut_zeros: 0 },
  ...{ full_origins: 0, short_origins: 0, short_us_origins: 0 },
};

export const SPREADSHEET_RULE = 'spreadsheet';

const MIN_CUT_ZEROS = 4;

export function damageFindings(counts: DamageCounts): readonly CsvFinding[] {
  const { scientific, long_numbers, cut_numbers, cut_zeros, full_origins, short_origins } = counts;
  const found: CsvFinding[] = [];
  const add = (column: CsvHeader, value: string): void => {
    found.push({ line: null, row: null, column, rule: SPREADSHEET_RULE, value });
  };
  if (scientific > 0)
    add('Tracking Number', `text in scientific notation, such as 1.77E+15, in ${rows(scientific)}`);
  if (cut_numbers > 0 && cut_numbers === long_numbers && cut_zeros >= MIN_CUT_ZEROS) {
    add('Tracking Number', `numbers cut to 15 digits and zeros in ${rows(cut_numbers)}`);
  }
  if (counts.short_us_origins > 0 || (short_origins > 0 && full_origins > 0)) {
    add('Origin', `postal codes without their leading zeros in ${rows(short_origins)}`);
  }
  return found;
}

function rows(count: number): string {
  return `${count} ${count === 1 ? 'row' : 'rows'}`;
}
