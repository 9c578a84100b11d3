/**
 * The columns of the invoice CSV, in their order (spec 2.8). A column that the service adds is one entry more, with
 * the next number as `since`; files without it leave it empty.
 */

import { isWithoutVisible } from '../text.ts';

/** `isRequired` covers empty cells; `unit` also requires one beside every weight. */
export type ColumnRule = 'text' | 'date' | 'invoice-id' | 'currency' | 'amount' | 'weight' | 'unit';

interface Entry<Header extends string = string> {
  readonly header: Header;
  readonly rule: ColumnRule;
  readonly isRequired: boolean;
  readonly meaning: string;
  readonly unitIn?: string;
  /** The edition that added the column, from 2; left out for the first fourteen. No later column is required. */
  readonly since?: number;
}

const ENTRIES = [
  {
    header: 'Tenant',
    rule: 'text',
    isRequired: true,
    meaning: 'Name of the tenant, or of the partner on a partner-level invoice',
  },
  {
    header: 'Invoice Generation Date',
    rule: 'date',
    isRequired: true,
    meaning: 'Day on which the invoice was generated',
  },
  {
    header: 'Invoice ID',
    rule: 'invoice-id',
    isRequired: true,
    meaning: 'The invoice, the same in every row',
  },
  { header: 'Ship Date', rule: 'date', isRequired: true, meaning: 'Day of shipment' },
  { header: 'Origin', rule: 'text', isRequired: false, meaning: 'Postal code of the place of shipment' },
  { header: 'Currency Code', rule: 'currency', isRequired: true, meaning: 'ISO 4217 currency of the cost' },
  {
    header: 'Billing Cost',
    rule: 'amount',
    isRequired: true,
    meaning: 'Cost of the shipment; a credit is negative',
    unitIn: 'Currency Code',
  },
  {
    header: 'Billable Weight',
    rule: 'weight',
    isRequired: false,
    meaning: 'Weight used for rating',
    unitIn: 'Billable Weight Unit',
  },
  {
    header: 'Billable Weight Unit',
    rule: 'unit',
    isRequired: false,
    meaning: 'LB or KG; present wherever there is a weight',
  },
  { header: 'Tracking Number', rule: 'text', isRequired: true, meaning: "The carrier's tracking number" },
  { header: 'Carrier', rule: 'text', isRequired: true, meaning: 'Carrier, as the billing service names it' },
  {
    header: 'Carrier Zone',
    rule: 'text',
    isRequired: false,
    meaning: "The carrier's billing zone, as it came",
  },
  {
    header: 'Carrier Invoice Date',
    rule: 'date',
    isRequired: false,
    meaning: "Date of the carrier's own invoice",
  },
  { header: 'Service Level', rule: 'text', isRequired: false, meaning: "The carrier's service level" },
] as const satisfies readonly Entry[];

export type CsvHeader = (typeof ENTRIES)[number]['header'];

export interface CsvColumn extends Entry<CsvHeader> {
  readonly name: string;
  /** The type of the stored column, in which an empty cell is NULL. */
  readonly type: 'VARCHAR' | 'DATE' | 'DECIMAL(18, 4)' | 'UUID';
  readonly unit: string | null;
}

const TYPES = {
  ...{ text: 'VARCHAR', currency: 'VARCHAR', unit: 'VARCHAR', 'invoice-id': 'UUID' },
  ...{ date: 'DATE', amount: 'DECIMAL(18, 4)', weight: 'DECIMAL(18, 4)' },
} as const satisfies Record<ColumnRule, CsvColumn['type']>;

export const CSV_COLUMNS: readonly CsvColumn[] = (ENTRIES as readonly Entry<CsvHeader>[]).map((entry) => ({
  ...entry,
  name: nameOf(entry.header),
  type: TYPES[entry.rule],
  unit: entry.unitIn === undefined ? null : nameOf(entry.unitIn),
}));

export const CSV_HEADERS: readonly CsvHeader[] = CSV_COLUMNS.map(({ header }) => header);

/** All columns but the invoice's id, which is stored once with the load. */
export const STORED_COLUMNS: readonly CsvColumn[] = CSV_COLUMNS.filter(({ rule }) => rule !== 'invoice-id');

/** The headers that files have had, oldest first; the last one is today's. */
export const CSV_EDITIONS: readonly (readonly CsvHeader[])[] = [...new Set(CSV_COLUMNS.map(editionOf))]
  .toSorted((one, other) => one - other)
  .map((edition) => CSV_COLUMNS.filter((column) => editionOf(column) <= edition).map(({ header }) => header));

function editionOf({ since }: CsvColumn): number {
  return since ?? 1;
}

function nameOf(header: string): string {
  return header.toLowerCase().replaceAll(' ', '_');
}

/** Deviations from the specified form that a partner may accept (`BILLSYNC_CSV_TOLERATE`). */
export const CSV_TOLERANCES = ['line-ends', 'column-order', 'added-columns', 'decimals'] as const;
export type CsvTolerance = (typeof CSV_TOLERANCES)[number];

export interface CsvFinding {
  /** The physical line of the file, from 1 (the header is line 1); null when the whole file is meant. */
  readonly line: number | null;
  /** The number of the record, from 1 without the header; null when the whole file or the header is meant. */
  readonly row: number | null;
  readonly column: string | null;
  readonly rule: string;
  /** The cell's text, at most 200 characters, with control characters escaped. */
  readonly value: string;
}

/** A file whose scan has findings of a refusing rule must never be loaded. */
export interface CsvScan {
  readonly records: number;
  /** The first 100 findings, in order of the file. */
  readonly findings: readonly CsvFinding[];
  readonly findingCount: number;
  /** A file without a last line end is noted, not refused, when the hash or the header proves it. */
  readonly endsWithLineEnd: boolean;
  /** Offsets in bytes: where the header ends, and where every 122,880th record does when another follows. */
  readonly cuts: readonly number[];
  /** The number of columns in the header; left out when the file has the first fourteen. */
  readonly columns?: number;
}

export function isSpecified(scan: CsvScan): boolean {
  return (scan.findingCount === 0 || isHeaderOnly(scan)) && hasAllColumns(scan);
}

export function hasAllColumns({ columns = CSV_EDITIONS[0]?.length }: CsvScan): boolean {
  return columns === CSV_HEADERS.length;
}

/** A file with only a header is correct for an invoice without shipments. */
export function isHeaderOnly({ findings, findingCount }: CsvScan): boolean {
  return findingCount === 1 && findings[0]?.rule === 'no-rows';
}

/** A file with the columns of an earlier edition is accepted; any other form only if the partner tolerates it. */
export function isOfOtherForm(scan: CsvScan): boolean {
  return !hasAllColumns(scan) || scan.findings.some(({ rule }) => rule === 'header' || rule === 'bare-lf');
}

export interface ArchivedFile {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly scan: CsvScan;
}

/** The validators of a file (RFC 9110); null when the answer has none. */
export interface FileTag {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

export interface CsvForm {
  readonly names: readonly string[];
  /** For each specified column its place in a record, from 0; -1 for one that came after the file. */
  readonly places: readonly number[];
  readonly added: readonly number[];
  readonly needs: readonly CsvTolerance[];
}

/** Each row repeats the names of added columns, so longer names would fill the disk. */
const MAX_ADDED_BYTES = 2_000;

export function readForm(names: readonly string[]): CsvForm | null {
  const edition = CSV_EDITIONS.findLast((headers) => headers.every((header) => names.includes(header)));
  if (edition === undefined || new Set(names).size !== names.length) return null;
  const places = CSV_HEADERS.map((header) => (edition.includes(header) ? names.indexOf(header) : -1));
  const added = names.flatMap((name, place) => (places.includes(place) ? [] : [{ name, place }]));
  if (added.some(({ name }) => isWithoutVisible(name))) return null;
  if (Buffer.byteLength(added.map(({ name }) => name).join('')) > MAX_ADDED_BYTES) return null;
  const inOrder = edition.map((header) => names.indexOf(header));
  const isInOrder = inOrder.every((place, index) => index === 0 || place > (inOrder[index - 1] ?? 0));
  return {
    names,
    places,
    added: added.map(({ place }) => place),
    needs: [
      ...(isInOrder ? [] : (['column-order'] as const)),
      ...(added.length === 0 ? [] : (['added-columns'] as const)),
    ],
  };
}

/**
 * Returns a JSON object of the added cells in the order of the file, an empty cell as null; null when the file has no added
 * columns.
 */
export function addedCells({ names, added }: CsvForm, record: readonly string[]): string | null {
  if (added.length === 0) return null;
  // The JSON is built as text, because an object would sort names that are numbers and lose `__proto__`.
  const cells = added.map((place) => {
    const cell = record[place] ?? '';
    return `${JSON.stringify(names[place])}:${cell === '' ? 'null' : JSON.stringify(cell)}`;
  });
  return `{${cells.join(',')}}`;
}

const MUST_BE: Readonly<Record<Exclude<ColumnRule, 'text'>, string>> = {
  date: 'a day of the calendar, YYYY-MM-DD',
  'invoice-id': 'the id of the invoice, the same in every row',
  currency: 'a currency of ISO 4217, such as USD',
  amount: 'a number with a point and at most four decimals',
  weight: 'a number from 0 with a point and at most four decimals',
  unit: 'LB or KG wherever there is a weight',
};

export function cellAdvice([first]: readonly CsvFinding[]): string | null {
  const column = CSV_COLUMNS.find(({ header }) => header === first?.column);
  if (first === undefined || column === undefined) return null;
  const { rule, isRequired, header } = column;
  if (first.rule !== 'required' && first.rule !== rule) return null;
  const kind = rule === 'text' ? 'a text' : MUST_BE[rule];
  const isBlank = first.value !== '' && isWithoutVisible(first.value.replace(/\\[rnt]/g, ''));
  const seen = isBlank ? ' (blanks and line breaks alone are no value)' : '';
  const other = isRequired || rule === 'unit' ? '' : ', or nothing at all';
  return `${header} must be ${kind}${other}${seen}: the service has to correct the invoice; no BILLSYNC_CSV_TOLERATE accepts this`;
}
