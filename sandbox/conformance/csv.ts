import { parse } from 'csv-parse/sync';

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

export interface Csv {
  readonly header: readonly string[];
  readonly rows: readonly CsvRow[];
}

/** @throws Error when a record is not fourteen fields, separated and quoted as RFC 4180 has it */
export function readCsv(body: Buffer): Csv {
  const records = parse(body, { record_delimiter: '\r\n', relax_quotes: false, bom: false }) as string[][];
  const [header = [], ...rows] = records;
  return {
    header,
    rows: rows.map(
      (cells) => Object.fromEntries(HEADERS.map((name, at) => [name, cells[at] ?? ''])) as CsvRow,
    ),
  };
}

/** Line ends outside quotes. */
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
