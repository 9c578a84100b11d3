/** Amounts keep their digits on the way into JSON, and nothing else is changed. */
import { expect, test } from 'vitest';
import { ExactNumber, exactJson } from '../../sandbox/exact-json.js';

test.each(['12.30', '-0.0001', '123456789012345678.9012', '0'])('%s is written as it is', (digits) => {
  expect(exactJson({ amount: new ExactNumber(digits), rows: [new ExactNumber(digits)] })).toBe(
    `{"amount":${digits},"rows":[${digits}]}`,
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
  };
  expect(exactJson(value)).toBe(JSON.stringify(value));
});
