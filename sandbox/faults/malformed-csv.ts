/** Each malformation changes one thing only; the announced hash and size match the malformed bytes. */

import { gzipSync } from 'node:zlib';
import { CSV_HEADERS } from '../model.ts';

export interface Parts {
  readonly header: readonly string[];
  readonly rows: Iterable<readonly string[]>;
  readonly field: (text: string) => string;
}

export interface Malformation {
  readonly description: string;
  readonly write: (parts: Parts) => Iterable<string | Buffer>;
}

/** The second row is the one that is malformed, so that a right row precedes it; in a file of one row it is that row. */
const CHANGED_ROW = 1;

export const MALFORMATIONS: Readonly<Record<string, Malformation>> = {
  'swapped-columns': header('two header names are swapped', (names) =>
    names
      .with(columnIndex('Billing Cost'), 'Billable Weight')
      .with(columnIndex('Billable Weight'), 'Billing Cost'),
  ),
  'renamed-column': header('the header has Cost instead of Billing Cost', (names) =>
    names.map((name) => (name === 'Billing Cost' ? 'Cost' : name)),
  ),
  'short-header': header('the header lacks its last name', (names) => names.slice(0, -1)),
  'missing-header': {
    description: 'the file starts with a row',
    write: (parts) => records(parts).slice(1),
  },
  'doubled-header': {
    description: 'the header comes twice',
    write: (parts) => {
      const all = records(parts);
      return [...all.slice(0, 1), ...all];
    },
  },
  'header-only': { description: 'no rows at all', write: (parts) => records(parts).slice(0, 1) },
  'empty-file': { description: 'no bytes at all', write: () => [] },
  'missing-field': row('a row lacks its last field', (cells) => cells.slice(0, -1)),
  'extra-field': row('a row has a field too many', (cells) => [...cells, 'surplus']),
  'empty-extra-field': row('a row ends in a comma', (cells) => [...cells, '']),
  'cost-exponent': cell('a cost is 1e3', 'Billing Cost', '1e3'),
  'cost-five-decimals': cell('a cost has five decimals', 'Billing Cost', '12.34567'),
  'cost-comma': cell('a cost has a decimal comma', 'Billing Cost', '12,50'),
  'cost-thousands': cell('a cost has a thousands separator', 'Billing Cost', '1,234.50'),
  'cost-sign': cell('a cost has a currency sign', 'Billing Cost', '$12.50'),
  'cost-spaces': cell('a cost has spaces around it', 'Billing Cost', ' 12.50 '),
  'cost-empty': cell('a cost is missing', 'Billing Cost', ''),
  'cost-nan': cell('a cost is NaN', 'Billing Cost', 'NaN'),
  'cost-too-large': cell('a cost has 15 digits before the point', 'Billing Cost', '123456789012345.00'),
  'weight-negative': row('a weight is negative', (cells) =>
    cells.with(columnIndex('Billable Weight'), '-1.5').with(columnIndex('Billable Weight Unit'), 'LB'),
  ),
  'weight-without-unit': row('a weight has no unit', (cells) =>
    cells.with(columnIndex('Billable Weight'), '1.5').with(columnIndex('Billable Weight Unit'), ''),
  ),
  'unit-unknown': row('a weight is in ounces', (cells) =>
    cells.with(columnIndex('Billable Weight'), '1.5').with(columnIndex('Billable Weight Unit'), 'OZ'),
  ),
  'date-slashes': cell('a ship date is written with slashes', 'Ship Date', '2026/02/03'),
  'date-short': cell('a ship date lacks its zeros', 'Ship Date', '2026-2-3'),
  'date-impossible': cell('a ship date does not exist', 'Ship Date', '2026-02-30'),
  'date-with-time': cell('a ship date has a time', 'Ship Date', '2026-02-03T00:00:00'),
  'foreign-invoice-id': cell(
    'a row belongs to another invoice',
    'Invoice ID',
    '00000000-0000-4000-8000-000000000000',
  ),
  'mixed-currency': cell('a row is in another currency', 'Currency Code', 'CHF'),
  'tracking-empty': cell('a tracking number is missing', 'Tracking Number', ''),
  'carrier-empty': cell('a carrier is missing', 'Carrier', ''),
  'nul-byte': cell('a field holds a NUL', 'Service Level', 'GRO\u0000UND'),
  'bare-quote': lastField('an unquoted field contains a quote', Buffer.from('ab"c')),
  'unclosed-quote': lastField('a quote is never closed', Buffer.from('"open')),
  'blank-line': record('a line is empty', (text) => `\r\n${text}`),
  'lf-endings': endings('lines end in LF', '\n'),
  'cr-endings': endings('lines end in CR', '\r'),
  'mixed-endings': record('one line ends in LF', (text) => text.replace(/\r\n$/, '\n')),
  'invalid-utf8': lastField('a byte is no UTF-8', Buffer.from([0x47, 0xff, 0x4f])),
  'utf-16': {
    description: 'the file is UTF-16',
    write: (parts) => [Buffer.from(`\ufeff${records(parts).join('')}`, 'utf16le')],
  },
  'byte-order-mark': {
    description: 'the file starts with a byte order mark',
    write: (parts) => ['\ufeff', ...records(parts)],
  },
  semicolons: {
    description: 'fields are separated by semicolons',
    write: ({ header: names, rows }) => [names, ...rows].map((cells) => `${cells.join(';')}\r\n`),
  },
  'cut-in-last-field': {
    description: 'the file ends inside its last record',
    write: (parts) => {
      const all = records(parts);
      const last = all.pop() ?? '';
      return [...all, last.slice(0, Math.floor(last.length / 2))];
    },
  },
  'no-final-line-end': {
    description: 'the last line end is missing; the rest is right',
    write: (parts) => {
      const all = records(parts);
      const last = all.pop() ?? '';
      return [...all, last.replace(/\r\n$/, '')];
    },
  },
  'trailing-total': {
    description: 'a total line follows the rows',
    write: (parts) => {
      const total = parts.header
        .map(() => '')
        .with(0, 'Total')
        .with(columnIndex('Billing Cost'), '12.50');
      return [...records(parts), `${total.join(',')}\r\n`];
    },
  },
  'html-page': {
    description: 'the file is an error page',
    write: () => ['<!doctype html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n'],
  },
  'gzip-file': {
    description: 'the file is compressed',
    write: (parts) => [gzipSync(records(parts).join(''))],
  },
};

export const MALFORMATION_NAMES = Object.keys(MALFORMATIONS);

export function* csvRecords({ header: names, rows, field }: Parts): Generator<string> {
  yield `${names.map(field).join(',')}\r\n`;
  for (const cells of rows) yield `${cells.map(field).join(',')}\r\n`;
}

function records(parts: Parts): string[] {
  return [...csvRecords(parts)];
}

function header(description: string, change: (names: readonly string[]) => readonly string[]): Malformation {
  return { description, write: (parts) => records({ ...parts, header: change(parts.header) }) };
}

function row(description: string, change: (cells: readonly string[]) => readonly string[]): Malformation {
  return {
    description,
    write: (parts) => records({ ...parts, rows: changeRow([...parts.rows], change) }),
  };
}

function columnIndex(header: (typeof CSV_HEADERS)[number]): number {
  return CSV_HEADERS.indexOf(header);
}

function cell(description: string, header: (typeof CSV_HEADERS)[number], value: string): Malformation {
  return row(description, (cells) => cells.with(columnIndex(header), value));
}

function record(description: string, change: (text: string) => string): Malformation {
  return {
    description,
    write: (parts) => {
      const [names = '', ...rows] = records(parts);
      return [names, ...changeRow(rows, change)];
    },
  };
}

function lastField(description: string, bytes: Buffer): Malformation {
  const marker = 'CHANGED';
  return {
    description,
    write: (parts) => {
      const rows = changeRow([...parts.rows], (cells) => cells.with(-1, marker));
      return records({ ...parts, rows }).flatMap((text) => {
        if (!text.endsWith(`${marker}\r\n`)) return [text];
        return [text.slice(0, -marker.length - 2), bytes, '\r\n'];
      });
    },
  };
}

/** Replaces the line ends of records; those inside quoted fields are text and stay. */
function endings(description: string, end: string): Malformation {
  return { description, write: (parts) => records(parts).map((text) => text.replace(/\r\n$/, end)) };
}

function changeRow<T>(rows: readonly T[], change: (row: T) => T): T[] {
  const index = Math.min(CHANGED_ROW, rows.length - 1);
  return rows.map((one, at) => (at === index ? change(one) : one));
}
