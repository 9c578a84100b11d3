/** Amounts keep their digits on the way into JSON, and nothing else is changed. */
import { expect, test } from 'vitest';
import { ExactNumber, exactJson } from '../../sandbox/money.ts';

test.each(['12.30', '-0.0001', '123456789012345678.9012', '0'])('%s is written as it is', (digits) => {
  expect(exactJson({ amount: new ExactNumber(digits), rows: [new ExactNumber(digits)] })).toBe(
    `{"amount":${digits},"rows":[${digits}]}`,
  );
});

test('amounts are found among text that looks like them', () => {
  const amount = new ExactNumber('1.50');
  expect(exactJson({ a: '\u0000', b: amount, c: '"\u0000', d: amount })).toBe(
    '{"a":"\\u0000","b":1.50,"c":"\\"\\u0000","d":1.50}',
  );
});

test('text stays text, whatever it looks like', () => {
  const value = {
    a: '12.30',
    b: '"12.30"',
    c: 'x\u000012\u0000',
    d: null,
    e: { f: [1, true] },
    g: undefined,
    h: 'x"\u000012\u0000',
    i: ['\u0000', '\u0000x\u0000', '\u00001', '1\u0000'],
  };
  expect(exactJson(value)).toBe(JSON.stringify(value));
});
