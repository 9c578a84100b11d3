/** Finds invoices in what people have at hand: lines, a CSV with a column for them, or JSON lines; by id or number. */

import { parse } from 'csv-parse/sync';
import type { Settings } from '../../../config/settings.ts';
import { beginningOf } from '../../../contract/well-formed.ts';
import { nearestNames } from '../../../reports/nearest-names.ts';
import { CliError, EXIT } from '../../errors.ts';
import { printable } from '../../terminal/terminal-text.ts';

/** An invoice as a person named it, and where: a line or a row of a file, or nothing for an argument. */
export interface NamedInvoice {
  readonly word: string;
  readonly place: string | null;
}

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Names under which spreadsheets and the service's own CSV carry the id, compared without case, spaces and `_`. */
const ID_COLUMNS = ['invoiceid', 'serviceinvoiceid', 'id'];

/**
 * The ids of what was named, each once, in the order of naming. A number is looked up in the published file, as
 * `invoices show` does; nothing is opened where all are ids.
 *
 * @throws CliError (exit 3) naming a number that no invoice has with the nearest, (exit 2) one that several have
 */
export async function idsOf(settings: Settings, named: readonly NamedInvoice[]): Promise<readonly string[]> {
  if (named.every(({ word }) => GUID.test(word)))
    return [...new Set(named.map(({ word }) => word.toLowerCase()))];
  const { openPublished } = await import('../../published.ts');
  const published = await openPublished(settings);
  const rows = await published.ask('invoice-numbers').finally(() => published.close());
  const idsByNumber = new Map<string, string[]>();
  for (const { invoice_number: number, invoice_id: id } of rows) {
    idsByNumber.set(String(number), [...(idsByNumber.get(String(number)) ?? []), String(id)]);
  }
  const ids = named.map(({ word, place }) => {
    if (GUID.test(word)) return word.toLowerCase();
    const [id, ...others] = idsByNumber.get(word) ?? [];
    if (id === undefined) throw unknown({ word, place }, [...idsByNumber.keys()]);
    if (others.length === 0) return id;
    throw new CliError(EXIT.usage, `${others.length + 1} invoices have the number ${printable(word)}`, {
      subject: [id, ...others].join(', '),
      hint: 'name one of them by its id',
    });
  });
  return [...new Set(ids)];
}

function unknown({ word, place }: NamedInvoice, numbers: readonly string[]): CliError {
  const where = place === null ? '' : `${place}: `;
  const nearest = nearestNames(word, numbers).map(printable);
  return new CliError(
    EXIT.nothingMatched,
    `${where}no invoice has the id or number ${printable(beginningOf(word, 60))}`,
    {
      hint:
        nearest.length > 0
          ? `did you mean ${nearest.join(' or ')}?`
          : 'an invoice that no event announced has to be named by its id: 11111111-2222-3333-4444-555555555555',
    },
  );
}

/** @throws CliError (exit 2) what is to be JSON is none, or holds no id where one must be */
export function readInvoices(text: string): NamedInvoice[] {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed === '') return [];
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) return readJson(trimmed);
  const [first = ''] = trimmed.split(/\r?\n/);
  const isCsv = !first.startsWith('#') && !GUID.test(first.trim()) && idColumnOf(first.split(',')) >= 0;
  return isCsv ? readCsv(trimmed) : readLines(trimmed);
}

/** A `#` begins a comment. */
function readLines(text: string): NamedInvoice[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const word = line.replace(/#.*$/, '').trim();
    return word === '' ? [] : [{ word, place: `line ${index + 1}` }];
  });
}

function readCsv(text: string): NamedInvoice[] {
  const [header = [], ...rows] = parse(text, { relax_column_count: true }) as string[][];
  const column = idColumnOf(header);
  return rows.flatMap((row, index) => {
    const word = row[column]?.trim() ?? '';
    return word === '' ? [] : [{ word, place: `row ${index + 1}` }];
  });
}

function idColumnOf(header: readonly string[]): number {
  const names = header.map((name) => name.replace(/["\s_]/g, '').toLowerCase());
  return names.findIndex((name) => ID_COLUMNS.includes(name) || /^[a-z]+invoiceid$/.test(name));
}

/** An array, or a value per line; each a text, or an object with the id under one of its names. */
function readJson(text: string): NamedInvoice[] {
  const values = text.startsWith('[')
    ? [parsed(text, 'the array')].flat()
    : text
        .split(/\r?\n/)
        .flatMap((line, index) => (line.trim() === '' ? [] : [parsed(line, `line ${index + 1}`)]));
  return values.map((value, index) => {
    const entry =
      typeof value === 'object' && value !== null
        ? Object.entries(value)[idColumnOf(Object.keys(value))]?.[1]
        : value;
    const place = `value ${index + 1}`;
    const word = typeof entry === 'string' ? entry.trim() : '';
    if (word !== '') return { word, place };
    throw new CliError(EXIT.usage, `${place} names no invoice`, {
      hint: 'take texts, or objects with invoice_id',
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
