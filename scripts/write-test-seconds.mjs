// `npm run test-seconds`, after `npm run test:all`: writes the table by which a fresh checkout starts the longest slow tests first
// (test/support/processes/longest-first.ts), from the durations that vitest remembers.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const TABLE = 'test/support/processes/test-seconds.json';
const REMEMBERED = 'node_modules/.vite/vitest';
const MIN_SECONDS = 10;

const folder = readdirSync(REMEMBERED).find((name) => existsSync(`${REMEMBERED}/${name}/results.json`));
const { results } = JSON.parse(readFileSync(`${REMEMBERED}/${folder}/results.json`, 'utf8'));
const seconds = results
  .map(([key, { duration }]) => [key.slice(key.indexOf(':') + 1), Math.round(duration / 1_000)])
  .filter(([file, took]) => file.endsWith('.slow.test.ts') && took >= MIN_SECONDS)
  .sort(([, a], [, b]) => b - a);
writeFileSync(TABLE, `${JSON.stringify(Object.fromEntries(seconds), null, 2)}\n`);
