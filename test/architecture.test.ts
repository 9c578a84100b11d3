/** Rules of the tree that are not about imports between its parts; those are in .dependency-cruiser.mjs. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const sources = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.mjs'],
  { cwd: root, encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => file.includes('/'))
  .map((file) => ({ file, part: file.split('/')[0] ?? '', text: readFileSync(join(root, file), 'utf8') }));
const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly dependencies: Record<string, string>;
  readonly devDependencies: Record<string, string>;
};

test('ARCHITECTURE.md has a line for every part', () => {
  const map = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const parts = new Set(sources.map(({ part }) => part));
  expect(parts.size).toBeGreaterThan(10);
  expect([...parts].filter((part) => !map.includes(`| \`${part}/\``))).toEqual([]);
});

test('only activities/failures builds ApplicationFailure outside workflow code', () => {
  const builds = /\bApplicationFailure\.(create|retryable|nonRetryable)\b|new ApplicationFailure\b/;
  const broken = sources.filter(
    ({ part, text }) => !['workflows', 'test'].includes(part) && builds.test(text),
  );
  expect(broken.map(({ file }) => file)).toEqual(['activities/failures.ts']);
});

test('only lib/duckdb-instance opens DuckDB in the product, so that no environment decides an answer', () => {
  const broken = sources.filter(
    ({ part, text }) => !['scripts', 'test'].includes(part) && /\bDuckDBInstance\.create\b/.test(text),
  );
  expect(broken.map(({ file }) => file)).toEqual(['lib/duckdb-instance.ts']);
});

test('SQL longer than a line is stored in .sql files', () => {
  const sql =
    /`[^`\n]*\b(select|insert|create|update|delete)\b[^`\n]*\n[^`]*\b(from|into|table|set|where)\b[^`]*`/;
  const broken = sources.filter(({ part, text }) => part !== 'test' && sql.test(text));
  expect(broken.map(({ file }) => file)).toEqual([]);
});

test('the lock file names no host', () => {
  expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toMatch(/"resolved": "http/);
});

test('every package that is installed at run time is imported by the product', () => {
  const imported = /(?:from|import\(|import|require\()\s*'((?:@[^/']+\/)?[^./'][^/']*)/g;
  const used = new Set(
    sources
      .filter(({ part }) => !['test', 'scripts'].includes(part))
      .flatMap(({ text }) => [...text.matchAll(imported)].map(([, name]) => name)),
  );
  // Two are direct dependencies so that other packages share one copy; the others have fonts, style sheets and icons, and no code.
  const notImported = [
    'protobufjs',
    '@opentelemetry/api',
    '@fontsource/arimo',
    '@tabler/core',
    '@primer/octicons',
  ];
  expect(Object.keys(dependencies).filter((name) => !used.has(name) && !notImported.includes(name))).toEqual(
    [],
  );
});

test('every dependency is pinned to one exact version', () => {
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
  );
  expect(loose).toEqual([]);
});

test('no test is left out or singled out', () => {
  const marks = new RegExp(`\\.(${['skip', 'only', 'todo', 'fails'].join('|')})\\(`);
  const broken = sources.filter(({ file, text }) => file.endsWith('.test.ts') && marks.test(text));
  expect(broken.map(({ file }) => file)).toEqual([]);
});
