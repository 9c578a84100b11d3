/** How a finding is looked at: nothing that an alert says has to be believed. */

import type { Period } from '../../reports/period.ts';
import type { CostRule } from './rules.ts';

/** The command and the dashboard's page that answer what the rule asked, of the days it was asked about. */
export function whereToLook(
  rule: CostRule,
  days: Partial<Period>,
): { readonly command: string; readonly page: string } {
  const { partner, tenant, carrier, zone, currency, level, by } = rule.filters;
  const lists = { partner, tenant, carrier, zone, currency };
  const asked: [string, string][] = [
    ...Object.entries({ ...days, level, by }).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    ),
    ...Object.entries(lists).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    ),
  ];
  const own = Object.entries(rule.parameters);
  const flags = [...asked, ...own.map(([name, value]) => ['param', `${name}=${value}`] as const)];
  const query = new URLSearchParams(asked);
  for (const [name, value] of own) query.append(`p_${name}`, value);
  return {
    command: [
      'billsync report',
      rule.report,
      ...flags.map(([name, value]) => `--${name} ${quoted(value)}`),
    ].join(' '),
    page: `/reports/${rule.report}${query.size === 0 ? '' : `?${query}`}`,
  };
}

/** As a shell takes it for one word. */
function quoted(word: string): string {
  return /^[\w.:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
