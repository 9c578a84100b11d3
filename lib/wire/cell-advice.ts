/** Advice about a cell that refuses a file although the records can be read: what the cell must be, and who corrects it. */

import { type ColumnRule, CSV_COLUMNS } from './columns.ts';
import type { CsvFinding } from './csv-file.ts';
import { isNothing } from './invisible.ts';

const MUST_BE: Readonly<Record<Exclude<ColumnRule, 'text'>, string>> = {
  date: 'a day of the calendar, YYYY-MM-DD',
  'invoice-id': 'the id of the invoice, the same in every row',
  currency: 'a currency of ISO 4217, such as USD',
  amount: 'a number with a point and at most four decimals',
  weight: 'a number from 0 with a point and at most four decimals',
  unit: 'LB or KG wherever there is a weight',
};

/** @returns null unless the first finding is about a cell; no `BILLSYNC_CSV_TOLERATE` accepts such a file */
export function cellAdvice([first]: readonly CsvFinding[]): string | null {
  const column = CSV_COLUMNS.find(({ header }) => header === first?.column);
  if (first === undefined || column === undefined) return null;
  const { rule, isRequired, header } = column;
  if (first.rule !== 'required' && first.rule !== rule) return null;
  const kind = rule === 'text' ? 'a text' : MUST_BE[rule];
  const isBlank = first.value !== '' && isNothing(first.value.replace(/\\[rnt]/g, ''));
  const seen = isBlank ? ' (blanks and line breaks alone are no value)' : '';
  const other = isRequired || rule === 'unit' ? '' : ', or nothing at all';
  return `${header} must be ${kind}${other}${seen}: ask the service to correct the invoice; no BILLSYNC_CSV_TOLERATE accepts this`;
}
