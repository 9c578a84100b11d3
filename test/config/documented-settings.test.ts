/** Every setting is in the README's table, and the table names none that does not exist. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SETTING_DEFINITIONS } from '../../config/setting-definitions.js';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** `BILLSYNC_X_HOST`, `_PORT` in one cell are BILLSYNC_X_HOST and BILLSYNC_X_PORT. */
function namesIn(cell: string): readonly string[] {
  const words = [...cell.matchAll(/`([A-Z_]+)(?:=[a-z]+)?`/g)].map((found) => found[1] ?? '');
  const known = SETTING_DEFINITIONS.map(({ variable }) => variable);
  return words.map((word, at) => {
    if (!word.startsWith('_')) return word;
    const stem = (words[at - 1]?.startsWith('_') ? words[0] : words[at - 1]) ?? '';
    const parts = stem.split('_');
    const candidates = parts.map((_, count) => `${parts.slice(0, parts.length - count).join('_')}${word}`);
    return candidates.find((candidate) => known.includes(candidate)) ?? word;
  });
}

test('the README lists every setting', () => {
  const rows = README.split('\n').filter((line) => /^\| `[A-Z]/.test(line));
  const named = rows.flatMap((line) => namesIn(line.split('|')[1] ?? ''));
  const inMeanings = rows.flatMap((line) => namesIn(line.split('|').slice(2).join('|')));
  const known = SETTING_DEFINITIONS.map(({ variable }) => variable);
  expect(known.filter((variable) => ![...named, ...inMeanings].includes(variable))).toEqual([]);
  // Temporal's own names are Temporal's.
  expect(named.filter((name) => !known.includes(name) && !name.startsWith('TEMPORAL_'))).toEqual([]);
});
