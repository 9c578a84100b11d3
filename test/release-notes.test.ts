import { describe, expect, test } from 'vitest';
import { checkTag, datedChangelog, ReleaseRefusedError, releaseNotes } from '../scripts/release-notes.ts';

const changelog = '# Changelog\n\n## 0.2.0 – unreleased\n\n- new\n\n## 0.1.0 – 2026-01-02\n\n- old\n';

const refusalOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof ReleaseRefusedError) return error.message;
    throw error;
  }
  throw new Error('It was not refused.');
};

describe('a release', () => {
  test('has the notes of its version only', () => {
    expect(releaseNotes(changelog, '0.2.0')).toBe('- new');
    expect(releaseNotes(changelog, '0.1.0')).toBe('- old');
  });

  test('names a missing entry and accepts it when written', () => {
    const missing = refusalOf(() => releaseNotes(changelog, '0.3.0'));
    const [, entry = ''] = missing.split('commit it:\n\n');
    expect(entry).toContain('## 0.3.0 – unreleased');
    expect(releaseNotes(changelog.replace('## 0.2.0', `${entry}\n## 0.2.0`), '0.3.0')).toContain(
      'what users',
    );
    const empty = '## 0.3.0 – unreleased\n\n## 0.2.0 – 2026-01-02\n\n- old\n';
    expect(refusalOf(() => releaseNotes(empty, '0.3.0'))).toContain('is empty: write');
    expect(refusalOf(() => datedChangelog(changelog, '', '2026-03-04'))).toContain(
      'npm run release -- 0.2.0',
    );
  });

  test('is refused when tag, package and changelog differ', () => {
    const released = { tag: 'v0.1.0', packageVersion: '0.1.0', changelog };
    expect(() => checkTag(released)).not.toThrow();
    expect(() => checkTag({ ...released, tag: 'v0.1.1' })).toThrow('is not v0.1.0');
    expect(() => checkTag({ tag: 'v0.2.0', packageVersion: '0.2.0', changelog })).toThrow('unreleased');
  });
});
