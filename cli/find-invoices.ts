import { CsvError, parse } from 'csv-parse/sync';
import { nearestNames } from '../lib/config/did-you-mean.ts';
import type { Settings } from '../lib/config/settings.ts';
import { beginningOf } from '../lib/text.ts';
import type { ReportRow } from '../reports/cells.ts';
import { CliError, EXIT } from './errors.ts';
import type { PublishedReader } from './published.ts';
import { printable } from './terminal/table.ts';

export interface NamedInvoice {
  readonly name: string;
  readonly place: string | null;
}

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ID_COLUMNS = ['invoiceid', 'serviceinvoiceid', 'id'];

/**
 * Each id is returned once, in the given order. Only numbers need the published file, so it is not opened for ids. @throws CliError
 * (exit 3) unknown, (exit 2) ambiguous
 */
export async function idsOf(settings: Settings, named: readonly NamedInvoice[]): Promise<readonly string[]> {
  if (named.every(({ name }) => GUID.test(name)))
    return [...new Set(named.map(({ name }) => name.toLowerCase()))];
  const { withPublished } = await import('./published.ts');
  const rows = await withPublished(settings, (published) => published.query('invoice-numbers'));
  const byNumber = Map.groupBy(rows, (row) => String(row.invoice_number));
  const inAnyLetters = Map.groupBy(rows, (row) => String(row.invoice_number).toLowerCase());
  const ids = named.map(({ name, place }) => {
    if (GUID.test(name)) return name.toLowerCase();
    const found = byNumber.get(name) ?? inAnyLetters.get(name.toLowerCase()) ?? [];
    const [id, ...others] = found.map((row) => String(row.invoice_id));
    if (id === undefined) throw unknown({ name, place }, [...byNumber.keys()]);
    if (others.length === 0) return id;
    throw new CliError(EXIT.usage, `${others.length + 1} invoices have the number ${printable(name)}`, {
      subject: [id, ...others].join(', '),
      hint: 'name one of these invoices by its id',
    });
  });
  return [...new Set(ids)];
}

function unknown({ name, place }: NamedInvoice, numbers: readonly string[]): CliError {
  const where = place === null ? '' : `${place}: `;
  const nearest = nearestNames(name, numbers).map(printable);
  return new CliError(
    EXIT.nothingMatched,
    `${where}no invoice has the id or number ${printable(beginningOf(name, 60))}`,
    {
      hint:
        nearest.length > 0
          ? `did you mean ${nearest.join(' or ')}?`
          : 'name an invoice that no event announced by its id, such as 11111111-2222-3333-4444-555555555555',
    },
  );
}

export function readInvoices(text: string): NamedInvoice[] {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed === '') return [];
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) return readJson(trimmed);
  const [first = ''] = trimmed.split(/\r?\n/);
  const isHeader = (separator: string | RegExp): boolean =>
    !first.startsWith('#') && !GUID.test(first.trim()) && idColumnsOf(first.split(separator)).length > 0;
  if (isHeader(',')) return readCsv(trimmed);
  if (isHeader(/[;\t]/))
    throw new CliError(EXIT.usage, 'line 1 has no commas between its columns', {
      hint: 'save the file as CSV with commas',
    });
  return readLines(trimmed);
}

function readLines(text: string): NamedInvoice[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const name = line.replace(/#.*$/, '').trim();
    return name === '' ? [] : [{ name, place: `line ${index + 1}` }];
  });
}

function readCsv(text: string): NamedInvoice[] {
  const [header = [], ...rows] = parsedCsv(text);
  const [column = 0, ...others] = idColumnsOf(header);
  if (others.length > 0)
    throw new CliError(EXIT.usage, `line 1 has ${others.length + 1} columns for the id of an invoice`, {
      subject: [column, ...others].map((at) => header[at]?.trim()).join(', '),
      hint: 'keep one column for the id',
    });
  return rows.flatMap((row, index) => {
    const place = `row ${index + 1}`;
    const name = row[column]?.trim() ?? '';
    if (name !== '') return [{ name, place }];
    if (row.every((cell) => cell.trim() === '')) return [];
    throw new CliError(EXIT.usage, `${place} names no invoice`, { hint: 'add its id, or remove the row' });
  });
}

function parsedCsv(text: string): string[][] {
  try {
    return parse(text, { skip_empty_lines: true });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CliError(EXIT.usage, `the file is not CSV: ${error.message}`, {
      hint: 'quote texts that contain a comma',
      cause: error,
    });
  }
}

function idColumnsOf(header: readonly string[]): readonly number[] {
  return header.flatMap((written, at) => {
    const name = written.replace(/["\s_]/g, '').toLowerCase();
    return ID_COLUMNS.includes(name) || /^[a-z]+invoiceid$/.test(name) ? [at] : [];
  });
}

function readJson(text: string): NamedInvoice[] {
  const values = text.startsWith('[')
    ? [parsed(text, 'the array')].flat()
    : text
        .split(/\r?\n/)
        .flatMap((line, index) => (line.trim() === '' ? [] : [parsed(line, `line ${index + 1}`)]));
  return values.map((value, index) => {
    const entry =
      typeof value === 'object' && value !== null
        ? Object.entries(value)[idColumnsOf(Object.keys(value))[0] ?? -1]?.[1]
        : value;
    const place = `value ${index + 1}`;
    const name = typeof entry === 'string' ? entry.trim() : '';
    if (name !== '') return { name, place };
    throw new CliError(EXIT.usage, `${place} names no invoice`, {
      hint: 'write each invoice as a text, or as an object with invoice_id',
    });
  });
}

function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(EXIT.usage, `${place} is not JSON`, { cause: error });
  }
}

export async function publishedInvoice(settings: Settings, idOrNumber: string): Promise<ReportRow> {
  const { withPublished } = await import('./published.ts');
  return withPublished(settings, (published) => findInvoice(published, idOrNumber));
}

export async function findInvoice(published: PublishedReader, idOrNumber: string): Promise<ReportRow> {
  const found = await published.query('invoice', { invoice: idOrNumber });
  const [invoice, ...others] = found;
  if (invoice === undefined) {
    throw new CliError(EXIT.nothingMatched, `no invoice has the id or number ${printable(idOrNumber)}`, {
      hint: '`billsync invoices list` shows all; `billsync backfill ID` fetches one that no event announced',
    });
  }
  if (others.length > 0) {
    throw new CliError(EXIT.usage, `${found.length} invoices have the number ${printable(idOrNumber)}`, {
      subject: found.map(({ invoice_id }) => String(invoice_id)).join(', '),
      hint: 'name one of these invoices by its id',
    });
  }
  return invoice;
}

/** An imported invoice has no number, only an id. */
export function invoiceName({ invoice_number, invoice_id }: ReportRow): string {
  return printable(String(invoice_number ?? invoice_id));
}
