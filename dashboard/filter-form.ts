/** The bar of filters above every page of figures: the period, what is filtered, and what can be chosen besides. */

import { isReportError } from '../reports/errors.ts';
import { daysName, type Period, periodBounds, periodText } from '../reports/period.ts';
import { columnLabel } from '../reports/render/labels.ts';
import { DATE_BASES, REPORT_LEVELS } from '../reports/report-filters.ts';
import { all, filtersOf, one, type Query, withQuery } from './address.ts';
import { type Preset, presetsOf } from './days.ts';
import type { PeriodMenu } from './guest-pages.ts';
import type { PageContext } from './page-context.ts';
import { type Choices, choicesOf } from './pages/choices.ts';

const CHOICES: readonly { readonly filter: keyof Choices; readonly name: string; readonly label: string }[] =
  [
    { filter: 'carriers', name: 'carrier', label: 'Carrier' },
    { filter: 'tenants', name: 'tenant', label: 'Tenant' },
    { filter: 'zones', name: 'zone', label: 'Zone' },
    { filter: 'currencies', name: 'currency', label: 'Currency' },
    { filter: 'partners', name: 'partner', label: 'Partner' },
  ];

interface Chip {
  readonly label: string;
  readonly value: string;
  /** The same page without it. */
  readonly without: string;
}

/** The values of `filter-bar.eta`, as the address asks. */
export async function filterFields(
  context: PageContext,
  { query, path }: { readonly query: Query; readonly path: string },
): Promise<Readonly<Record<string, unknown>>> {
  const choices = await choicesOf(context);
  const filters = filtersOf(query);
  return {
    ...{ path, bases: DATE_BASES, levels: REPORT_LEVELS, filters },
    isDay,
    ...periodMenu(query, path),
    chips: chipsOf(query, path),
    choices: CHOICES.map(({ filter, name, label }) => ({
      ...{ name, label, chosen: all(query, name) },
      // A chosen value stays offered, even when the file no longer contains it.
      values: [...new Set([...choices[filter], ...all(query, name).filter((value) => value !== '')])],
    })).filter(({ values }) => values.length > 0),
  };
}

/** Presets, the days that are chosen, and their name. */
export function periodMenu(query: Query, path: string): PeriodMenu {
  const { from, to } = shownDays(query);
  const isChosen = (preset: Partial<Period>): boolean => from === preset.from && to === preset.to;
  return {
    ...{ from, to },
    period:
      from !== undefined && to !== undefined
        ? daysName({ from, to })
        : periodText({ from: from ?? null, to: to ?? null }).replace(/^a/, 'A'),
    presets: [
      { label: 'All dates' } as Partial<Preset> & { readonly label: string },
      ...presetsOf(new Date()),
    ].map((preset) => ({
      label: preset.label,
      address: withQuery(path, query, {
        ...{ from: preset.from ?? null, to: preset.to ?? null, period: null },
        ...{ after: null, page: null, format: null },
        ...(preset.from === undefined ? { compare: null } : {}),
      }),
      isChosen: isChosen(preset),
    })),
  };
}

/** Both days, however the address names them; none for an invalid period, which the page reports. */
function shownDays(query: Query): Partial<Period> {
  try {
    const { from, to } = periodBounds(filtersOf(query));
    return { ...(from === null ? {} : { from }), ...(to === null ? {} : { to }) };
  } catch (error) {
    if (isReportError(error, 'invalid-filter')) return {};
    throw error;
  }
}

function chipsOf(query: Query, path: string): readonly Chip[] {
  const without = (name: string, value: string): string => {
    const left = all(query, name).filter((each) => each !== value);
    return withQuery(path, { ...query, [name]: left, after: [], page: [] });
  };
  const chosen = CHOICES.flatMap(({ name, label }) =>
    all(query, name)
      .filter((value) => value !== '' || name === 'zone')
      .map((value) => ({
        label,
        value: value === '' ? '(none given)' : value,
        without: without(name, value),
      })),
  );
  const typed = [
    ['level', 'Level'],
    ['as_known_on', 'As known on'],
  ].flatMap(([name = '', label = '']) => {
    const value = one(query, name);
    return value === undefined ? [] : [{ label, value, without: withQuery(path, query, { [name]: null }) }];
  });
  const exact = Object.keys(query)
    .filter((name) => name.startsWith('is_'))
    .flatMap((name) =>
      all(query, name).map((value) => ({
        label: columnLabel({
          name: name.slice(3),
          type: 'text',
          scale: 0,
          unit: null,
          align: 'left',
          isDetail: false,
        }),
        ...{ value: value === '' ? '(none)' : value, without: without(name, value) },
      })),
    );
  return [...chosen, ...typed, ...exact];
}

function isDay(typed: string | undefined): typed is string {
  return /^\d{4}-\d\d-\d\d$/.test(typed ?? '');
}
