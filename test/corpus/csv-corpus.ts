/**
 * Malformed and unusual invoice CSVs with the verdict that the specification (2.8) requires, written by hand: `ok`, or every finding
 * as `rule@row/column` in order (row `-`: the whole file or the header; column `-`: no single one).
 */

import { CSV_COLUMNS, CSV_EDITIONS, CSV_HEADERS, type CsvHeader } from '../../lib/wire/csv-file.ts';
import { CELLS } from '../warehouse/support.ts';

export interface CorpusCase {
  readonly name: string;
  readonly bytes: Buffer;
  /** An empty list: refused with any findings. */
  readonly verdict: 'ok' | readonly string[];
}

export const CORPUS_INVOICE = '7f3a0000-1111-4222-8333-444455556666';

const HEADER = CSV_HEADERS.join(',');
const LAST = CSV_HEADERS.at(-1) as CsvHeader;
const [FIRST_HEADERS = []] = CSV_EDITIONS;
const GOOD: Readonly<Record<CsvHeader, string>> = {
  ...CELLS,
  Tenant: 'Acme',
  'Invoice ID': CORPUS_INVOICE,
  'Tracking Number': '1Z999',
  'Service Level': 'Ground',
};

const TOTAL_LINE: Partial<Record<CsvHeader, string>> = { Tenant: 'Total', 'Billing Cost': '27.48' };

/** A record as text; a cell's value is written raw, quotes included. */
function record(cells: Partial<Record<CsvHeader, string>> = {}): string {
  return CSV_HEADERS.map((name) => cells[name] ?? GOOD[name]).join(',');
}

/** Header, a good record, the one that matters, a good record. */
function around(...middle: readonly string[]): Buffer {
  return Buffer.from(`${[HEADER, record(), ...middle, record()].join('\r\n')}\r\n`);
}

function withBytes(...bytes: readonly number[]): Buffer {
  const [before = '', after = ''] = `${HEADER}\r\n${record({ 'Service Level': '?' })}\r\n`.split('?');
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
}

const whole = (text: string): Buffer => Buffer.from(text);

function cells(column: CsvHeader, rule: string, values: readonly string[]): CorpusCase[] {
  return goodCells(column, values).map((each) => ({ ...each, verdict: [`${rule}@2/${column}`] }));
}

function goodCells(column: CsvHeader, values: readonly string[]): CorpusCase[] {
  return values.map((value) => ({
    name: `${column} ${JSON.stringify(value)}`,
    bytes: around(record({ [column]: value })),
    verdict: 'ok',
  }));
}

const one = (name: string, bytes: Buffer, verdict: CorpusCase['verdict']): CorpusCase => ({
  name,
  bytes,
  verdict,
});

const good = around();
const goodText = good.toString();

export const CSV_CORPUS: readonly CorpusCase[] = [
  one('a good file', good, 'ok'),
  ...goodCells('Billing Cost', [
    '0',
    '-0.00',
    '1.2345',
    '-5.00',
    '007.10',
    '99999999999999.9999',
    '-99999999999999.9999',
    '0.0001',
    '"9.16"',
  ]),
  ...cells('Billing Cost', 'amount', [
    '1.23456',
    '1.2300000',
    '1e3',
    '1e-5',
    ' 12.00',
    '12.00 ',
    '"12,00"',
    '"1,200.00"',
    'NaN',
    'Infinity',
    'inf',
    'NULL',
    '+5',
    '(5.00)',
    '$5.00',
    '.5',
    '5.',
    '-',
    '--5',
    '1_000',
    '0x10',
    'true',
    '100000000000000',
    '999999999999999.99',
    '5-',
    '1 000',
    '9.16€',
    '٣',
    '１２',
    '1.2.3',
    '"9.16\r\n"',
    '9\u00a0000',
    '-.5',
    'USD 5',
  ]),
  ...cells('Billing Cost', 'required', ['', '""']),
  ...goodCells('Billable Weight', ['0', '0.0000', '12', '00012.5', '99999999999999.9999']),
  ...cells('Billable Weight', 'weight', [
    '-1',
    '-0',
    '1.00001',
    '1e2',
    ' 1',
    '1 ',
    '+1',
    'heavy',
    '1;5',
    '.5',
  ]),
  one(
    'weight and unit both empty',
    around(record({ 'Billable Weight': '', 'Billable Weight Unit': '' })),
    'ok',
  ),
  one('a unit without a weight', around(record({ 'Billable Weight': '' })), 'ok'),
  one('a weight without a unit', around(record({ 'Billable Weight Unit': '' })), [
    'unit@2/Billable Weight Unit',
  ]),
  ...goodCells('Billable Weight Unit', ['KG', '"LB"']),
  ...cells('Billable Weight Unit', 'unit', ['lb', 'kg', 'OZ', 'LBS', 'LB ', ' KG', 'Kg']),
  one(
    'an unknown unit without a weight',
    around(record({ 'Billable Weight': '', 'Billable Weight Unit': 'OZ' })),
    ['unit@2/Billable Weight Unit'],
  ),
  ...goodCells('Ship Date', [
    '2024-02-29',
    '2000-02-29',
    '1999-12-31',
    '0001-01-01',
    '9999-12-31',
    '"2026-02-03"',
  ]),
  ...cells('Ship Date', 'date', [
    '2026-02-30',
    '2025-02-29',
    '1900-02-29',
    '2026-2-3',
    '02/03/2026',
    '2026/02/03',
    '20260203',
    '2026-02-03T10:00:00Z',
    '2026-02-03 10:00:00',
    '2026-02-03 ',
    ' 2026-02-03',
    '2026-02-03 (BC)',
    'infinity',
    '-infinity',
    'epoch',
    'today',
    'now',
    '26-02-03',
    '2026-13-01',
    '2026-00-10',
    '2026-04-31',
    '2026-02-00',
    '0000-01-01',
    '10000-01-01',
    '-2026-02-03',
    '2026-02-3',
    '2026-W05-1',
    '2026-034',
    '３０２６-02-03',
  ]),
  ...cells('Ship Date', 'required', ['', '""']),
  ...cells('Invoice Generation Date', 'date', ['2026-02-31', 'epoch']),
  ...cells('Invoice Generation Date', 'required', ['']),
  ...goodCells('Carrier Invoice Date', ['', '""']),
  ...cells('Carrier Invoice Date', 'date', ['2026-02-31', 'n/a', '-']),
  ...goodCells('Currency Code', ['EUR', 'JPY', 'XCG']),
  ...cells('Currency Code', 'currency', [
    '\ufeffUSD',
    'usd',
    'US',
    'USDX',
    'ZZZ',
    'XXX',
    'XTS',
    'U$D',
    'USD ',
    '$',
    'ABC',
    '840',
  ]),
  ...cells('Currency Code', 'required', ['']),
  ...goodCells('Invoice ID', [CORPUS_INVOICE.toUpperCase()]),
  ...cells('Invoice ID', 'invoice-id', [
    '7f3a0000-1111-4222-8333-444455556667',
    CORPUS_INVOICE.replaceAll('-', ''),
    `{${CORPUS_INVOICE}}`,
    `${CORPUS_INVOICE} `,
    'INV-1',
  ]),
  ...cells('Invoice ID', 'required', ['']),
  ...cells('Tenant', 'required', [
    '',
    '""',
    ' ',
    '\ufeff',
    '"\t"',
    '\t',
    '\u0001',
    '" \u200b\u3000"',
    '\u2800',
    '\u3164',
  ]),
  ...cells('Tracking Number', 'required', ['', '""', '\u200b', '"\r\n"']),
  ...cells('Carrier', 'required', ['', '\u00a0', '\u{e0020}']),
  ...goodCells('Tenant', [
    ' x',
    'Odd & Sons\u200b',
    '=1+1',
    '@SUM(A1)',
    '#Acme',
    '-',
    'NULL',
    'Zoë 🚚',
    '"Acme, Inc."',
    '"say ""hi"""',
    '"a\r\nb"',
    '"a\nb"',
    '"a\rb"',
    "'; drop table loads; --",
    '\u202egnp',
    '\ufeffAcme',
    'x'.repeat(100_000),
    '日本',
    'a\u0301',
    '\\',
    '\u0001x',
  ]),
  ...goodCells('Origin', ['', '501', 'SW1A 1AA', '"00501"']),
  ...goodCells('Carrier Zone', ['', 'Zone 5', '05', 'Intl']),
  ...goodCells('Service Level', ['', '"2nd Day, AM"']),
  ...goodCells('Tracking Number', ['007', '1e3', '92001901755477000000000000000000000000']),
  one(
    'an empty optional cell in every place',
    around(record({ Origin: '', 'Carrier Zone': '', 'Carrier Invoice Date': '', 'Service Level': '' })),
    'ok',
  ),
  one(
    'every field quoted',
    whole(
      goodText
        .split('\r\n')
        .map((line) =>
          line === ''
            ? ''
            : line
                .split(',')
                .map((cell) => `"${cell}"`)
                .join(','),
        )
        .join('\r\n'),
    ),
    'ok',
  ),
  one('two bad cells in one record', around(record({ 'Billing Cost': 'x', 'Ship Date': 'y' })), [
    'date@2/Ship Date',
    'amount@2/Billing Cost',
  ]),
  one('two bad records', around(record({ 'Billing Cost': 'x' }), record({ Carrier: '' })), [
    'amount@2/Billing Cost',
    'required@3/Carrier',
  ]),
  one(
    'a bad record behind one with a line break',
    around(record({ Tenant: '"a\r\nb"' }), record({ 'Billing Cost': 'x' })),
    ['amount@3/Billing Cost'],
  ),
  one('a doubled record', around(record(), record()), 'ok'),
  one('two currencies', around(record({ 'Currency Code': 'EUR' })), 'ok'),
  one('a UTF-8 byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), good]), 'ok'),
  one('two byte order marks', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf]), good]), [
    'header@-/Tenant',
  ]),
  one('no final line end', good.subarray(0, -2), 'ok'),
  one('a final CR only', good.subarray(0, -1), [`bare-cr@2/${LAST}`]),
  one('an empty file', Buffer.alloc(0), ['header@-/-']),
  one('a byte order mark and nothing else', Buffer.from([0xef, 0xbb, 0xbf]), ['header@-/-']),
  one('header only', whole(`${HEADER}\r\n`), ['no-rows@-/-']),
  one('header only, without line end', whole(HEADER), ['no-rows@-/-']),
  one('no header', whole(`${record()}\r\n${record()}\r\n`), ['header@-/Tenant']),
  one('header with one name in quotes', whole(goodText.replace('Origin', '"Origin"')), 'ok'),
  one('header with an unclosed quote', whole(goodText.replace('Origin', '"Origin')), [
    'header@-/Origin',
    'open-quote@-/-',
  ]),
  one('header in lower case', whole(goodText.replace(HEADER, HEADER.toLowerCase())), ['header@-/Tenant']),
  one('header with a space behind a name', whole(goodText.replace('Tenant,', 'Tenant ,')), [
    'header@-/Tenant',
  ]),
  one('header reordered', whole(goodText.replace('Carrier,Carrier Zone', 'Carrier Zone,Carrier')), [
    'header@-/Carrier',
  ]),
  one('header with a doubled name', whole(goodText.replace('Origin', 'Tenant')), ['header@-/Origin']),
  one('header with a misspelt name', whole(goodText.replace('Carrier Zone', 'Carier Zone')), [
    'header@-/Carrier Zone',
  ]),
  one('header with a column more', whole(goodText.replace(HEADER, `${HEADER},Extra`)), ['header@-/-']),
  one('header with a column less', whole(goodText.replace(HEADER, FIRST_HEADERS.slice(0, -1).join(','))), [
    'header@-/Service Level',
  ]),
  one('header behind an empty line', whole(`\r\n${goodText}`), ['header@-/-', 'blank-line@-/-']),
  one(
    'header twice',
    around(HEADER),
    CSV_COLUMNS.flatMap(({ rule, header }) => (rule === 'text' ? [] : [`${rule}@2/${header}`])),
  ),
  one('header separated by semicolons', whole(goodText.replaceAll(',', ';')), [
    'header@-/Tenant',
    'field-count@1/-',
    'field-count@2/-',
  ]),
  one('tabs instead of commas', whole(goodText.replaceAll(',', '\t')), [
    'header@-/Tenant',
    'field-count@1/-',
    'field-count@2/-',
  ]),
  one('a column more in all records', whole(goodText.replaceAll('\r\n', ',x\r\n')), [
    'header@-/-',
    'field-count@1/-',
    'field-count@2/-',
  ]),
  one('LF line ends', whole(goodText.replaceAll('\r\n', '\n')), [
    'bare-lf@-/-',
    `bare-lf@1/${LAST}`,
    `bare-lf@2/${LAST}`,
  ]),
  one('CR line ends', whole(goodText.replaceAll('\r\n', '\r')), [
    'bare-cr@-/-',
    'bare-cr@-/-',
    'bare-cr@-/-',
  ]),
  one('one LF among CRLF', whole(goodText.replace(/\r\n(?=[^\r]*\r\n$)/, '\n')), [`bare-lf@1/${LAST}`]),
  one('CR CR LF', whole(goodText.replaceAll('\r\n', '\r\r\n')), [
    'bare-cr@-/-',
    `bare-cr@1/${LAST}`,
    `bare-cr@2/${LAST}`,
  ]),
  one('LF CR', whole(goodText.replaceAll('\r\n', '\n\r')), [
    'bare-lf@-/-',
    'bare-cr@1/Tenant',
    `bare-lf@1/${LAST}`,
    'bare-cr@2/Tenant',
    `bare-lf@2/${LAST}`,
    'bare-cr@3/Tenant',
    'field-count@3/-',
  ]),
  one('a lone CR in an unquoted field', around(record({ 'Service Level': 'Gro\rund' })), [
    'bare-cr@2/Service Level',
  ]),
  one('a lone LF in an unquoted field', around(record({ [LAST]: 'Gro\nund' })), [
    `bare-lf@2/${LAST}`,
    'field-count@3/-',
  ]),
  one('a vertical tab and form feed', around(record({ 'Service Level': 'a\u000bb\u000c' })), 'ok'),
  one('a Unicode line separator', around(record({ 'Service Level': 'a\u2028b' })), 'ok'),
  one('a next-line character', around(record({ 'Service Level': 'a\u0085b' })), 'ok'),
  one('a blank line in the middle', around(''), ['blank-line@2/-']),
  one('a blank line at the end', whole(`${goodText}\r\n`), ['blank-line@3/-']),
  one('two blank lines at the end', whole(`${goodText}\r\n\r\n`), ['blank-line@3/-', 'blank-line@3/-']),
  one('a line of spaces', around('   '), ['field-count@2/-']),
  one('a record of empty fields', around(','.repeat(CSV_HEADERS.length - 1)), [
    'required@2/Tenant',
    'required@2/Invoice Generation Date',
    'required@2/Invoice ID',
    'required@2/Ship Date',
    'required@2/Currency Code',
    'required@2/Billing Cost',
    'required@2/Tracking Number',
    'required@2/Carrier',
  ]),
  one('a short record', around(record().replace(/,[^,]*$/, '')), ['field-count@2/-']),
  one('a long record', around(`${record()},x`), ['field-count@2/-']),
  one('a trailing comma', around(`${record()},`), ['field-count@2/-']),
  one('an unquoted comma in a cost', around(record({ 'Billing Cost': '12,00' })), ['field-count@2/-']),
  one('cut off in the middle of a record', good.subarray(0, -40), ['field-count@2/-']),
  one('cut off behind the header', good.subarray(0, HEADER.length + 1), ['bare-cr@-/-', 'no-rows@-/-']),
  one('a NUL in a field', around(record({ 'Service Level': 'Gro\u0000und' })), ['nul@2/Service Level']),
  one('a NUL in quotes', around(record({ 'Service Level': '"Gro\u0000und"' })), ['nul@2/Service Level']),
  one('NULs at the end', Buffer.concat([good, Buffer.alloc(16)]), ['nul@3/Tenant', 'field-count@3/-']),
  one('Latin-1', Buffer.from(around(record({ 'Service Level': 'Café' })).toString(), 'latin1'), [
    'utf-8@2/Service Level',
  ]),
  one('an invalid byte', Buffer.from(around(record({ 'Service Level': '\u00ff' })).toString(), 'latin1'), [
    'utf-8@2/Service Level',
  ]),
  one('an overlong encoding', withBytes(0xc0, 0xaf), ['utf-8@1/Service Level']),

  one('a surrogate in UTF-8', withBytes(0xed, 0xa0, 0x80), ['utf-8@1/Service Level']),

  one('a character cut off at the end', Buffer.concat([good.subarray(0, -2), Buffer.from([0xe2, 0x82])]), [
    `utf-8@2/${LAST}`,
  ]),
  one('a stray quote', around(record({ 'Service Level': 'ab"c' })), ['stray-quote@2/Service Level']),
  one('text behind a closing quote', around(record({ 'Service Level': '"ab"c' })), [
    'text-after-quote@2/Service Level',
  ]),
  one('a space before an opening quote', around(record({ 'Service Level': ' "abc"' })), [
    'stray-quote@2/Service Level',
  ]),
  one('a space behind a closing quote', around(record({ 'Service Level': '"abc" ' })), [
    'text-after-quote@2/Service Level',
  ]),
  one('a backslash before a quote', around(record({ 'Service Level': '"a\\"b"' })), [
    'text-after-quote@2/Service Level',
    'stray-quote@2/Service Level',
  ]),
  one('a quote that never closes', around(record({ [LAST]: '"abc' })), [`open-quote@2/${LAST}`]),
  one('single quotes', around(record({ 'Service Level': "'a'" })), 'ok'),
  one('curly quotes', around(record({ 'Service Level': '“a”' })), 'ok'),
  one('an HTML page', whole('<!DOCTYPE html>\r\n<html><body>Access denied</body></html>\r\n'), [
    'header@-/Tenant',
    'field-count@1/-',
  ]),
  one('an XML error', whole('<?xml version="1.0"?><Error><Code>ExpiredToken</Code></Error>'), [
    'header@-/Tenant',
    'stray-quote@-/-',
  ]),
  one('a JSON error', whole('{"error":"invalid_token"}'), ['header@-/Tenant', 'stray-quote@-/-']),
  one('gzip', Buffer.from('1f8b0800000000000003cb48cdc9c95728cf2fca49e10200', 'hex'), ['format@-/-']),
  one('a comment line', around('# made by hand'), ['field-count@2/-']),
  one('a total line', around(CSV_HEADERS.map((name) => TOTAL_LINE[name] ?? '').join(',')), [
    'required@2/Invoice Generation Date',
    'required@2/Invoice ID',
    'required@2/Ship Date',
    'required@2/Currency Code',
    'required@2/Tracking Number',
    'required@2/Carrier',
  ]),
  one('a field of 1,900,000 bytes', around(record({ 'Service Level': 'x'.repeat(1_900_000) })), 'ok'),
  one(
    'a quoted field of 1,900,000 bytes with line breaks',
    around(record({ 'Service Level': `"${'x\r\n'.repeat(630_000)}"` })),
    'ok',
  ),
  one('a field of 2,100,000 bytes', around(record({ 'Service Level': 'x'.repeat(2_100_000) })), [
    'record-too-big@2/-',
  ]),
  one('three thousand records', whole(`${[HEADER, ...Array(3000).fill(record())].join('\r\n')}\r\n`), 'ok'),
  one(
    'one bad among three thousand',
    whole(`${[HEADER, ...Array(2999).fill(record()), record({ 'Billing Cost': '1e3' })].join('\r\n')}\r\n`),
    ['amount@3000/Billing Cost'],
  ),
  one('UTF-16', Buffer.from(`\ufeff${goodText}`, 'utf16le'), ['format@-/-']),
];
