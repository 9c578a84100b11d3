/** Histories: invoices with their files and what happens to each, acts on the installation, and filters to ask with. */

import fc from 'fast-check';
import type {
  Act,
  Deed,
  Event,
  Filters,
  Header,
  History,
  Invoice,
  Listing,
  Question,
  Row,
  Status,
  Timed,
} from '../history.ts';
import { CONDITIONS, SORTED } from '../model/shipments.ts';
import {
  CARRIERS,
  CURRENCIES,
  DAYS,
  type Drawn,
  farRow,
  likeRow,
  mostly,
  NAMES,
  row,
  ZONES,
} from './lines.ts';

const uuid = (kind: string, n: number): string =>
  `${kind.repeat(8)}-0000-4000-8000-${String(n).padStart(12, '0')}`;
export const PARTNERS = [uuid('9', 1), uuid('9', 2), uuid('9', 3)] as const;
/** The tenants of the second partner have other ids and the same names. */
function levelOf({ tenant, partnerId }: Pick<Identity, 'tenant' | 'partnerId'>): Header {
  if (tenant === null) return { tenantId: null, partnerTenantId: null };
  const kind = partnerId === PARTNERS[0] ? 'a' : 'b';
  return { tenantId: uuid(kind, tenant + 1), partnerTenantId: ['acme', 'beta', null][tenant] ?? null };
}

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY_MS = 24 * HOUR;
/** Between two deeds of an invoice. */
const gap = mostly(SECOND, 0, 1, HOUR, DAY_MS, 6 * DAY_MS, 40 * DAY_MS);

const shift = (from: string, days: number): string =>
  new Date(Date.parse(`${from}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

const identity = fc.record({
  /** null: partner level. */
  tenant: fc.oneof(
    { weight: 8, arbitrary: mostly<number | null>(0, 1, 2) },
    { weight: 2, arbitrary: fc.constant(null) },
  ),
  ...{ name: mostly(...NAMES), invoiceDate: mostly<string>(...DAYS), currency: mostly(...CURRENCIES) },
  partnerId: mostly<string>(PARTNERS[0], PARTNERS[1]),
  invoiceNumber: mostly<string>('INV-1', 'INV-2', 'INV-3', 'INV-10', 'inv-1', 'X'),
  periodDays: mostly(6, 30, 0),
  dueDays: mostly(15, 0, -3, 100),
});
type Identity = typeof identity extends fc.Arbitrary<infer T> ? T : never;

/** What the service states of a file: usually the truth. */
function headerOf(of: Identity, rows: readonly Row[], odd: Odd): Header {
  const { invoiceDate, currency, invoiceNumber, periodDays, dueDays } = of;
  const tenThousandths = rows
    .filter((row) => row.currency === currency)
    .reduce((sum, { cost }) => sum + exactly(cost), 0n);
  const whole: Header = {
    ...levelOf(of),
    partnerInvoiceId: null,
    ...{ invoiceNumber, currencyCode: currency, invoiceDate: `${invoiceDate}T00:00:00Z` },
    invoiceStartDate: `${shift(invoiceDate, -periodDays)}T00:00:00Z`,
    invoiceEndDate: `${invoiceDate}T23:59:59Z`,
    invoiceDueDate: `${shift(invoiceDate, dueDays)}T00:00:00Z`,
    invoiceTotalAmount: wireNumber(tenThousandths),
    totalTransactionCount: rows.length,
  };
  const stated = { ...whole, ...odd.stated };
  return Object.fromEntries(Object.entries(stated).filter(([name]) => !odd.missing.includes(name)));
}

const FIELDS = [
  ...['tenantId', 'partnerTenantId', 'invoiceNumber', 'invoiceStartDate', 'invoiceEndDate', 'invoiceDate'],
  ...['invoiceDueDate', 'currencyCode', 'invoiceTotalAmount', 'totalTransactionCount'],
] as const;

/** How a header differs from the truth. */
const odd: fc.Arbitrary<Odd> = fc.record({
  missing: fc.oneof(
    { weight: 6, arbitrary: fc.constant([]) },
    fc.uniqueArray(fc.constantFrom(...FIELDS), { maxLength: 3 }),
  ),
  stated: fc.oneof(
    { weight: 12, arbitrary: fc.constant({}) },
    fc.constantFrom<Header>(
      { invoiceTotalAmount: '0' },
      { invoiceTotalAmount: '17.5' },
      { invoiceTotalAmount: '10.00005' },
      { totalTransactionCount: 3 },
      { currencyCode: 'EUR' },
      { invoiceNumber: null },
      { invoiceDueDate: null },
      { invoiceDate: null },
      { invoiceStartDate: null, invoiceEndDate: null },
    ),
  ),
});
interface Odd {
  readonly missing: readonly string[];
  readonly stated: Header;
}

function exactly(cost: string): bigint {
  const [whole = '0', fraction = ''] = cost.replace('-', '').split('.');
  const size = BigInt(`${whole}${fraction.padEnd(4, '0')}`);
  return cost.startsWith('-') ? -size : size;
}

function wireNumber(size: bigint): string {
  const digits = String(size < 0n ? -size : size).padStart(5, '0');
  return `${size < 0n ? '-' : ''}${digits.slice(0, -4)}.${digits.slice(-4)}`.replace(/\.?0+$/, '');
}

type Draft = Deed | { readonly do: 'event'; readonly type: Event['type']; readonly file: number | null };
const created: Draft = { do: 'event', type: 'invoice_created', file: null };
const voided: Draft = { do: 'event', type: 'invoice_voided', file: null };
const finalized = (file: number): Draft => ({ do: 'event', type: 'invoice_finalized', file });
const fetched = (file: number, by: 'event' | 'regenerate' | 'export' = 'event'): Draft => ({
  do: 'fetch',
  file,
  by,
});
const details = (status: Status | null, partnerId: string | null = ''): Draft => ({
  do: 'details',
  status,
  header: {},
  partnerId,
});
const excluded: Draft = { do: 'exclude', code: 'unknown-invoice' };

/** What usually happens to an invoice, in order; `file` 1 is the correction of file 0. */
const STORIES: readonly (readonly Draft[])[] = [
  [created, finalized(0), fetched(0)],
  [finalized(0), fetched(0)],
  [created, finalized(0), fetched(0), voided],
  [finalized(0), fetched(0), finalized(1), fetched(1)],
  [finalized(0), fetched(0), finalized(1), fetched(1), voided],
  [created],
  [created, finalized(0)],
  [created, voided],
  [voided],
  [finalized(0), fetched(0), voided, { do: 'restore' }],
  [finalized(0), fetched(0), finalized(1), fetched(1), { do: 'choose', version: 1 }],
  [details('finalized'), fetched(0, 'regenerate')],
  [details('finalized'), fetched(0, 'export')],
  [{ do: 'import', file: 0 }],
  [
    { do: 'import', file: 0 },
    { do: 'import', file: 1 },
  ],
  [created, fetched(0, 'export'), finalized(0)],
  [created, { do: 'attention' }],
  [finalized(0), fetched(0), excluded],
  [finalized(0), fetched(0), excluded, { do: 'include' }],
  [finalized(0), fetched(0), { do: 'exclude', code: 'foreign-partner' }, voided, { do: 'restore' }],
  [details('finalized', null), fetched(0, 'regenerate')],
  [finalized(0), { do: 'attention' }, fetched(0), { do: 'resolve' }],
];

const anyDraft: fc.Arbitrary<Draft> = fc.oneof(
  fc.constantFrom(created, voided, finalized(0), finalized(1), fetched(0), fetched(1)),
  fc.constantFrom(
    fetched(0, 'export'),
    fetched(1, 'export'),
    details('finalized'),
    details('voided'),
    details(null),
  ),
  fc.constantFrom<Draft>({ do: 'import', file: 0 }, { do: 'restore' }, { do: 'choose', version: 1 }),
  fc.constantFrom<Draft>({ do: 'attention' }, { do: 'resolve' }, excluded, { do: 'include' }),
);

const rows = fc.array(row, { minLength: 1, maxLength: 8 });
const EIGHT = { minLength: 8, maxLength: 8 };

const plan = fc.record({
  of: identity,
  first: rows,
  /** null: the first file with another cost. */
  second: fc.oneof(fc.constant(null), rows),
  story: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...STORIES) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(...STORIES)
        .chain((story) => fc.shuffledSubarray([...story], { minLength: story.length })),
    },
  ),
  more: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(anyDraft, { maxLength: 3 })),
  begins: mostly(0, SECOND, HOUR, DAY_MS, 30 * DAY_MS),
  gaps: fc.array(gap, EIGHT),
  odds: fc.tuple(odd, odd),
  /** The sender's clock, which may be off by years. */
  sent: fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.constant(0) },
      fc.constantFrom(-1, -SECOND, 1, HOUR, -40 * DAY_MS, 30_000 * DAY_MS),
    ),
    EIGHT,
  ),
  /** Our clock, which may be off by days; forward and back. */
  clocks: fc.oneof(
    fc.constant(null),
    fc.array(fc.constantFrom(0, 0, -2 * DAY_MS, 2 * DAY_MS, 300 * SECOND, -1), EIGHT),
  ),
  tests: fc.array(fc.oneof({ weight: 20, arbitrary: fc.constant(false) }, fc.constant(true)), EIGHT),
  /** Events that come again later, some with another body; null: once. */
  again: fc.array(
    fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, fc.record({ after: gap, isOther: fc.boolean() })),
    EIGHT,
  ),
});
/** Of few tenants, loaded, with many like lines: for what is estimated, compared or found from many. */
const dense = (lines: fc.ArrayConstraints, line = likeRow): fc.Arbitrary<Plan> =>
  fc
    .record({
      base: plan,
      first: fc.array(line, lines),
      tenant: mostly<number>(0, 1),
      partner: mostly(0, 0, 1),
    })
    .map(({ base, first, tenant, partner }) => ({
      ...{ ...base, first, story: [finalized(0), fetched(0)], odds: [NOT_ODD, NOT_ODD], second: null },
      of: {
        ...base.of,
        ...{ tenant, name: tenant === 0 ? 'Acme' : 'Beta', currency: 'USD' },
        partnerId: PARTNERS[partner] ?? PARTNERS[0],
      },
    }));
/** Invoices of one partner in regular periods, numbered in turn, of which some are missing. */
const seriesPlans = fc
  .record({
    plans: fc.array(plan, { minLength: 5, maxLength: 12 }),
    ...{ step: mostly(7, 1, 14, 31), days: mostly(6, 7, 0, 13), turns: mostly(1, 2, 3) },
    /** Between the numbers of the first half and of the second. */
    distance: mostly(0, 0, 1_000),
    /** Later invoices have lower numbers; each tenant has its own numbers. */
    ...{ isReversed: mostly(false, true), isOfTenant: mostly(false, true) },
    isMissing: fc.array(fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, fc.boolean()), {
      minLength: 12,
      maxLength: 12,
    }),
  })
  .map(({ plans, step, days, turns, distance, isReversed, isOfTenant, isMissing }) =>
    plans.flatMap((base, at): Plan[] => {
      const [tenant, isSecondHalf] = [at % turns, at >= plans.length / 2];
      const of = {
        ...base.of,
        ...{ tenant, name: NAMES[tenant] ?? 'Acme', partnerId: PARTNERS[0], periodDays: days },
        invoiceDate: shift('2026-01-05', step * (isReversed ? plans.length - at : at)),
        invoiceNumber: `S-${(isOfTenant ? Math.floor(at / turns) : at) + 1 + (isSecondHalf ? distance : 0)}`,
      };
      return isMissing[at] === true ? [] : [{ ...base, of, odds: [NOT_ODD, NOT_ODD] }];
    }),
  );
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

function invoiceOf(
  { of, first, second, story, more, begins, gaps, odds, sent, clocks, tests, again }: Plan,
  n: number,
): Invoice {
  const complete = (drawn: readonly Drawn[]): Row[] =>
    drawn.map((cells) => ({
      ...cells,
      tenant: of.name,
      invoiceDate: of.invoiceDate,
      currency: cells.currency ?? of.currency,
    }));
  const corrected = first.map((cells, at) => (at === 0 ? { ...cells, cost: '12.5' } : cells));
  const files = [complete(first), complete(second ?? corrected)];
  let atMs = begins;
  const deeds = [...story, ...more].flatMap((draft, at): (Deed & Timed)[] => {
    // A decision is taken by a person, who reads first what is decided about.
    const isDecision = draft.do === 'restore' || draft.do === 'choose';
    const after = gaps[at] ?? 0;
    atMs += at === 0 ? 0 : isDecision ? Math.max(after, SECOND) : after;
    const of_ = {
      of,
      files,
      odd: odds[at % 2] ?? NOT_ODD,
      n,
      at,
      isTest: tests[at] ?? false,
      sentMs: sent[at] ?? 0,
    };
    const clockMs = clocks?.[at] ?? 0;
    const deed = { ...finish(draft, of_), atMs, ...(clockMs === 0 ? {} : { clockMs }) };
    const repeat = again[at] ?? null;
    if (deed.do !== 'event' || repeat === null) return [deed];
    const header = repeat.isOther ? { ...deed.header, invoiceNumber: 'OTHER' } : deed.header;
    return [deed, { ...deed, header, atMs: atMs + repeat.after }];
  });
  return { id: uuid('1', n), files, deeds };
}

const NOT_ODD: Odd = { missing: [], stated: {} };

function finish(
  draft: Draft,
  with_: {
    of: Identity;
    files: readonly (readonly Row[])[];
    odd: Odd;
    n: number;
    at: number;
    isTest: boolean;
    sentMs: number;
  },
): Deed {
  const { of, files, odd, n, at, isTest, sentMs } = with_;
  // A token of several partners does not name the one whose invoice it is.
  if (draft.do === 'details')
    return {
      ...draft,
      partnerId: draft.partnerId === null ? null : of.partnerId,
      header: headerOf(of, files[0] ?? [], odd),
    };
  if (draft.do !== 'event') return draft;
  return {
    ...draft,
    ...{ eventId: uuid('e', n * 100 + at), partnerId: of.partnerId, sentMs, isTest },
    header: headerOf(of, files[draft.file ?? 0] ?? [], odd),
  };
}

const filters: fc.Arbitrary<Filters> = fc.oneof(
  fc.constant({}),
  fc
    .record(
      {
        from: mostly(...DAYS),
        to: mostly('2026-02-28', ...DAYS),
        by: fc.constantFrom('ship-date' as const, 'invoice-date' as const),
        partners: fc.constantFrom([PARTNERS[0]], [PARTNERS[1]]),
        tenants: fc.constantFrom(['Acme'], ['acme'], [uuid('a', 1)], ['Beta', 'ACME']),
        carriers: fc.constantFrom(...CARRIERS.map((one) => [one]), ['FEDEX', 'ups']),
        zones: fc.constantFrom(...ZONES.map((one) => [one])),
        currencies: fc.constantFrom(['USD'], ['eur'], ['USD', 'EUR']),
        level: fc.constantFrom('tenant' as const, 'partner' as const, 'all' as const),
      },
      { requiredKeys: [] },
    )
    .map(rarely),
);

/** At most three of the filters, since most combinations of all of them select nothing. */
function rarely(all: Partial<Filters>): Filters {
  const { from, to } = all;
  const days = from !== undefined && to !== undefined && from > to ? { from: to, to: from } : {};
  return Object.fromEntries(Object.entries({ ...all, ...days }).slice(0, 3));
}

export const listing: fc.Arbitrary<Listing> = fc.record({
  condition: fc.constantFrom(
    ...Object.entries(CONDITIONS).flatMap(([name, [values]]) =>
      values.map((value): Listing['condition'] => [name, value]),
    ),
  ),
  ...{ sort: fc.constantFrom(...Object.keys(SORTED)), isDescending: fc.boolean() },
  pageSize: mostly(100, 2, 1),
});

/** @param asked the questions to choose from */
export const history = (asked: readonly Question[]): fc.Arbitrary<History> =>
  fc.record({
    begins: fc.constantFrom(
      '2026-03-01T10:00:00.000Z',
      '2026-02-28T23:59:59.999Z',
      '2026-12-31T23:30:00.000Z',
    ),
    invoices: fc
      .oneof(
        { weight: 3, arbitrary: fc.array(plan, { minLength: 1, maxLength: 12 }) },
        {
          weight: 1,
          arbitrary: fc.array(dense({ minLength: 1, maxLength: 30 }), { minLength: 4, maxLength: 12 }),
        },
        { weight: 1, arbitrary: seriesPlans },
      )
      .chain((plans) =>
        // Most histories have right clocks, since only those are asked about earlier instants.
        mostly(true, false).map((isPunctual) =>
          plans.map((of, at) => invoiceOf(isPunctual ? { ...of, clocks: null } : of, at + 1)),
        ),
      ),
    acts: fc.array(
      fc.record({
        act: mostly<Act>('publish', 'rebuild', 'reopen', 'verify'),
        atMs: fc.constantFrom(0, SECOND, HOUR, DAY_MS, 2 * DAY_MS, 31 * DAY_MS, 80 * DAY_MS),
      }),
      { maxLength: 4 },
    ),
    filters: fc.array(filters, { minLength: 1, maxLength: 3 }),
    questions: fc.uniqueArray(fc.constantFrom(...asked), { minLength: 1, maxLength: 8 }),
    listings: fc.array(listing, { maxLength: 2 }),
  });

const times = (length: number): fc.ArrayConstraints => ({ minLength: length, maxLength: length });

/** The partner of what is imported, or told of for several partners, is not known, which makes a third one. */
const namesPartner = ({ story, more }: Plan): boolean =>
  [...story, ...more].some(({ do: what }) => what === 'event') &&
  ![...story, ...more].some((draft) => draft.do === 'details' && draft.partnerId === null);

/** Estimates of many billions are a few units off, since growth has twelve decimals. */
const withUsualCost = (line: Drawn): Drawn =>
  line.currency === 'IRR' || line.cost.length < 9 ? line : { ...line, cost: '10' };

/** Many invoices of all kinds together, for all questions. */
export const base: fc.Arbitrary<History> = fc.record({
  begins: fc.constant('2026-03-01T10:00:00.000Z'),
  invoices: fc
    .tuple(
      fc.array(plan, times(12)),
      fc.array(dense({ minLength: 20, maxLength: 30 }), times(10)),
      fc.array(dense(times(40), farRow), times(2)),
      seriesPlans,
    )
    .map((plans) =>
      plans
        .flat()
        .map((of, at) => (at % 6 === 0 ? { ...of, of: { ...of.of, tenant: null } } : of))
        .map((of) =>
          namesPartner(of) ? of : { ...of, story: [created, finalized(0), fetched(0)], more: [] },
        )
        .map((of) => ({
          ...of,
          first: of.first.map(withUsualCost),
          second: of.second?.map(withUsualCost) ?? null,
        }))
        .map((of, at) => invoiceOf({ ...of, clocks: null }, at + 1)),
    ),
  acts: fc.constant([HOUR, 20 * DAY_MS].map((atMs) => ({ act: 'publish' as const, atMs }))),
  ...{ filters: fc.constant([]), questions: fc.constant([]), listings: fc.constant([]) },
});
