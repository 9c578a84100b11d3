// Keeps the table by which a checkout that never ran its tests begins the longest first (test/support/processes/longest-first.ts):
// `npm run test-seconds` writes it from what vitest remembers of the last whole run. With `--check`, which `npm test` asks for at
// its end, it only says when one of the longest is not in the table.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const TABLE = 'test/support/processes/test-seconds.json';
const REMEMBERED = 'node_modules/.vite/vitest';
/** Of the time of all files: what takes less fills the end of a run, in whatever order. */
const LEAST_SHARE = 1 / 250;
const LONGEST = 20;

const folder = readdirSync(REMEMBERED).find((name) => existsSync(`${REMEMBERED}/${name}/results.json`));
const { results } = JSON.parse(readFileSync(`${REMEMBERED}/${folder}/results.json`, 'utf8'));
const seconds = results
  .map(([key, { duration }]) => [key.slice(key.indexOf(':') + 1), Math.round(duration / 1_000)])
  .sort(([, a], [, b]) => b - a);
const least = LEAST_SHARE * seconds.reduce((sum, [, took]) => sum + took, 0);

if (process.argv.includes('--check')) {
  const known = JSON.parse(readFileSync(TABLE, 'utf8'));
  const missing = seconds.slice(0, LONGEST).filter(([file]) => known[file] === undefined);
  for (const [file, took] of missing)
    console.error(`${file} took ${took} s and is not in ${TABLE}: npm run test-seconds`);
} else {
  const long = Object.fromEntries(seconds.filter(([, took]) => took >= least));
  writeFileSync(TABLE, `${JSON.stringify(long, null, 2)}\n`);
}
