/**
 * The columns of the invoice CSV, in their order (spec 2.8): the one table from which the byte scan's header, both
 * readers' rules, the tables, the statements that load and prove, and the list in `docs/csv-files.md` are made.
 *
 * A column that the service adds is one entry more, with the next number as `since`. Files without it still load: they
 * leave it empty.
 */

/** What a cell must be. An empty cell is checked by `isRequired`; `unit` also asks for one beside every weight. */
export type ColumnRule = 'text' | 'date' | 'invoice-id' | 'currency' | 'amount' | 'weight' | 'unit';

interface Entry<Header extends string = string> {
  /** The name in the file's first line, to the letter. */
  readonly header: Header;
  readonly rule: ColumnRule;
  readonly isRequired: boolean;
  readonly meaning: string;
  /** Where the unit of a number stands. */
  readonly unitIn?: string;
  /** Left out: one of the first fourteen. 2 for the first columns that came later, 3 for the next: none is required. */
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
  /** In tables, views and reports. */
  readonly name: string;
  /** In DuckDB, where an empty cell is NULL. */
  readonly type: 'VARCHAR' | 'DATE' | 'DECIMAL(18, 4)' | 'UUID';
  /** The column that holds the unit of this one's numbers; null for what is no number. */
  readonly unit: string | null;
}

const TYPES = {
  ...{ text: 'VARCHAR', currency: 'VARCHAR', unit: 'VARCHAR', 'invoice-id': 'UUID' },
  ...{ date: 'DATE', amount: 'DECIMAL(18, 4)', weight: 'DECIMAL(18, 4)' },
} as const satisfies Record<ColumnRule, CsvColumn['type']>;

/** In the order of a file. */
export const CSV_COLUMNS: readonly CsvColumn[] = (ENTRIES as readonly Entry<CsvHeader>[]).map((entry) => ({
  ...entry,
  name: nameOf(entry.header),
  type: TYPES[entry.rule],
  unit: entry.unitIn === undefined ? null : nameOf(entry.unitIn),
}));

export const CSV_HEADERS: readonly CsvHeader[] = CSV_COLUMNS.map(({ header }) => header);

/** What a row of the warehouse keeps of a record: all but the invoice's id, which its load has. */
export const STORED_COLUMNS: readonly CsvColumn[] = CSV_COLUMNS.filter(({ rule }) => rule !== 'invoice-id');

/** The headers that files have had, oldest first; the last one is today's. */
export const CSV_EDITIONS: readonly (readonly CsvHeader[])[] = [...new Set(CSV_COLUMNS.map(editionOf))]
  .toSorted((one, other) => one - other)
  .map((edition) => CSV_COLUMNS.filter((column) => editionOf(column) <= edition).map(({ header }) => header));

function editionOf({ since }: CsvColumn): number {
  return since ?? 1;
}

/** `Ship Date` is `ship_date`. */
function nameOf(header: string): string {
  return header.toLowerCase().replaceAll(' ', '_');
}
