/** Generated files for the two readers: good ones with awkward text, and such as are broken in a cell, a line or a byte. */

import fc from 'fast-check';
import { isNothing } from '../../../lib/text.ts';
import { type ColumnRule, CSV_COLUMNS, CSV_HEADERS } from '../../../lib/wire/csv-file.ts';

export const INVOICE = '7f3a0000-1111-4222-8333-444455556666';

/** Mostly good files with awkward text; then mutated in cells, in structure or in bytes. */
export function anyCsvFile(): fc.Arbitrary<Buffer> {
  const awkward = fc.constantFrom(
    '',
    ' ',
    'Acme',
    '"Acme, Inc."',
    '"say ""hi"""',
    '"a\r\nb"',
    '"a\nb"',
    '"\r\n"',
    '""',
    '"a""\r\n""b"',
    '00501',
    '=1+1',
    'Zoë 🚚',
    '日本',
    '"\t,"',
    "'",
    '#',
    '\\',
    '"\\"',
    'x'.repeat(300),
    '\u2028',
    '\ufeffAcme',
    '"\ufeff"',
    '"" ',
    ' "x"',
    'a"b',
    '"a"b',
    '"open',
    'a\rb',
    'a\nb',
    '\0',
    ',',
  );
  const text = fc.oneof(
    { weight: 12, arbitrary: awkward.filter((cell) => !BROKEN.has(cell)) },
    { weight: 1, arbitrary: awkward },
  );
  const amount = fc.oneof(
    {
      weight: 12,
      arbitrary: fc
        .tuple(fc.integer({ min: -99999, max: 99999 }), fc.integer({ min: 0, max: 4 }))
        .map(([n, d]) => asAmount(n, d)),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '1e3',
        '1.23456',
        ' 1',
        '+1',
        '1,5',
        '"1,5"',
        '.5',
        '5.',
        'NaN',
        '1_0',
        '100000000000000',
      ),
    },
  );
  const day = fc.oneof(
    {
      weight: 14,
      arbitrary: fc
        .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
        .map((date) => date.toISOString().slice(0, 10)),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '2026-02-30',
        '2026-2-3',
        'epoch',
        '2026-02-03 ',
        'infinity',
        '0000-01-01',
        '1900-02-29',
      ),
    },
  );
  const mostly = <T>(good: T, others: readonly T[]): fc.Arbitrary<T> =>
    fc.oneof(
      { weight: 40, arbitrary: fc.constant(good) },
      { weight: 1, arbitrary: fc.constantFrom(...others) },
    );
  const required = fc.oneof(
    { weight: 400, arbitrary: text.map((cell) => (isNothing(cell.replaceAll('"', '')) ? 'T' : cell)) },
    { weight: 1, arbitrary: fc.constantFrom(' ', '"\r\n"', '"\ufeff"', '\u200b', '\u3000x') },
  );
  const cellsOf: Readonly<Record<ColumnRule, fc.Arbitrary<string>>> = {
    ...{ text, date: day, amount, weight: amount.map((cell) => cell.replace('-', '')) },
    'invoice-id': mostly(INVOICE, [INVOICE.toUpperCase(), 'x', '']),
    currency: mostly('USD', ['EUR', 'usd', 'ZZZ', '', '\ufeffUSD']),
    unit: mostly('LB', ['KG', 'lb', '']),
  };
  const row = fc
    .tuple(
      ...CSV_COLUMNS.map(({ rule, isRequired }) => {
        if (rule === 'text' && isRequired) return required;
        return rule === 'date' && !isRequired ? fc.oneof(day, fc.constant('')) : cellsOf[rule];
      }),
    )
    .map((cells) => cells.join(','));
  const end = mostly('\r\n', ['\n', '\r', '\r\n\r\n', '\n\r']);
  const lines = fc.array(fc.tuple(row, end), { minLength: 0, maxLength: 6 });
  const header = mostly(CSV_HEADERS.join(','), [
    CSV_HEADERS.join(';'),
    CSV_HEADERS.toReversed().join(','),
    '',
  ]);
  const base = fc
    .tuple(mostly('', ['\ufeff']), header, lines)
    .map(([bom, head, rows]) =>
      Buffer.from(`${bom}${head}\r\n${rows.map((pair) => pair.join('')).join('')}`),
    );
  return fc.oneof({ weight: 5, arbitrary: base }, { weight: 1, arbitrary: base.chain(mutated) });
}

const BROKEN = new Set(['"" ', ' "x"', 'a"b', '"a"b', '"open', 'a\rb', 'a\nb', '\0', ',']);

/** Cuts off, puts in or changes bytes anywhere. */
function mutated(bytes: Buffer): fc.Arbitrary<Buffer> {
  const place = fc.integer({ min: 0, max: bytes.length });
  return fc.oneof(
    place.map((at) => bytes.subarray(0, at)),
    fc
      .tuple(place, fc.constantFrom('"', ',', '\r', '\n', '\0', '\r\n', '""', 'é', '\ufeff'))
      .map(([at, put]) => Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(at)])),
    fc.tuple(place, fc.integer({ min: 0, max: 255 })).map(([at, byte]) => {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = byte;
      return copy;
    }),
  );
}

function asAmount(value: number, decimals: number): string {
  const digits = `${Math.abs(value)}`.padStart(decimals + 1, '0');
  const text = decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
  return value < 0 ? `-${text}` : text;
}
