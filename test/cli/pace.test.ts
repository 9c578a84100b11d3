import { expect, test } from 'vitest';
import { paceOf } from '../../cli/terminal/output.ts';

test('shows rate and remaining time after the start', () => {
  let ms = 0;
  const pace = paceOf('files', () => ms);
  ms = 1_000;
  expect(pace(10, 1_000)).toBe('files');
  ms = 4_000;
  expect(pace(9, 1_000)).toBe('files');
  expect(pace(600, 1_000)).toBe('files, 150 a second, 3 s left');
  expect(pace(1_000, 1_000)).toBe('files, 250 a second');
  ms = 10_000;
  expect(pace(15, 1_000)).toBe('files, 1.5 a second, 11 min left');
  expect(pace(15, 100_000)).toBe('files, 1.5 a second, 18.5 h left');
});
