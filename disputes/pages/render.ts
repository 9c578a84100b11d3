/** Renders the templates of `views/`; every value is escaped unless a template says otherwise. */

import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { escapeAttribute, escapeHtml } from '../../reports/render/escape-html.js';
import { grouped } from '../../reports/render/labels.js';

const eta = new Eta({
  views: fileURLToPath(new URL('../views', import.meta.url)),
  autoTrim: false,
  cache: true,
  escapeFunction: (value: unknown) => (value === null || value === undefined ? '' : escapeHtml(value)),
});

export function render(
  view: 'claims' | 'claim' | 'problem',
  values: Readonly<Record<string, unknown>>,
): string {
  return eta.render(`./${view}`, { ...values, grouped, attribute: escapeAttribute, instant });
}

function instant(at: string): string {
  return `${at.slice(0, 19).replace('T', ' ')} UTC`;
}
