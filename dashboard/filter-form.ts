/** The fields of a form that every page of figures has: the period, the level, and what can be chosen from lists. */

import { ReportFilterError } from '../reports/errors.ts';
import { periodBounds } from '../reports/period.ts';
import { DATE_BASES, REPORT_LEVELS } from '../reports/report-filters.ts';
import { all, filtersOf, one, type Query, withQuery } from './address.ts';
import { presetsOf } from './days.ts';
import type { PageContext } from './page-context.ts';
import { type Choices, choicesOf } from './pages/choices.ts';

const CHOICES: readonly { readonly filter: keyof Choices; readonly name: string; readonly label: string }[] =
  [
    { filter: 'partners', name: 'partner', label: 'Partners' },
    { filter: 'tenants', name: 'tenant', label: 'Tenants' },
    { filter: 'carriers', name: 'carrier', label: 'Carriers' },
    { filter: 'zones', name: 'zone', label: 'Zones' },
    { filter: 'currencies', name: 'currency', label: 'Currencies' },
  ];

/** What `filter-fields.eta` shows, as it was asked for. */
export async function filterFields(
  context: PageContext,
  { query, path }: { readonly query: Query; readonly path: string },
): Promise<Readonly<Record<string, unknown>>> {
  const choices = await choicesOf(context);
  return {
    ...{ bases: DATE_BASES, levels: REPORT_LEVELS, filters: { ...filtersOf(query), ...shownDays(query) } },
    // A field for dates takes nothing else; what was typed stands in the sentence that refuses it.
    day: (typed: string | undefined) => (/^\d{4}-\d\d-\d\d$/.test(typed ?? '') ? typed : ''),
    presets: presetsOf(new Date()).map(({ label, from, to }) => ({
      label,
      address: withQuery(path, query, { from, to, period: null, after: null }),
      isChosen: one(query, 'from') === from && one(query, 'to') === to,
    })),
    choices: CHOICES.map(({ filter, name, label }) => ({
      ...{ name, label },
      chosen: all(query, name),
      // What was chosen stays offered, even when the file has it no more.
      values: [...new Set([...choices[filter], ...all(query, name).filter((value) => value !== '')])],
    })).filter(({ name, values }) => name !== 'partner' || values.length > 0),
  };
}

/** The days of a period that the address names otherwise; none for an invalid one, which the page reports. */
function shownDays(query: Query): { readonly from?: string | undefined; readonly to?: string | undefined } {
  try {
    const { from, to } = periodBounds(filtersOf(query));
    return { from: from ?? undefined, to: to ?? undefined };
  } catch (error) {
    if (error instanceof ReportFilterError) return {};
    throw error;
  }
}
