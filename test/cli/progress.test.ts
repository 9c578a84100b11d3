/** Long work is never silent: what says nothing new is said to go on. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { lineProgress } from '../../cli/terminal/output.ts';

let written = '';

beforeEach(() => {
  written = '';
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('prints changed numbers at once, unchanged ones with the time, and the last ones at the end', () => {
  const progress = lineProgress('Proving');
  for (let second = 0; second < 7; second += 1) {
    progress.update(0, 3, 'invoices');
    vi.advanceTimersByTime(1_000);
  }
  progress.update(1, 3, 'invoices');
  progress.update(3, 3, 'invoices');
  progress.end();
  expect(written.split('\n')).toEqual([
    'Proving: 0/3 invoices, 5 s so far',
    'Proving: 1/3 invoices',
    'Proving: 3/3 invoices',
    '',
  ]);
});
