import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { referencePages } from '../../scripts/reference/pages.ts';

const folder = join(import.meta.dirname, '..', '..', 'docs', 'reference');
const pages = await referencePages();

describe('docs/reference', () => {
  test.each(Object.keys(pages))('%s is up to date', async (name) => {
    expect(await readFile(join(folder, name), 'utf8')).toBe(pages[name]);
  });
});
