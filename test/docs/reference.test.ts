/** docs/reference says what the code does: it is made from it. */

import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMON_LOG_FIELDS, LOG_FIELDS } from '../../lib/log/log.ts';
import { dbtSources } from '../../scripts/reference/dbt-sources.ts';
import { referencePages } from '../../scripts/reference/pages.ts';

const folder = join(import.meta.dirname, '..', '..', 'docs', 'reference');
const pages = await referencePages();

/** What stands between the braces that open at `from`, by its names; of what is spread nothing. */
function namesAt(text: string, from: number): string[] {
  let depth = 0;
  let own = '';
  for (const letter of text.slice(from)) {
    if (/[)}\]]/.test(letter)) depth -= 1;
    if (depth === 1) own += letter;
    if (/[({[]/.test(letter)) depth += 1;
    if (depth === 0) break;
  }
  const fields = own.split(',').map((field) => field.split(':')[0]?.trim() ?? '');
  return fields.filter((field) => /^\w+$/.test(field));
}

describe('docs/reference', () => {
  test.each(Object.keys(pages))('%s is what `npm run reference` writes today', async (name) => {
    expect(await readFile(join(folder, name), 'utf8')).toBe(pages[name]);
  });

  test('the sources of dbt are what `npm run reference` writes today', async () => {
    const sources = join(folder, '..', 'examples', 'dbt', 'models', 'sources.yml');
    expect(await readFile(sources, 'utf8')).toBe(await dbtSources());
  });

  test('names every field that our code logs, and no other', async () => {
    const root = join(folder, '..', '..');
    const files = execFileSync('git', ['ls-files', '*.ts'], { cwd: root, encoding: 'utf8' }).split('\n');
    const logged = new Map<string, string>();
    for (const file of files.filter((path) =>
      /^(?!test|sandbox|scripts|bench|conformance)\w+\//.test(path),
    )) {
      const text = await readFile(join(root, file), 'utf8');
      for (const found of text.matchAll(
        /\blog(?:\??\.(?:debug|info|warn|error|fatal)|\[[^\]]+\])\(\s*(?=\{)/g,
      )) {
        for (const name of namesAt(text, found.index + found[0].length)) logged.set(name, file);
      }
    }
    // A record of the archive that was set aside is logged as it is, and tests would not see its names.
    for (const name of ['place', 'why']) logged.set(name, 'warehouse/catch-up.ts');
    expect(logged.size).toBeGreaterThan(40);
    for (const name of Object.keys(COMMON_LOG_FIELDS)) logged.delete(name);
    expect([...logged.keys()].sort()).toEqual(Object.keys(LOG_FIELDS).sort());
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
