import { describe, expect, test } from 'vitest';
import { CSV_EDITIONS, CSV_HEADERS } from '../../../lib/wire/csv-file.ts';
import { CsvScanner } from '../../../lib/wire/csv-scanner.ts';

const HEADER = CSV_HEADERS.join(',');
const FIRST_FOURTEEN = 'Acme,2026-11-01,7f3a,2026-10-03,00501,USD,9.16,2.5,LB,1Z999,UPS,5,2026-10-28,Ground';
const GOOD = [FIRST_FOURTEEN, ...CSV_HEADERS.slice(14).map(() => 'x')].join(',');
const LAST = CSV_HEADERS.at(-1);

function scan(text: string | Uint8Array, chunkBytes = 65_536, recordsPerCut?: number) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const scanner = new CsvScanner(recordsPerCut);
  for (let at = 0; at < bytes.length; at += chunkBytes) scanner.push(bytes.subarray(at, at + chunkBytes));
  return scanner.end();
}
/** Three rows, the middle one changed in its last column or throughout. */
function fileWith(middle: string) {
  return [HEADER, GOOD, middle, GOOD, ''].join('\r\n');
}
function withLevel(serviceLevel: string) {
  return GOOD.replace('Ground', serviceLevel);
}

describe('CsvScanner', () => {
  test('counts the records of a good file', () => {
    const file = fileWith(GOOD);
    expect(scan(file)).toMatchObject({
      records: 3,
      findings: [],
      findingCount: 0,
      endsWithLineEnd: true,
      cuts: [HEADER.length + 2],
    });
  });

  test.each([
    ['with', '\r\n'],
    ['without', ''],
  ])('reports where a file may be cut, %s a line end at its end', (_, end) => {
    const records = [GOOD, withLevel('"a\r\nb"'), withLevel('"x\n"'), GOOD, GOOD, withLevel('"é\r\n"')];
    const file = Buffer.from(`\ufeff${[HEADER, ...records].join('\r\n')}${end}`);
    for (const chunkBytes of [1, 7, 65_536]) {
      const { cuts = [] } = scan(file, chunkBytes, 2);
      const chunks = cuts.map((cut, index) => file.subarray(cut, cuts[index + 1]).toString());
      const pair = (first: number): string => records.slice(first, first + 2).join('\r\n');
      expect(chunks).toEqual([`${pair(0)}\r\n`, `${pair(2)}\r\n`, `${pair(4)}${end}`]);
      expect(file.subarray(0, cuts[0]).toString()).toBe(`\ufeff${HEADER}\r\n`);
    }
  });

  test('reports line, row, column and value', () => {
    const file = [
      HEADER,
      GOOD.replace('Acme', '"two\r\nlines"'),
      GOOD.replace('UPS', 'U"PS'),
      `${GOOD},`,
      '',
    ].join('\r\n');
    expect(scan(file).findings).toEqual([
      { line: 4, row: 2, column: 'Carrier', rule: 'stray-quote', value: 'U"' },
      {
        line: 5,
        row: 3,
        column: null,
        rule: 'field-count',
        value: `${CSV_HEADERS.length + 1} fields instead of ${CSV_HEADERS.length}`,
      },
    ]);
    expect(scan(fileWith(withLevel('Gro\0und'))).findings).toEqual([
      { line: 3, row: 2, column: 'Service Level', rule: 'nul', value: 'Gro\\u0000' },
    ]);
    expect(scan(fileWith(withLevel('"never closed'))).findings[0]).toMatchObject({
      line: 3,
      row: 2,
      rule: 'open-quote',
    });
  });

  test.each([
    ['Latin-1', [0xe9], 'byte 0xe9 after "Caf"'],
    ['Latin-1 before a letter', [0xe9, 0x6f], 'byte 0xe9 after "Caf"'],
    ['a character cut short', [0xf0, 0x9f, 0x98], 'bytes 0xf0 0x9f 0x98 after "Caf"'],
    ['a surrogate', [0xed, 0xa0, 0x80], 'byte 0xed after "Caf"'],
    ['an overlong form', [0xe0, 0x80], 'byte 0xe0 after "Caf"'],
  ])('names the bytes that are no UTF-8, once for a cell: %s', (_, bytes, value) => {
    const [before = '', after = ''] = fileWith(GOOD.replace('UPS', 'Caf?')).split('?');
    const file = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
    for (const chunkBytes of [1, 2, 3, 65_536]) {
      expect(scan(file, chunkBytes)).toMatchObject({
        findings: [{ line: 3, row: 2, column: 'Carrier', rule: 'utf-8', value }],
        findingCount: 1,
      });
    }
  });

  test('reports a repeated problem of a cell once', () => {
    expect(scan(fileWith(withLevel('a""b\0\0"'))).findings).toMatchObject([
      { rule: 'stray-quote', column: 'Service Level' },
      { rule: 'nul', column: 'Service Level' },
    ]);
    expect(scan(fileWith(`${GOOD.replace('UPS', 'U"PS')}"`)).findings).toMatchObject([
      { rule: 'stray-quote', column: 'Carrier' },
      { rule: 'stray-quote', column: LAST },
    ]);
  });

  test.each([
    [
      'a name that is another',
      HEADER.replace('Carrier Zone', 'Zone'),
      'Carrier Zone',
      /^field 12 is "Zone" instead of "Carrier Zone": Tenant,/,
    ],
    [
      'a space that only looks like one',
      HEADER.replace('Ship Date', 'Ship\u00a0Date'),
      'Ship Date',
      /^field 4 is "Ship\\u00a0Date" instead/,
    ],
    [
      'a name too few',
      CSV_EDITIONS[0]?.slice(0, -1).join(',') ?? '',
      'Service Level',
      /^field 14 is nothing instead of/,
    ],
    ['a name too many', `${HEADER},x`, null, new RegExp(`^more than ${CSV_HEADERS.length} fields: Tenant,`)],
    ['an empty line', `\r\n${HEADER}`, null, /^the first line is empty$/],
    ['nothing', '', null, /^the file is empty$/],
  ])('describes a wrong header: %s', (_, header, column, value) => {
    const file = header === '' ? '' : `${header}\r\n${GOOD}\r\n`;
    for (const chunkBytes of [1, 65_536]) {
      const [finding] = scan(file, chunkBytes).findings;
      expect(finding).toEqual({
        line: 1,
        row: null,
        column,
        rule: 'header',
        value: expect.stringMatching(value),
      });
    }
  });

  test('reads the same wherever the chunks are cut', () => {
    const awkward = [
      `\ufeff${fileWith(withLevel('"Zoë, ""🚚""\r\nb"'))}`,
      fileWith(withLevel('ab"c\rd\0é')),
      fileWith(withLevel('"open 🚚')),
      `${HEADER}\n\r\n${GOOD}\n\n${GOOD}\r`,
      Buffer.concat([Buffer.from(fileWith(GOOD)), Buffer.from([0xf0, 0x9f, 0x41, 0xe2, 0x82])]),
    ];
    for (const file of awkward) {
      const whole = scan(file);
      for (const chunkBytes of [1, 2, 3, 5, 7, 11, 64, 217, 218, 219])
        expect(scan(file, chunkBytes)).toEqual(whole);
    }
  });
});
