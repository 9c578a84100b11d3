import { money, stateBadge } from '../../../reports/render/html-cells.ts';
import { grouped, instantLabel } from '../../../reports/render/labels.ts';
import { escapeAttribute, templatesIn } from '../../../reports/render/templates.ts';

const eta = templatesIn(new URL('../views', import.meta.url));

export function render(
  view: 'claims' | 'claim' | 'problem' | 'at-risk',
  values: Readonly<Record<string, unknown>>,
): string {
  return eta.render(`./${view}`, {
    ...{ ...values, grouped, attribute: escapeAttribute, instant: instantLabel },
    ...{ money, stateBadge },
  });
}
