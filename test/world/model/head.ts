/** What is said above an answer: how complete it is, of which level, and what the reader must know. docs/report-rules.md, "Heads". */

import type { Filters } from '../history.ts';
import { compareKeys, invoicesOf } from './answer.ts';
import { compareText, money, quotient, sum } from './exact.ts';
import { gaps } from './reports/gaps.ts';
import type { KnownInvoice } from './truth.ts';
import type { Line, View } from './view.ts';

const LISTS_INVOICES = ['payables', 'proof', 'register', 'waiting'];
const READS_STATES = ['gaps', ...LISTS_INVOICES];
const COMPARES_DAYS = ['budget', 'bridge'];
const CONTRADICTIONS = ['total-amount', 'shipment-count', 'currency'];

export interface Head {
  readonly level: string;
  readonly shipments: number;
  readonly weighed: { readonly inPounds: number; readonly inKilograms: number; readonly without: number };
  readonly provedPercent: string | null;
  readonly stillOpen: string | null;
  readonly notCounted: string | null;
  readonly stated: Readonly<Record<string, string>>;
  /** What filters name. */
  readonly named: View['named'];
  readonly notes: readonly string[];
}

const counted = (count: number, noun: string): string =>
  `${thousands(String(count))} ${noun}${count === 1 ? '' : 's'}`;
const thousands = (digits: string): string =>
  digits.replace(/\d+/, (whole) => whole.replace(/\B(?=(?:\d{3})+$)/g, ','));
const sized = (lines: readonly Line[]): string =>
  `${counted(lines.length, 'shipment')} of ${counted(invoicesOf(lines), 'invoice')}`;

export function headOf(report: string, views: readonly View[], publishedAt: string): Head {
  const [view] = views;
  if (view === undefined) throw new Error('A partner is selected.');
  const { filters } = view;
  const isPartnerLevel = view.ofLevel('partner');
  const level =
    report === 'levels' || (isPartnerLevel && view.ofLevel('tenant'))
      ? 'all'
      : isPartnerLevel
        ? 'partner'
        : 'tenant';
  const all = views.flatMap((of) => of.all.filter(of.passes));
  const ofLevel = ({ invoice }: Line): boolean =>
    level === 'all' || (invoice.level === 'partner') === (level === 'partner');
  const lines = all.filter(ofLevel);
  const invoices = [...new Map(lines.map(({ invoice }) => [invoice.id, invoice])).values()];
  const units = Map.groupBy(lines, ({ unit }) => unit ?? '');
  const weighed = { inPounds: units.get('LB')?.length ?? 0, inKilograms: units.get('KG')?.length ?? 0 };
  const without = lines.length - weighed.inPounds - weighed.inKilograms;
  const proved = lines.filter(({ invoice: { proof } }) => proof === 'hash' || proof === 'header').length;
  const partsInTenThousand = lines.length === 0 ? 0 : Math.floor((proved * 10_000) / lines.length);
  const completeness = completenessOf(views, publishedAt);
  const [announced, contradicted] = [
    invoices.filter(({ proof }) => proof === 'announced').length,
    invoices.filter(({ rules }) => rules.some((rule) => CONTRADICTIONS.includes(rule))).length,
  ];
  const isComplete = [...READS_STATES, ...COMPARES_DAYS].includes(report) || completeness.notCounted === null;
  const instant = filters.asKnownOn;
  return {
    named: view.named,
    ...{ level, shipments: lines.length, weighed: { ...weighed, without }, ...completeness },
    provedPercent:
      lines.length === 0
        ? null
        : `${Math.floor(partsInTenThousand / 100)}.${String(partsInTenThousand % 100).padStart(2, '0')}`,
    notes: [
      ...(isComplete ? [] : [`Not counted: ${completeness.notCounted}`]),
      ...(views.length > 1
        ? [`${views.length} partners, distinguished by partner_id; nothing is added across them.`]
        : []),
      ...(views.length > 1 && views.some(({ partnerId }) => partnerId === null)
        ? ['Of one of them the id is not known: its invoices are a group of their own, without partner_id.']
        : []),
      ...levelNotes(all, level, { isCompared: report === 'levels', isChosen: filters.level !== undefined }),
      ...unlistedNotes(report, views, level),
      ...(without > 0
        ? [`Without weight: ${counted(without, 'shipment')}; averages per lb contain their cost.`]
        : []),
      ...(announced > 0
        ? [`Announced, and not confirmed by the billing service yet: ${counted(announced, 'invoice')}.`]
        : []),
      ...(contradicted > 0
        ? [
            `Contradicted by their own header or event: ${counted(contradicted, 'invoice')}; the report proof shows how.`,
          ]
        : []),
      ...(instant === undefined
        ? []
        : READS_STATES.includes(report)
          ? [
              `Shipments are as they were known on ${instant}; states of invoices are those of the publication.`,
            ]
          : [`As known on ${instant}.`]),
    ],
  };
}

function levelNotes(
  all: readonly Line[],
  level: string,
  { isCompared, isChosen }: { readonly isCompared: boolean; readonly isChosen: boolean },
): string[] {
  const partner = all.filter(({ invoice }) => invoice.level === 'partner');
  const tenants = all.filter(({ invoice }) => invoice.level !== 'partner');
  const unknown = all.filter(({ invoice }) => invoice.level === 'unknown');
  const areBoth = partner.length > 0 && tenants.length > 0;
  return [
    ...(areBoth && isCompared
      ? ['Both levels are read and compared; a shipment billed at both counts once at each.']
      : []),
    ...(areBoth && !isCompared && level === 'all'
      ? ['Both levels are added: a shipment billed to a tenant and to the partner is counted twice.']
      : []),
    ...(level === 'tenant' && partner.length > 0
      ? [
          `Left out: ${sized(partner)} at partner level. A partner-level invoice sums the shipments of all tenants, and adding both counts twice; the level partner or all includes them.`,
        ]
      : []),
    ...(level === 'partner' && tenants.length > 0
      ? [`Left out: ${sized(tenants)} at tenant level, so that nothing is counted twice.`]
      : []),
    ...(level === 'partner' && !isChosen
      ? ['Only partner-level invoices exist, so these are reported.']
      : []),
    ...(level !== 'partner' && unknown.length > 0
      ? [`Counted as tenant level: ${sized(unknown)} whose level is unknown (imported without details).`]
      : []),
  ];
}

function unlistedNotes(report: string, views: readonly View[], level: string): string[] {
  const unlisted = views.reduce((count, { unlisted }) => count + unlisted.length, 0);
  if (!LISTS_INVOICES.includes(report) || unlisted === 0) return [];
  const other = level === 'tenant' ? 'partner' : 'tenant';
  return [
    `Not listed: ${counted(unlisted, 'invoice')} at ${other} level; the level ${other} or all lists them.`,
  ];
}

const STATES: Readonly<Record<string, string>> = { draft: 'draft', needs_attention: 'needs attention' };

function completenessOf(
  views: readonly View[],
  publishedAt: string,
): Pick<Head, 'stillOpen' | 'notCounted' | 'stated'> {
  const { from, to, by, asKnownOn }: Filters = views[0]?.filters ?? {};
  const today = (asKnownOn ?? publishedAt).slice(0, 10);
  const daysOf = ({ start, end, date }: KnownInvoice): (string | null)[] =>
    by === 'invoice-date' ? [date, date] : [start ?? date, end ?? date];
  const isKnown = (at: string | undefined): boolean =>
    at !== undefined && (asKnownOn === undefined || at <= asKnownOn);
  const isLoaded = ({ current, versions }: KnownInvoice): boolean =>
    current !== null && isKnown(versions.map(({ loadedAt }) => loadedAt).sort()[0]);
  const dated = views.flatMap((view) =>
    view.known
      .filter(({ invoice }) => invoice.voidedAt === null && isKnown(invoice.firstSeenAt))
      .map((one) => ({ ...one, view })),
  );
  const absent = dated
    .filter(({ invoice, label, view }) => {
      const [first = null, last = null] = daysOf(invoice);
      const name = label ?? invoice.partnerTenantId;
      const key = invoice.tenantId ?? (name === null ? null : `"${name}`);
      return (
        !isLoaded(invoice) &&
        view.ofLevel(invoice.level) &&
        view.isOfTenantKey(key) &&
        (invoice.currency === null || view.hasCurrency(invoice.currency)) &&
        (from === undefined || last === null || last >= from) &&
        (to === undefined || first === null || first <= to)
      );
    })
    .sort((one, other) =>
      compareKeys(
        [one.invoice.number ?? one.invoice.id, one.invoice.id],
        [other.invoice.number ?? other.invoice.id, other.invoice.id],
      ),
    );
  const named = absent.slice(0, 3).map(({ invoice, label }) => {
    const { number, id, partnerTenantId, tenantId, state, statedTotal, statedCurrency } = invoice;
    const tenant = label ?? partnerTenantId ?? tenantId;
    const amount =
      statedTotal === null || statedCurrency === null
        ? ''
        : `, ${thousands(money(quotient(statedTotal, 100n) * 100n).slice(0, -2))} ${statedCurrency}`;
    const status = invoice.current === null ? STATES[state] : undefined;
    return `${number ?? id}${tenant === null ? '' : ` of ${tenant}`} (${status ?? 'waiting to be loaded'}${amount})`;
  });
  const missing = views
    .flatMap((view) => gaps(view, {}, {}))
    .filter(({ cells }) => cells.kind === 'number')
    .sort((one, other) => compareKeys(one.order, other.order))
    .map(({ cells: { finding, tenant } }) => `${finding}${tenant === null ? '' : ` of ${tenant}`}`);
  const list = (texts: readonly string[], found: number): string =>
    `${texts.join(', ')}${found > texts.length ? ` and ${thousands(String(found - texts.length))} more` : ''}`;
  const parts = [
    ...(absent.length === 0
      ? []
      : [`${counted(absent.length, 'known invoice')}: ${list(named, absent.length)}`]),
    ...(missing.length === 0
      ? []
      : [
          `${counted(missing.length, 'gap')} in the invoice numbers: ${list(missing.slice(0, 3), missing.length)}`,
        ]),
  ];
  const billed = dated
    .filter(({ invoice }) => isLoaded(invoice))
    .flatMap(({ invoice: { current, end, date } }) =>
      by === 'invoice-date' ? [date] : [...(current?.lines.map(({ shipDate }) => shipDate) ?? []), end],
    )
    .filter((day) => day !== null && day <= today)
    .sort();
  const billedTo = billed.at(-1);
  const stated = Map.groupBy(
    absent.filter(({ invoice }) => invoice.statedTotal !== null && invoice.statedCurrency !== null),
    ({ invoice }) => String(invoice.statedCurrency),
  );
  return {
    stillOpen:
      to === undefined
        ? null
        : to >= today
          ? `the period ends on ${to}; the data was published on ${today}.`
          : billedTo != null && to > billedTo
            ? `the period ends on ${to}, and nothing after ${billedTo} is billed yet.`
            : null,
    notCounted: parts.length === 0 ? null : `${parts.join('; ')}.`,
    stated: Object.fromEntries(
      [...stated]
        .sort(([one], [other]) => compareText(one, other))
        .map(([currency, of]) => [currency, money(sum(of.map(({ invoice }) => invoice.statedTotal ?? 0n)))]),
    ),
  };
}
