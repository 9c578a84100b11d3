import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALERT_NAMES, ALERTS, anchorOf, runbookSection } from '../../lib/alerts/alert-names.ts';
import { referencePages } from '../../scripts/reference/pages.ts';

const folder = join(import.meta.dirname, '..', '..', 'docs', 'reference');
const pages = await referencePages();

describe('docs/reference', () => {
  test.each(Object.keys(pages))('%s is up to date', async (name) => {
    expect(await readFile(join(folder, name), 'utf8')).toBe(pages[name]);
  });
});

describe('the runbook', () => {
  test('has a section for each alert and no other', async () => {
    const text = await readFile(join(folder, 'runbook.md'), 'utf8');
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([...ALERT_NAMES].sort().map(anchorOf));
  });

  test.each(ALERT_NAMES)('%s: its kind, first steps, remedy and end', (name) => {
    const { severity, each, isNotice } = ALERTS[name];
    const section = runbookSection(name);
    const of = each === undefined ? '' : `, one for each ${each}`;
    expect(section.startsWith(`\`${name}\`, ${severity}${of}. `)).toBe(true);
    expect(section).toMatch(
      /\n\nCheck first:\n\n- .+[\s\S]*\n\nWhat to do:\n\n- .+[\s\S]*\n\nIt is over when: ./,
    );
    expect(section.includes('billsync alerts acknowledge KEY')).toBe(isNotice === true);
  });
});
