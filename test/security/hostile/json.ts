/** Values that break readers: half characters, deep nesting, numbers beyond every type, keys that mean something to JavaScript. */

import type { Random } from '../../support/random.ts';

const TEXTS = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  'a\udc00b',
  '\ufeff',
  '\u202egnp.exe',
  '\u2028',
  "'; drop table invoices; --",
  '../../etc/passwd',
  '=cmd|calc!A0',
  '<script>alert(1)</script>',
  '{{7*7}}',
  '%s%n',
  '2026-02-30',
  '2026-03-01T24:00:00Z',
  '0000-00-00',
  '-271821-04-20',
  '11111111-1111-1111-1111-111111111111',
  'https://u:p@storage.example/a?X-Amz-Signature=presigned-secret#f',
  'voided',
  'null',
  'NaN',
  '\u{1f4b0}',
] as const;
const NUMBERS = [
  '0',
  '-0',
  '1e3',
  '0.1',
  '9007199254740993',
  '18446744073709551616',
  '-9223372036854775809',
  '1e308',
  '1e309',
  '-1e999999999',
  '1E-400',
  '0.00000000000000000000000000000000000001',
  `1${'0'.repeat(500)}`,
] as const;
const KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'length',
  '',
  '\ud800',
  'metadata',
  'payload',
  'a.b',
  '0',
];

/** JSON text of any value. @param depth how deep it may still nest by chance */
export function hostileJson(random: Random, depth = 4): string {
  const kind = random.between(0, depth > 0 ? 9 : 6);
  if (kind <= 2) return JSON.stringify(hostileText(random));
  if (kind <= 4) return random.pick(NUMBERS);
  if (kind <= 6) return random.pick(['null', 'true', 'false', '[]', '{}']);
  if (kind === 7 && random.chance(0.1)) return nested(random);
  const size = random.chance(0.004) ? random.between(100, 3_000) : random.between(0, 4);
  const parts = Array.from({ length: size }, () => hostileJson(random, size > 4 ? 0 : depth - 1));
  if (kind === 8) return `[${parts.join(',')}]`;
  return `{${parts.map((part, index) => `${JSON.stringify(random.chance(0.3) ? random.pick(KEYS) : `k${index}`)}:${part}`).join(',')}}`;
}

export function hostileText(random: Random): string {
  const text = random.pick(TEXTS);
  if (random.chance(0.01)) return text.repeat(random.between(1, 1_000));
  if (random.chance(0.2))
    return String.fromCharCode(...Array.from({ length: 8 }, () => random.between(0, 0xffff)));
  return text;
}

function nested(random: Random): string {
  const levels = random.pick([10, 63, 64, 65, 1_000, 6_000]);
  const [open, close] = random.chance(0.5) ? ['[', ']'] : ['{"a":', '}'];
  return open.repeat(levels) + (random.chance(0.8) ? `1${close.repeat(levels)}` : '');
}

/** Bytes that were good, changed here and there: flipped, cut, doubled, moved. */
export function damaged(random: Random, bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  const at = random.between(0, Math.max(0, copy.length - 1));
  const to = random.between(at, copy.length);
  switch (random.between(0, 3)) {
    case 0:
      for (let flips = random.between(1, 5); flips > 0 && copy.length > 0; flips -= 1) {
        copy[random.between(0, copy.length - 1)] = random.between(0, 255);
      }
      return copy;
    case 1:
      return copy.subarray(0, at);
    case 2:
      return Buffer.concat([copy.subarray(0, to), copy.subarray(at)]);
    default:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(to)]);
  }
}
