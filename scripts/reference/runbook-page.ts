/** docs/reference/runbook.md: what to do about every alert, from the entries in `lib/alerts/runbook/`. */

import { ALERT_NAMES, anchorOf, RUNBOOK } from '../../lib/alerts/runbook/runbook.ts';
import { code, page, table } from './markdown.ts';

export function runbookPage(): string {
  const names = [...ALERT_NAMES].sort();
  return page(
    'Runbook',
    'What to do about each alert. The same text is shown by `billsync alerts explain NAME` and by the page `/runbook` of the ' +
      'admin port. `DATA` is the data folder (`BILLSYNC_DATA_DIR`). With `BILLSYNC_RUNBOOK_URL` every alert that is sent links to its ' +
      'heading. *critical*: totals or deliveries are at risk now; *warning*: a person has to act today; *info*: nothing to do.',
    table(
      ['Alert', 'Severity'],
      names.map((name) => [`[${code(name)}](#${anchorOf(name)})`, RUNBOOK[name].severity]),
    ),
    ...names.map(section),
  );
}

function section(name: (typeof ALERT_NAMES)[number]): string {
  const { severity, each, meaning, firstLook, cure, proof } = RUNBOOK[name];
  const of = each === undefined ? '' : `, one for each ${each}`;
  return [
    // A slash in a heading would be dropped from its anchor.
    `## ${anchorOf(name)}`,
    `${code(name)}, ${severity}${of}. ${meaning}`,
    `Check first:\n\n${list(firstLook)}`,
    `What to do:\n\n${list(cure)}`,
    `It is over when: ${proof}`,
  ].join('\n\n');
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}
