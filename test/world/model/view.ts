/** What a report with filters reads: docs/report-rules.md, "Filters" and "Order, equality and empty cells". */

import type { Filters } from '../history.ts';
import { compareText } from './exact.ts';
import type { KnownInvoice, Line as PlainLine, Version, World } from './truth.ts';

/** A line with the name of its tenant as reports give it. */
export interface Line extends PlainLine {
  readonly label: string;
  /** The date that `by` selects. */
  readonly date: string;
  /** Rows of a file of weights, by which carriers rate them; undefined: there is none. */
  readonly steps?: readonly Readonly<Record<string, string>>[];
}

/** An invoice with the name of its tenant as reports give it. */
export interface Labelled {
  readonly invoice: KnownInvoice;
  /** null: neither a file nor an earlier invoice names the tenant. */
  readonly label: string | null;
}

export interface View {
  readonly partnerId: string | null;
  readonly filters: Filters;
  /** By each value of a filter of names: what it names, in the spelling of the files, in order. */
  readonly named: readonly Named[];
  /** ISO 8601 UTC. */
  readonly publishedAt: string;
  /** The instant as of which lines count. */
  readonly knownOn: string;
  /** Lines that count, of the partner, all levels. */
  readonly all: readonly Line[];
  /** Of the selected levels. */
  readonly loaded: readonly Line[];
  /** Those of `loaded` that pass the filters. */
  readonly lines: readonly Line[];
  readonly passes: (line: Line) => boolean;
  readonly passesButDates: (line: Line) => boolean;
  readonly isOfTenant: (line: Line) => boolean;
  /** The tenant's id, or its name behind a quotation mark; null: all tenants together. */
  readonly isOfTenantKey: (key: string | null) => boolean;
  /** By the name or id of a tenant in a file of one's own. */
  readonly isOfTenantName: (name: string) => boolean;
  readonly isUntil: (date: string) => boolean;
  readonly isFrom: (date: string) => boolean;
  readonly hasCurrency: (currency: string | null) => boolean;
  readonly ofLevel: (level: KnownInvoice['level']) => boolean;
  /** Invoices of the partner in any state. */
  readonly known: readonly Labelled[];
  /** Those that pass the filters. */
  readonly invoices: readonly Labelled[];
  /** Those that pass all filters but the level. */
  readonly unlisted: readonly Labelled[];
  /** Lines of a version, as if it counted. */
  readonly linesOf: (version: Version) => readonly Line[];
  readonly countedAt: (instant: string) => readonly Version[];
  readonly voidedAt: (instant: string) => readonly { readonly version: Version; readonly voidedAt: string }[];
}

export interface Named {
  readonly filter: string;
  readonly given: string;
  readonly matched: readonly string[];
}

/** The same with a file of weights. */
export function withSteps(view: View, steps: NonNullable<Line['steps']>): View {
  const rated = (lines: readonly Line[]): Line[] => lines.map((line) => ({ ...line, steps }));
  return { ...view, all: rated(view.all), loaded: rated(view.loaded), lines: rated(view.lines) };
}

const keyOf = (tenantId: string | null, name: string): string => tenantId ?? `"${name}`;

/** Tenants by key, of the invoices of the selected partners, with the label of each and all its names. */
interface Tenant {
  readonly key: string;
  readonly id: string | null;
  /** The latest name; null: no file names it. */
  readonly name: string | null;
  readonly partnerTenantIds: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  /** The name, else the partner's own id, else the id. */
  readonly called: string | null;
  readonly label: string | null;
}

function tenantsOf(invoices: readonly KnownInvoice[]): ReadonlyMap<string, Tenant> {
  const named = new Map<
    string,
    {
      id: string | null;
      latest: string;
      name: string | null;
      partnerTenantIds: Set<string>;
      names: Set<string>;
    }
  >();
  for (const { id, level, tenantId, partnerTenantId, date, current } of invoices) {
    const name =
      current === null ? null : ([...current.lines.map(({ tenant }) => tenant)].sort(compareText)[0] ?? null);
    if (level === 'partner' || (tenantId === null && name === null)) continue;
    const key = keyOf(tenantId, name ?? '');
    const tenant = named.get(key) ?? {
      id: tenantId,
      latest: '',
      name: null,
      partnerTenantIds: new Set(),
      names: new Set(),
    };
    named.set(key, tenant);
    if (partnerTenantId !== null) tenant.partnerTenantIds.add(partnerTenantId);
    if (name === null) continue;
    tenant.names.add(name);
    // Of the latest invoice date; of equal ones that of the file loaded last.
    const at = `${date ?? ''} ${current?.loadedAt ?? ''} ${id}`;
    if (at >= tenant.latest) Object.assign(tenant, { latest: at, name });
  }
  const all = [...named].map(([key, tenant]) => ({
    ...tenant,
    key,
    called: tenant.name ?? [...tenant.partnerTenantIds][0] ?? tenant.id,
  }));
  return new Map(
    all.map((tenant) => {
      const alike = all.filter((other) => other.called === tenant.called && other.id !== null).length;
      const label =
        tenant.called === null
          ? null
          : tenant.id !== null && alike > 1
            ? `${tenant.called} (${tenant.id})`
            : tenant.id === null && alike > 0
              ? `${tenant.called} (no id)`
              : tenant.called;
      return [tenant.key, { ...tenant, label }];
    }),
  );
}

export interface Situation {
  readonly world: World;
  readonly publishedAt: string;
}

/** @returns null: a filter names nothing that is known, which a command refuses */
export function viewsOf({ world, publishedAt }: Situation, filters: Filters): readonly View[] | null {
  const everything = world.invoices();
  const partnerIds = [...new Set(everything.flatMap(({ partnerId }) => partnerId ?? []))].sort();
  const hasUnknown = everything.some(({ partnerId }) => partnerId === null);
  const chosen = filters.partners?.filter((partner) => partnerIds.includes(partner)) ?? null;
  if (chosen !== null && chosen.length === 0) return null;
  const isAlone = partnerIds.length <= 1;
  const isSelected = ({ partnerId }: KnownInvoice): boolean =>
    chosen === null || isAlone || (partnerId !== null && chosen.includes(partnerId));
  const selected = everything.filter(isSelected);
  const tenants = tenantsOf(selected);
  const knownOn = filters.asKnownOn ?? null;
  const counted = world.countedAt(knownOn).filter(({ lines }) => lines.length > 0);
  const isOfPartner = ({ lines: [line] }: Version): boolean => line !== undefined && isSelected(line.invoice);
  const linesOf = (version: Version): readonly Line[] =>
    version.lines.map((line) => {
      const tenant = tenants.get(keyOf(line.invoice.tenantId, line.tenant));
      const isOfId = line.invoice.tenantId !== null;
      return {
        ...line,
        label: isOfId ? (tenant?.label ?? line.tenant) : (tenant?.label ?? withoutId(line.tenant, tenants)),
        date: filters.by === 'invoice-date' ? line.invoiceDate : line.shipDate,
      };
    });
  const all = counted.filter(isOfPartner).flatMap(linesOf);
  const levels = new Set(all.map(({ invoice }) => invoice.level));
  const known = levels.size > 0 ? levels : new Set(selected.map(({ level }) => level));
  const level = filters.level ?? (known.size === 1 && known.has('partner') ? 'partner' : 'tenant');
  const ofLevel = (of: KnownInvoice['level']): boolean =>
    level === 'all' || (of === 'partner') === (level === 'partner');

  const partners = (filters.partners ?? []).map((given) => ({
    ...{
      filter: 'partner',
      given,
      matched: partnerIds.includes(given) ? [calledPartner(given, everything)] : [],
    },
  }));
  const { named: others, ...matches } = matchersOf(filters, { tenants, lines: all, world, selected });
  const named = [...partners, ...others];
  const isFrom = (date: string): boolean => filters.from === undefined || date >= filters.from;
  const isUntil = (date: string): boolean => filters.to === undefined || date <= filters.to;
  const isOfTenant = (line: Line): boolean =>
    matches.tenant(keyOf(line.invoice.tenantId, line.label), keyOf(line.invoice.tenantId, line.tenant));
  const isOfTenantKey = (key: string | null): boolean => matches.tenant(key);
  const passesButDates = (line: Line): boolean =>
    isOfTenant(line) &&
    matches.carrier(line.carrier) &&
    matches.zone(line.zone) &&
    matches.currency(line.currency);
  const passes = (line: Line): boolean => passesButDates(line) && isFrom(line.date) && isUntil(line.date);

  const label = (invoice: KnownInvoice): string | null => {
    const name = invoice.current?.lines.map(({ tenant }) => tenant).sort(compareText)[0] ?? null;
    if (invoice.level === 'partner') return name === null ? null : withoutId(name, tenants);
    const tenant =
      invoice.tenantId === null && name === null
        ? undefined
        : tenants.get(keyOf(invoice.tenantId, name ?? ''));
    // A tenant that no file names is called by the partner's own id.
    if (tenant !== undefined && tenant.name === null && tenant.label === tenant.called)
      return invoice.partnerTenantId;
    return tenant?.label ?? name ?? invoice.partnerTenantId;
  };
  const labelled = (invoice: KnownInvoice): Labelled => ({ invoice, label: label(invoice) });
  const passesAsInvoice = ({ invoice, label }: Labelled): boolean => {
    const { tenantId, currency, current, start, end, date } = invoice;
    const key = tenantId ?? (label === null ? null : `"${label}`);
    if (!matches.tenant(key, key)) return false;
    const currencies = [currency, ...(current?.lines.map((line) => line.currency) ?? [])];
    if (filters.currencies !== undefined && !currencies.some((one) => one !== null && matches.currency(one)))
      return false;
    const [from, to] = filters.by === 'invoice-date' ? [date, date] : [start, end];
    if (filters.from !== undefined && !(to !== null && isFrom(to))) return false;
    if (filters.to !== undefined && !(from !== null && isUntil(from))) return false;
    if (filters.carriers === undefined && filters.zones === undefined) return true;
    return all.some((line) => line.invoice.id === invoice.id && passes(line));
  };
  const everyone = everything.map(labelled);
  const keys = chosen ?? (isAlone ? [partnerIds[0] ?? null] : [...partnerIds, ...(hasUnknown ? [null] : [])]);
  return keys.map((partnerId): View => {
    const isMine = (invoice: KnownInvoice): boolean => isAlone || invoice.partnerId === partnerId;
    const mine = all.filter(({ invoice }) => isMine(invoice));
    const loaded = mine.filter(({ invoice }) => ofLevel(invoice.level));
    const own = tenantsOf(selected.filter(isMine));
    const isOfTenantName = (name: string): boolean =>
      filters.tenants === undefined ||
      [...tenants.values()].some(
        ({ key, id, label }) =>
          label !== null &&
          own.has(key) &&
          matches.tenant(id ?? `"${label}`) &&
          [label, id].some((one) => one?.toLowerCase() === name.toLowerCase()),
      );
    const mineKnown = everyone.filter(({ invoice }) => isMine(invoice));
    return {
      ...{
        partnerId,
        filters,
        named,
        publishedAt,
        knownOn: knownOn ?? publishedAt,
        all: mine,
        loaded,
        passes,
        passesButDates,
        isOfTenant,
        isOfTenantKey,
        isOfTenantName,
        isUntil,
        isFrom,
        ofLevel,
      },
      lines: loaded.filter(passes),
      hasCurrency: (currency) =>
        currency !== null ? matches.currency(currency) : filters.currencies === undefined,
      known: mineKnown,
      invoices: mineKnown.filter((one) => ofLevel(one.invoice.level) && passesAsInvoice(one)),
      unlisted: mineKnown.filter((one) => !ofLevel(one.invoice.level) && passesAsInvoice(one)),
      linesOf,
      countedAt: (instant) =>
        world
          .countedAt(instant === publishedAt ? null : instant)
          .filter(({ lines: [line] }) => line !== undefined && isMine(line.invoice)),
      voidedAt: (instant) =>
        world.voidedAt(instant === publishedAt ? null : instant).filter(
          ({
            version: {
              lines: [line],
            },
          }) => line !== undefined && isMine(line.invoice),
        ),
    };
  });
}

/** Lines of a name without an id, when no invoice of such a tenant is known by that name. */
function withoutId(name: string, tenants: ReadonlyMap<string, Tenant>): string {
  return [...tenants.values()].some((tenant) => tenant.id !== null && tenant.called === name)
    ? `${name} (no id)`
    : name;
}

/** The latest name of a partner-level invoice, with the id. */
function calledPartner(partnerId: string, invoices: readonly KnownInvoice[]): string {
  const names = invoices
    .filter((invoice) => invoice.partnerId === partnerId && invoice.level === 'partner')
    .flatMap(({ id, date, current }) =>
      current === null
        ? []
        : [[`${date ?? ''} ${current.loadedAt} ${id}`, current.lines[0]?.tenant ?? ''] as const],
    )
    .sort(([one], [other]) => compareText(one, other));
  const name = names.at(-1)?.[1];
  return name === undefined ? partnerId : `${name} (${partnerId})`;
}

interface Matchers {
  readonly named: readonly Named[];
  readonly tenant: (...keys: readonly (string | null)[]) => boolean;
  readonly carrier: (carrier: string) => boolean;
  readonly zone: (zone: string | null) => boolean;
  readonly currency: (currency: string) => boolean;
}

function matchersOf(
  filters: Filters,
  of: {
    tenants: ReadonlyMap<string, Tenant>;
    lines: readonly Line[];
    world: World;
    selected: readonly KnownInvoice[];
  },
): Matchers {
  const everyLine = of.world.invoices().flatMap(({ versions }) => versions.flatMap(({ lines }) => lines));
  // By any case. A command refuses a value that matches nothing; here it selects nothing.
  const named: Named[] = [];
  const values = (
    filter: string,
    given: readonly string[] | undefined,
    known: readonly string[],
  ): ReadonlySet<string> | undefined => {
    if (given === undefined) return undefined;
    const found = given.map((value) => known.filter((one) => one.toLowerCase() === value.toLowerCase()));
    for (const [at, matched] of found.entries())
      named.push({ filter, given: given[at] ?? '', matched: [...new Set(matched)].sort(compareText) });
    return new Set(found.flat());
  };
  const keys = tenantKeys(filters.tenants, of, named);
  const carriers = values(
    'carrier',
    filters.carriers,
    everyLine.map(({ carrier }) => carrier),
  );
  const zones = values(
    'zone',
    filters.zones,
    everyLine.map(({ zone }) => zone ?? ''),
  );
  const currencies = values('currency', filters.currencies, [
    ...of.lines.map(({ currency }) => currency),
    ...of.selected.flatMap(({ currency }) => currency ?? []),
  ]);
  return {
    named,
    tenant: (...any) => keys === undefined || any.some((key) => key !== null && keys.has(key)),
    carrier: (carrier) => carriers?.has(carrier) ?? true,
    zone: (zone) => zones?.has(zone ?? '') ?? true,
    currency: (currency) => currencies?.has(currency) ?? true,
  };
}

/** An id or a name: the exact spelling if it exists, otherwise in any case. */
function tenantKeys(
  given: readonly string[] | undefined,
  {
    tenants,
    lines,
    selected,
  }: { tenants: ReadonlyMap<string, Tenant>; lines: readonly Line[]; selected: readonly KnownInvoice[] },
  named: Named[],
): ReadonlySet<string> | undefined {
  if (given === undefined) return undefined;
  const known = new Map<string, Set<string>>();
  const add = (key: string, names: Iterable<string>): void => {
    known.set(key, new Set([...(known.get(key) ?? []), ...names]));
  };
  for (const { id, label, names, partnerTenantIds, name } of tenants.values()) {
    if (label === null) continue;
    add(id ?? `"${label}`, [
      ...(id === null ? [] : [id]),
      ...names,
      ...partnerTenantIds,
      ...(name === null ? [] : [name]),
    ]);
  }
  for (const { invoice, tenant, label } of lines) if (invoice.tenantId === null) add(`"${label}`, [tenant]);
  for (const partner of selected.filter(({ level }) => level === 'partner'))
    for (const line of partner.current?.lines ?? []) add(`"${line.tenant}`, [line.tenant]);
  const found = given.map((value) => {
    const by = (isMeant: (text: string) => boolean): string[] =>
      [...known].flatMap(([key, names]) => ([...names].some(isMeant) ? [key] : []));
    const exact = by((text) => text === value);
    return exact.length > 0 ? exact : by((text) => text.toLowerCase() === value.toLowerCase());
  });
  for (const [at, keys] of found.entries()) {
    const matched = keys.map((key) => {
      const { label = null, id = null } = tenants.get(key) ?? {};
      if (key.startsWith('"') || label === null || id === null)
        return withoutId(key.replace(/^"/, ''), tenants);
      return label.includes(id) ? label : `${label} (${id})`;
    });
    named.push({
      filter: 'tenant',
      given: given[at] ?? '',
      matched: [...new Set(matched)].sort(compareText),
    });
  }
  return new Set(found.flat());
}
