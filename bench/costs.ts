/**
 * What an invoice costs, in one table: small files imported and rebuilt, webhooks to rows, all of it beside a large
 * warehouse, and large files one after the other. Each line is measured by the bench of its name, against its own floor.
 */

import { measure as growth } from './growth.ts';
import { measure as imports } from './imports.ts';
import { measure as settle } from './settle.ts';
import { measure as small } from './small.ts';
import { draw } from './support/plot.ts';
import { expectKept, type Promised } from './support/rounds.ts';

export const summary = 'small, settle, growth and imports in one table [short]';

const BENCHES = [
  { measure: small, whole: ['500', '20', '3'], short: ['500', '20', '1'] },
  { measure: settle, whole: ['600'], short: ['200'] },
  { measure: growth, whole: ['100000', '30', '3', '120', '10'], short: ['100000', '30', '1', '40', '10'] },
  { measure: imports, whole: ['2000000', '16'], short: ['200000', '6'] },
] as const;

/** @param args `short` for smaller sizes, in a minute instead of five @throws Error a promise was missed */
export async function main([size = 'whole']: readonly string[]): Promise<void> {
  const promises: Promised[] = [];
  for (const bench of BENCHES)
    promises.push(...(await bench.measure(size === 'short' ? bench.short : bench.whole)));
  const lines = promises.map(
    ({ what, floor = '–', found, atMost }) => `| ${what} | ${floor} | ${found.toFixed(2)} | ${atMost} |`,
  );
  const head = ['| processor time | floor | measured | promised |', '| --- | --- | --- | --- |'];
  process.stdout.write(`\n${[...head, ...lines].join('\n')}\n\n`);
  await draw({
    ...{ file: 'costs', title: 'What an invoice costs, to what is promised', unit: 'measured / promised' },
    names: promises.map(({ what }) => what),
    series: { measured: promises.map(({ found, atMost }) => found / atMost) },
    atMost: 1,
  });
  expectKept(promises);
}
