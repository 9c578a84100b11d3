/** docs/reference says what the code does: it is made from it. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { referencePages } from '../../scripts/reference/pages.js';

const folder = join(import.meta.dirname, '..', '..', 'docs', 'reference');
const pages = await referencePages();

describe('docs/reference', () => {
  test.each(Object.keys(pages))('%s is what `npm run reference` writes today', async (name) => {
    expect(await readFile(join(folder, name), 'utf8')).toBe(pages[name]);
  });

  test('has no other pages', async () => {
    expect((await readdir(folder)).sort()).toEqual(Object.keys(pages).sort());
  });

  test('knows every metric that is served, and every verb', () => {
    for (const name of [
      'deliveries_total',
      'publication_seconds',
      'webhook_connections_ended_total',
      'alerts_total',
    ]) {
      expect(pages['metrics.md']).toContain(`\`billsync_${name}\``);
    }
    for (const command of ['billsync up', 'billsync invoices restore', 'billsync schedule show']) {
      expect(pages['commands.md']).toContain(` ${command}\n`);
    }
  });
});
