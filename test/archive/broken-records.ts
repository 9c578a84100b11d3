/** Broken JSON records as a disk, a crash or a person can leave them. */

import fc from 'fast-check';

/** Values that no field expects, and some that only look right. */
const WRONG: readonly string[] = [
  'null',
  'true',
  '{}',
  '[]',
  '[{"a":1}]',
  '""',
  '"\\ud800"',
  '"a\\udc00b"',
  '"\\u0000"',
  '"../../etc/passwd"',
  '"+275760-09-13T00:00:00.000Z"',
  '"2026-02-31T25:61:00Z"',
  '"NaN"',
  '-1',
  '1.5',
  '1e400',
  '9007199254740993',
  '92233720368547758079223372036854775807',
  `"${'x'.repeat(100_000)}"`,
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
];

/** Texts that are no such record at all. */
const NONE: readonly Buffer[] = [
  Buffer.alloc(0),
  Buffer.alloc(4096),
  Buffer.from('   '),
  Buffer.from('null'),
  Buffer.from('"text"'),
  Buffer.from('[]'),
  Buffer.from('{}'),
  Buffer.from('['.repeat(100_000)),
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
];

/** One field of the record, however deep, holds what it should not. */
function withWrongField(json: string): fc.Arbitrary<Buffer> {
  const places = placesIn(JSON.parse(json));
  return fc.tuple(fc.constantFrom(...places), fc.constantFrom(...WRONG)).map(([place, wrong]) => {
    const marker = '"\u2603 here \u2603"';
    const value = JSON.parse(json) as unknown;
    put(value, place, JSON.parse(marker));
    return Buffer.from(JSON.stringify(value).replace(marker, () => wrong));
  });
}

/** @param json of a sound record, an object; a journal's line stays one line */
export function brokenRecord(json: string): fc.Arbitrary<Buffer> {
  const whole = Buffer.from(json);
  const at = fc.nat({ max: whole.length - 1 });
  return fc.oneof(
    { weight: 4, arbitrary: withWrongField(json) },
    { weight: 1, arbitrary: fc.constantFrom(...NONE) },
    { weight: 1, arbitrary: at.map((end) => whole.subarray(0, end)) },
    {
      weight: 1,
      arbitrary: at.map((i) =>
        Buffer.concat([whole.subarray(0, i), Buffer.from([0xff]), whole.subarray(i + 1)]),
      ),
    },
  );
}

type Place = readonly string[];

function placesIn(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[...at, key], ...placesIn(inner, [...at, key])]);
}

function put(value: unknown, [key = '', ...rest]: Place, wrong: unknown): void {
  const inside = value as Record<string, unknown>;
  if (rest.length === 0) inside[key] = wrong;
  else put(inside[key], rest, wrong);
}
