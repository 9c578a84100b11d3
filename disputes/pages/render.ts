/** Renders the templates of `views/`. */

import { escapeAttribute } from '../../reports/render/escape-html.js';
import { grouped, instantLabel } from '../../reports/render/labels.js';
import { templatesIn } from '../../reports/render/templates.js';

const eta = templatesIn(new URL('../views', import.meta.url));

export function render(
  view: 'claims' | 'claim' | 'problem',
  values: Readonly<Record<string, unknown>>,
): string {
  return eta.render(`./${view}`, { ...values, grouped, attribute: escapeAttribute, instant: instantLabel });
}
