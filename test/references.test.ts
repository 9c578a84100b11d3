import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

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

const ADRS = new Set(
  files.flatMap(({ path }) => {
    const number = /^docs\/adr\/(\d{4})-/.exec(path)?.[1];
    return number === undefined ? [] : [String(Number(number))];
  }),
);

describe('references', () => {
  test('a page of docs/ that is named exists', () => {
    expect(
      unresolved(/(?<![\w./-])(docs\/[\w./-]*\w)/g, (path) => existsSync(join(root, path)) || isAdr(path)),
    ).toEqual([]);
  });

  test('a file or folder that a document names in code exists', () => {
    const paths = /`([a-z]+\/(?:[a-z0-9-]+\/)*(?:[a-z0-9-]+\.(?:ts|sql|md|eta|jsonc?|yml))?)`/g;
    const missing = files
      .filter(({ path }) => path.endsWith('.md') && path !== 'docs/sandbox-choices.md')
      .flatMap(({ path, text }) =>
        [...text.matchAll(paths)]
          .filter(([, named = '']) => existsSync(join(root, named.split('/')[0] ?? '')))
          // These are folders of the data folder.
          .filter(([, named = '']) => !/^archive\/(events|files|facts)\/$/.test(named))
          .filter(([, named = '']) => !existsSync(join(root, named)))
          .map(([, named]) => `${path}: ${named}`),
      );
    expect(missing).toEqual([]);
  });

  test('a link in a document has a target and its anchor a heading', () => {
    const broken = files
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap(({ path, text }) =>
        linksIn(text)
          .filter(({ target, anchor }) => !hasTarget(path, target, anchor))
          .map((link) => `${path}: ${link.text}`),
      );
    expect(broken).toEqual([]);
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

function hasTarget(from: string, target: string, anchor: string | null): boolean {
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

interface MarkdownLink {
  /** Path as written, empty for an anchor of the same page. */
  readonly target: string;
  readonly anchor: string | null;
  readonly text: string;
}

function linksIn(markdown: string): readonly MarkdownLink[] {
  const pattern = /\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)/g;
  return [...withoutCode(markdown).matchAll(pattern)].map(([text, target = '', anchor]) => ({
    target,
    anchor: anchor ?? null,
    text,
  }));
}

/** @param code what counts as code: blocks and spans by default */
function withoutCode(markdown: string, code = /^ *```[\s\S]*?^ *```|`[^`\n]*`/gm): string {
  return markdown.replace(code, '');
}
