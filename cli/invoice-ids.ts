/** Finds invoice ids in what people have at hand: lines, a CSV with a column for them, or JSON lines. */

import { parse } from 'csv-parse/sync';
import { CliError, EXIT } from './errors.js';
import { printable } from './terminal-text.js';

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Names under which spreadsheets and the service's own CSV carry the id, compared without case, spaces and `_`. */
const ID_COLUMNS = ['invoiceid', 'serviceinvoiceid', 'id'];

/** @throws CliError (exit 2) naming the first line that holds no id */
export function readInvoiceIds(text: string): string[] {
  const trimmed = text.replace(/^\uFEFF/, '').trim();
  if (trimmed === '') return [];
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) return readJson(trimmed);
  const [first = ''] = trimmed.split(/\r?\n/);
  const isCsv = !first.startsWith('#') && !GUID.test(first.trim()) && idColumnOf(first.split(',')) >= 0;
  return isCsv ? readCsv(trimmed) : readLines(trimmed);
}

/** A `#` begins a comment. */
function readLines(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    const word = line.replace(/#.*$/, '').trim();
    return word === '' ? [] : [checked(word, `line ${index + 1}`)];
  });
}

function readCsv(text: string): string[] {
  const [header = [], ...rows] = parse(text, { relax_column_count: true }) as string[][];
  const column = idColumnOf(header);
  return rows.flatMap((row, index) => {
    const cell = row[column]?.trim() ?? '';
    return cell === '' ? [] : [checked(cell, `row ${index + 1}`)];
  });
}

function idColumnOf(header: readonly string[]): number {
  const names = header.map((name) => name.replace(/["\s_]/g, '').toLowerCase());
  return names.findIndex((name) => ID_COLUMNS.includes(name) || /^[a-z]+invoiceid$/.test(name));
}

/** An array, or a value per line; each a text, or an object with the id under one of its names. */
function readJson(text: string): string[] {
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
    return checked(String(entry ?? ''), `value ${index + 1}`);
  });
}

function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(EXIT.usage, `${place} is not JSON`, { cause: error });
  }
}

function checked(word: string, place: string): string {
  if (GUID.test(word)) return word.toLowerCase();
  throw new CliError(EXIT.usage, `${place} is no invoice id: ${printable(word.slice(0, 60))}`, {
    hint: 'an id looks like 11111111-2222-3333-4444-555555555555',
  });
}
