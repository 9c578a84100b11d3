/** Every reference in a tracked file leads somewhere: spec sections, ADRs, hazards, faults, docs pages and their anchors. */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FILE_SOURCES, INVOICE_STATES } from '../lib/wire/names.ts';
import { linksIn, withoutCode } from './support/tools/markdown-links.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const TEXT = /\.(ts|mjs|md|sql|eta|css|json|ya?ml)$|^(scripts|bin)\/[^.]+$/;

/** This file names what it looks for, and a recorded history or a lock file refers to nothing. */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
  .toString('utf8')
  .split('\n')
  .filter(
    (path) => TEXT.test(path) && !/^(package-lock\.json|test\/(histories\/|references\.test))/.test(path),
  )
  .filter((path) => existsSync(join(root, path)))
  .map((path) => ({ path, text: read(path) }));

const spec = read('docs/the-billing-service.md');
const faults = read('docs/faults.md');
const SECTIONS = new Set([
  ...[...spec.matchAll(/^#{2,3} (\d(?:\.\d)?)\.? /gm)].map(([, number]) => number ?? ''),
  ...[...(spec.split('## 6. Events')[1]?.split('## 7.')[0] ?? '').matchAll(/^(\d)\. /gm)].map(
    ([, n]) => `6.${n}`,
  ),
]);
const HAZARDS = new Set(
  [...read('docs/hazards.md').matchAll(/^\| (\d+) /gm)].map(([, number]) => number ?? ''),
);
const FAULTS = new Set([...faults.matchAll(/^\| \*\*(.+?)\*\*/gm)].map(([, name]) => name ?? ''));
const POINTS = new Set([...faults.matchAll(/^\| ([DI]\d+) /gm)].map(([, id]) => id ?? ''));
const ADRS = new Set(
  files.flatMap(({ path }) => {
    const number = /^docs\/adr\/(\d{4})-/.exec(path)?.[1];
    return number === undefined ? [] : [String(Number(number))];
  }),
);

describe('references', () => {
  test('the pages that are referred to have what the test looks for', () => {
    expect([...SECTIONS].filter((section) => section.startsWith('6'))).toHaveLength(9);
    for (const found of [SECTIONS, HAZARDS, FAULTS, POINTS, ADRS]) expect(found.size).toBeGreaterThan(10);
  });

  test('a section of the specification is in docs/the-billing-service.md', () => {
    expect(
      unresolved(
        /\b[Ss]pec (\d(?:\.\d+)?(?:,? rules? \d)?(?:(?:, | to | and )(?:\d\.\d+|\d\b(?! seconds))(?!:))*)/g,
        (cited) =>
          [...cited.matchAll(/(\d), rule (\d)|\d(?:\.\d+)?/g)]
            .map(([all, section, rule]) => (rule === undefined ? all : `${section}.${rule}`))
            .every((section) => SECTIONS.has(section)),
      ),
    ).toEqual([]);
  });

  test('a decision is an ADR', () => {
    expect(unresolved(/\bADRs? (\d+)/g, (number) => ADRS.has(number))).toEqual([]);
    expect(unresolved(/\badr\/(\d{4})/g, (number) => ADRS.has(String(Number(number))))).toEqual([]);
    expect(unresolved(/\((decisions?:? [a-z]|interface\b|ADR\))/g, () => false)).toEqual([]);
    expect(unresolved(/\b(decision \d+)/g, () => false)).toEqual([]);
  });

  test('a hazard is in docs/hazards.md, a fault and a durable point in docs/faults.md', () => {
    expect(unresolved(/\bhazards? (\d+)/g, (number) => HAZARDS.has(number))).toEqual([]);
    expect(unresolved(/\(faults: ([a-z0-9][^)A-Z]*)\)/g, (name) => FAULTS.has(name))).toEqual([]);
    expect(
      unresolved(/\b([DI]\d{1,2}) (?:of|and [DI]\d+ of) the fault matrix/g, (id) => POINTS.has(id)),
    ).toEqual([]);
    expect(unresolved(/\bbroken\('([DI]\d+)'/g, (id) => POINTS.has(id))).toEqual([]);
  });

  test('a page of docs/ that code or text names exists', () => {
    expect(
      unresolved(/(?<![\w./-])(docs\/[\w./-]*\w)/g, (path) => existsSync(join(root, path)) || isAdr(path)),
    ).toEqual([]);
  });

  test('every page of docs/ is listed in docs/README.md', () => {
    const listed = linksIn(read('docs/README.md')).map(({ target }) => `docs/${target}`);
    const pages = files
      .map(({ path }) => path)
      .filter((path) => /^docs\/(?!adr\/|README|examples\/\w+\/pages\/).*\.md$/.test(path));
    expect(pages.filter((path) => !listed.includes(path))).toEqual([]);
  });

  test('a file that a document names in code exists', () => {
    const paths = /`([a-z]+\/(?:[a-z0-9-]+\/)*[a-z0-9-]+\.(?:ts|sql|md|eta|jsonc?|yml))`/g;
    const missing = files
      .filter(({ path }) => path.endsWith('.md') && path !== 'docs/sandbox-choices.md')
      .flatMap(({ path, text }) =>
        [...text.matchAll(paths)]
          .filter(([, named = '']) => existsSync(join(root, named.split('/')[0] ?? '')))
          .filter(([, named = '']) => !existsSync(join(root, named)))
          .map(([, named]) => `${path}: ${named}`),
      );
    expect(missing).toEqual([]);
  });

  test('a link in a document leads to a file, and its anchor to a heading', () => {
    const broken = files
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap(({ path, text }) =>
        linksIn(text)
          .filter(({ target, anchor }) => !leadsSomewhere(path, target, anchor))
          .map((link) => `${path}: ${link.text}`),
      );
    expect(broken).toEqual([]);
  });
});

describe('docs/glossary.md', () => {
  const glossary = read('docs/glossary.md');

  test('explains each word once', () => {
    const words = [...glossary.matchAll(/^\| \*\*([^|]+?)\*\*/gm)].map(([, word]) => word);
    expect(words.length).toBeGreaterThan(30);
    expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
  });

  test('explains every state of an invoice and every source of a file', () => {
    const missing = [...INVOICE_STATES, ...FILE_SOURCES].filter(
      (word) => !glossary.includes(`\`${word}\` (`),
    );
    expect(missing).toEqual([]);
  });
});

/** `path: reference` of each match whose first group does not resolve. */
function unresolved(pattern: RegExp, resolves: (cited: string) => boolean): string[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)]
      .filter(([, cited = '']) => !resolves(cited))
      .map(([reference]) => `${path}: ${reference}`),
  );
}

function isAdr(path: string): boolean {
  const number = /^docs\/adr\/(\d{4})$/.exec(path)?.[1];
  return number !== undefined && ADRS.has(String(Number(number)));
}

function leadsSomewhere(from: string, target: string, anchor: string | null): boolean {
  const path = target === '' ? from : relative(root, join(root, dirname(from), decodeURI(target)));
  if (!existsSync(join(root, path))) return false;
  return anchor === null || !path.endsWith('.md') || anchorsOf(read(path)).has(anchor);
}

/** As GitHub makes them of headings: lower case, blanks to hyphens, no punctuation; a repeated one is numbered. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutCode(text, /^```[\s\S]*?^```/gm).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = plain.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let nth = 1; anchors.has(anchor); nth += 1) anchor = `${slug}-${nth}`;
    anchors.add(anchor);
  }
  return anchors;
}
