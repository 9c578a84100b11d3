import { parse } from 'csv-parse/sync';
import type { Answer } from './http.ts';
import { breakRule } from './rule.ts';

export const HEADERS = [
  'Tenant',
  'Invoice Generation Date',
  'Invoice ID',
  'Ship Date',
  'Origin',
  'Currency Code',
  'Billing Cost',
  'Billable Weight',
  'Billable Weight Unit',
  'Tracking Number',
  'Carrier',
  'Carrier Zone',
  'Carrier Invoice Date',
  'Service Level',
] as const;
export type Header = (typeof HEADERS)[number];

export type CsvRow = Readonly<Record<Header, string>>;

/** @throws BrokenRuleError when a record is not fourteen fields, separated and quoted as RFC 4180 has it */
export function rowsOf({ body }: Pick<Answer, 'body'>): readonly CsvRow[] {
  try {
    const options = { record_delimiter: '\r\n', relax_quotes: false, bom: false, from: 2 };
    const records = parse(body, options) as string[][];
    return records.map(
      (cells) => Object.fromEntries(HEADERS.map((name, at) => [name, cells[at] ?? ''])) as CsvRow,
    );
  } catch (error) {
    return breakRule(`the file is no CSV: ${(error as Error).message}`);
  }
}

/** Counts the line ends outside of quotes. */
export function lineEnds(body: Buffer): { readonly crlf: number; readonly lf: number; readonly cr: number } {
  const counts = { crlf: 0, lf: 0, cr: 0 };
  let isQuoted = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === 0x22) isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (byte === 0x0d && body[at + 1] !== 0x0a) counts.cr += 1;
    if (byte === 0x0a) counts[body[at - 1] === 0x0d ? 'crlf' : 'lf'] += 1;
  }
  return counts;
}
