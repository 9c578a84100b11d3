import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  compareDecimals,
  dividedHalfAway,
  fromTenThousandths,
  plainDecimal,
  toTenThousandths,
} from '../../lib/decimal.ts';

describe('plainDecimal', () => {
  test.each([
    ['0', '0'],
    ['-0.00', '-0.00'],
    ['1.50', '1.50'],
    ['12345678901234567.89', '12345678901234567.89'],
    ['1e3', '1000'],
    ['1.5E+2', '150'],
    ['1.2345e2', '123.45'],
    ['1.5e-3', '0.0015'],
    ['-12.5e-1', '-1.25'],
    ['0e5', '0'],
  ])('writes %s as %s', (written, plain) => {
    expect(plainDecimal(written)).toBe(plain);
  });

  test.each(['', '1.', '.5', '+5', '0x10', '1_000', ' 1', '1e', 'NaN', '1e999999999', '1e70'])(
    'refuses %j',
    (text) => {
      expect(() => plainDecimal(text)).toThrow(RangeError);
    },
  );

  test('keeps the value of every number JSON can write', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -1e15, max: 1e15 }), (number) => {
        fc.pre(Math.abs(number) > 1e-20 || number === 0);
        expect(Number(plainDecimal(JSON.stringify(number)))).toBeCloseTo(number, 10);
      }),
    );
  });
});

describe('ten-thousandths', () => {
  test('round-trip', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (amount) => {
        expect(toTenThousandths(fromTenThousandths(amount))).toBe(amount);
      }),
    );
  });

  test('are refused, not rounded, for a fifth decimal', () => {
    expect(() => toTenThousandths('1.00001')).toThrow(/more than 4 decimals/);
    expect(toTenThousandths('1.0000000')).toBe(10_000n);
    expect(toTenThousandths('-0.0001')).toBe(-1n);
  });
});

describe('compareDecimals', () => {
  test('is exact where floats are not', () => {
    expect(compareDecimals('1.5', '1.50000')).toBe(0);
    expect(compareDecimals('-0.0', '0')).toBe(0);
    expect(compareDecimals('-2', '-1.9')).toBe(-1);
    expect(compareDecimals('10', '9.9999')).toBe(1);
  });
});

test.each([
  [5n, 2n, 3n],
  [-5n, 2n, -3n],
  [4n, 3n, 1n],
  [-4n, 3n, -1n],
])('dividedHalfAway rounds %d / %d to %d', (amount, by, rounded) => {
  expect(dividedHalfAway(amount, by)).toBe(rounded);
});
