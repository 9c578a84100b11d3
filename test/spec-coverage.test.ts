/** Holds docs/spec-coverage.md to the truth: what it names exists, and nothing of the specification is left out. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RULES } from '../sandbox/conformance/suite.ts';

interface Coverage {
  readonly section: string;
  readonly rule: string;
  readonly files: readonly string[];
  readonly tests: readonly { readonly file: string; readonly title: string }[];
  readonly conformance: readonly string[];
}

/** The sections of the specification that hold rules; 4 and 6 are split as it numbers them. */
const SECTIONS = [
  ...['1', '2.1', '2.2', '2.3', '2.4', '2.5', '2.6', '2.7', '2.8', '2.9', '3'],
  ...['4.1', '4.2', '4.3', '4.4', '4.5', '4.6', '5', '6'],
  ...['6.1', '6.2', '6.3', '6.4', '6.5', '6.6', '6.7', '6.8', '7', '8', '9'],
];

const root = join(import.meta.dirname, '..');
const rows = readTable(readFileSync(join(root, 'docs/spec-coverage.md'), 'utf8'));

describe('docs/spec-coverage.md', () => {
  test('has rows for every section of the specification', () => {
    expect([...new Set(rows.map(({ section }) => section))]).toEqual(SECTIONS);
  });

  test('says of every rule where it is kept and what proves it', () => {
    const bare = rows.filter(({ files, tests }) => files.length === 0 || tests.length === 0);
    expect(bare.map(({ rule }) => rule)).toEqual([]);
  });

  test('names files that exist', () => {
    const named = rows.flatMap(({ files, tests }) => [...files, ...tests.map(({ file }) => file)]);
    expect([...new Set(named)].filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test('names tests that exist', () => {
    const missing = rows
      .flatMap(({ tests }) => tests)
      .filter(({ file, title }) => !sourceOf(file).includes(title))
      .map(({ file, title }) => `${file}: ${title}`);
    expect([...new Set(missing)]).toEqual([]);
  });

  test('names every rule of the conformance suite, and no other', () => {
    const named = [...new Set(rows.flatMap(({ conformance }) => conformance))].sort();
    expect(named).toEqual(RULES.map(({ id }) => id).sort());
  });
});

function readTable(text: string): readonly Coverage[] {
  return text
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
    .map((line) => {
      const [section = '', rule = '', kept = '', proved = '', conformance = ''] = line
        .slice(2, -1)
        .split(' | ')
        .map((cell) => cell.trim());
      const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? '');
      const tests = [...proved.matchAll(/`([^`]+)`: ([*_])(.+?)\2(?=<br>|$)/g)];
      return {
        section,
        rule,
        files: quoted(kept),
        tests: tests.map(([, file = '', , title = '']) => ({ file, title })),
        conformance: quoted(conformance),
      };
    });
}

/** Empty for a file that does not exist, which another test says. */
function sourceOf(file: string): string {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8').replaceAll("\\'", "'") : '';
}
