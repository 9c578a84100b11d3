/** Invoices that may be missing, from the pattern of each tenant. */

import type { AnswerRow, Cells, Report } from '../answer.ts';
import { compareText, dateOf, dayNumber, decile } from '../exact.ts';
import type { KnownInvoice } from '../truth.ts';
import type { Labelled, View } from '../view.ts';

interface Known extends Labelled {
  /** The tenant, or the partner on a partner-level invoice; with the level. */
  readonly party: string;
  readonly name: string;
}

interface Party {
  readonly tenant: string | null;
  readonly invoice_level: string | null;
  readonly key: string | null;
}

type Gap = Cells & {
  readonly kind: string;
  readonly expected_from: string | null;
  readonly expected_to: string | null;
};

const smallest = (texts: readonly (string | null)[]): string | null =>
  texts.filter((text) => text !== null).sort(compareText)[0] ?? null;
const greatest = (texts: readonly (string | null)[]): string | null =>
  texts
    .filter((text) => text !== null)
    .sort(compareText)
    .at(-1) ?? null;

export const gaps: Report = (view, { min_invoices: min = '3' }) => {
  const known = view.known.map(({ invoice, label }): Known => {
    const { level, tenantId } = invoice;
    const party = `${level} ${level === 'partner' ? 'partner' : (tenantId ?? label ?? 'partner')}`;
    return { invoice, label, party, name: label ?? invoice.partnerTenantId ?? 'partner' };
  });
  const rows = [...Map.groupBy(known, ({ party }) => party).values()].flatMap((group) => {
    const party = partyOf(group);
    return [...voidedGaps(group), ...periodGaps(group, view, Number(min))].map((gap) => rowOf(gap, party));
  });
  return [...rows, ...numberGaps(known, Number(min))].flatMap(({ party, gap }): AnswerRow[] => {
    const { expected_from: from, expected_to: to } = gap;
    if (view.filters.from !== undefined && !(to !== null && view.isFrom(to))) return [];
    if (view.filters.to !== undefined && !(from !== null && view.isUntil(from))) return [];
    if (!view.isOfTenantKey(party.key)) return [];
    const { tenant, invoice_level } = party;
    return [
      {
        cells: { ...gap, tenant, invoice_level, finding: findingOf(gap, tenant) },
        order: [tenant, invoice_level, from, gap.kind, gap.after_invoice as string | null],
      },
    ];
  });
};

function rowOf(gap: Gap, party: Party) {
  return { gap, party };
}

function partyOf(group: readonly Known[]): Party {
  const tenant = greatest(group.map(({ name }) => name));
  const tenantId = group[0]?.invoice.tenantId ?? null;
  return { tenant, invoice_level: group[0]?.invoice.level ?? null, key: tenantId ?? `"${tenant}` };
}

function findingOf(gap: Gap, tenant: string | null): string | null {
  const {
    kind,
    after_invoice: after,
    before_invoice: before,
    expected_from: from,
    expected_to: to,
    missing,
  } = gap;
  if (kind === 'voided')
    return after === null ? null : `${after} was voided, and nothing else covers ${from} to ${to}`;
  const every = `${tenant} is invoiced every ${gap.usual_step} days, and nothing`;
  if (kind === 'period') return `${every} covers ${from} to ${to}`;
  if (kind === 'overdue') return after === null ? null : `${every} came since ${after}`;
  return `${missing} ${missing === 1 ? 'number is' : 'numbers are'} missing between ${after} and ${before}`;
}

const daysOf = ({ start, end }: KnownInvoice): readonly [number, number] | null =>
  start === null || end === null ? null : [dayNumber(start), dayNumber(end)];

function voidedGaps(group: readonly Known[]): Gap[] {
  return group.flatMap(({ invoice }): Gap[] => {
    const days = daysOf(invoice);
    if (invoice.state !== 'voided' || days === null) return [];
    const [first, last] = days;
    const living = group.flatMap(({ invoice: other }) =>
      other.state !== 'voided' && other.currency === invoice.currency ? [daysOf(other)] : [],
    );
    const isCovered = (day: number): boolean =>
      living.some((of) => of !== null && of[0] <= day && day <= of[1]);
    const open = Array.from({ length: Math.max(last - first + 1, 0) }, (_, at) => first + at).filter(
      (day) => !isCovered(day),
    );
    const [from, to] = [open[0], open.at(-1)];
    // Where periods end on the day on which the next one begins, that day is the next one's.
    if (from === undefined || to === undefined || (open.length === 1 && from === last && first !== last))
      return [];
    return [
      {
        ...{ kind: 'voided', expected_from: dateOf(from), expected_to: dateOf(to), missing: 1 },
        ...{ after_invoice: invoice.number, before_invoice: null, usual_step: null },
      },
    ];
  });
}

interface Beat {
  readonly start: number;
  readonly end: number;
  readonly delays: readonly bigint[];
  readonly earliest: string | null;
  readonly latest: string | null;
}

function beatsOf(group: readonly Known[]): Beat[] {
  const dated = group.flatMap(({ invoice }) => {
    const days = daysOf(invoice);
    return days === null ? [] : [{ invoice, start: days[0], end: days[1] }];
  });
  return [...Map.groupBy(dated, ({ start }) => start)]
    .map(([start, of]): Beat => {
      // An invoice without a date is neither the earliest nor the latest, unless there is no other.
      const inOrder = (missing: string): (string | null)[] =>
        of
          .toSorted(
            (one, other) =>
              compareText(one.invoice.date ?? missing, other.invoice.date ?? missing) ||
              compareText(one.invoice.number ?? '', other.invoice.number ?? ''),
          )
          .map(({ invoice }) => invoice.number);
      const delays = of.flatMap(({ invoice: { date }, end }) =>
        date === null ? [] : [BigInt(dayNumber(date) - end)],
      );
      return {
        ...{ start, end: Math.max(...of.map(({ end }) => end)) },
        delays: delays.sort((one, other) => Number(one - other)).slice(-1),
        ...{ earliest: inOrder('~')[0] ?? null, latest: inOrder('').at(-1) ?? null },
      };
    })
    .sort((one, other) => one.start - other.start);
}

function periodGaps(group: readonly Known[], { publishedAt }: View, min: number): Gap[] {
  const beats = beatsOf(group);
  if (beats.length < min) return [];
  const steps = beats.slice(1).map(({ start }, at) => start - (beats[at]?.start ?? 0));
  const usual = [...steps].sort((one, other) => one - other)[Math.ceil(steps.length / 2) - 1] ?? 0;
  if (usual <= 0) return [];
  const delays = beats.flatMap((beat) => beat.delays);
  const delay = delays.length === 0 ? 0 : Math.max(Number(decile(delays, 9)), 0);
  const touching = (days: number): number =>
    beats.filter(({ end }, at) => beats[at + 1]?.start === end + days).length;
  const afterEnd = touching(0) > touching(1) ? 0 : 1;
  const today = dayNumber(publishedAt.slice(0, 10));
  return beats.flatMap((beat, at): Gap[] => {
    const next = beats[at + 1];
    const open = Math.max(...beats.slice(0, at + 1).map(({ end }) => end)) + afterEnd;
    const common = { expected_from: dateOf(open), after_invoice: beat.latest, usual_step: usual };
    if (next === undefined) {
      // Those whose end, the usual delay and two days have passed.
      const missing = Math.floor((today - beat.start - delay - 2) / usual) - 1;
      if (missing < 1) return [];
      return [
        {
          kind: 'overdue',
          ...common,
          expected_to: dateOf(open + missing * usual - 1),
          missing,
          before_invoice: null,
        },
      ];
    }
    const step = next.start - beat.start;
    if (2 * step < 3 * usual || open >= next.start) return [];
    const missing = Math.max(Math.floor((2 * step + usual) / (2 * usual)) - 1, 1);
    return [
      {
        kind: 'period',
        ...common,
        expected_to: dateOf(next.start - 1),
        missing,
        before_invoice: next.earliest,
      },
    ];
  });
}

/** A sequence has one prefix, and is of each tenant or, if no more numbers are missing then, of all tenants of the partner. */
function numberGaps(known: readonly Known[], min: number) {
  const numbered = known.flatMap((one) => {
    const { number } = one.invoice;
    const found = number === null ? null : /^([\s\S]*?)(\d+)$/.exec(number);
    return found === null
      ? []
      : [
          {
            ...one,
            number: number ?? '',
            prefix: found[1] ?? '',
            counter: Number((found[2] ?? '').slice(-15)),
          },
        ];
  });
  type Numbered = (typeof numbered)[number];
  const counters = (of: readonly Numbered[]): number[] =>
    [...new Set(of.map(({ counter }) => counter))].sort((one, other) => one - other);
  const missingIn = (list: readonly number[]): number =>
    (list.at(-1) ?? 0) - (list[0] ?? 0) + 1 - list.length;
  return [...Map.groupBy(numbered, ({ prefix }) => prefix).values()].flatMap((sequence) => {
    const parties = [...Map.groupBy(sequence, ({ party }) => party).values()];
    const each = parties.map(counters);
    const all = counters(sequence);
    const total = each.reduce((sum, list) => sum + list.length, 0);
    const lost = each.reduce((sum, list) => sum + missingIn(list), 0);
    const isOfTenants =
      all.length < total || (Math.max(...each.map(({ length }) => length)) >= min && lost <= missingIn(all));
    const noParty: Party = { tenant: null, invoice_level: null, key: null };
    const series = isOfTenants
      ? parties.map((of) => ({ of, party: partyOf(known.filter(({ party }) => party === of[0]?.party)) }))
      : [{ of: sequence, party: noParty }];
    return series.flatMap(({ of, party }) => {
      const list = counters(of);
      const steps = list.slice(1).map((counter, at) => counter - (list[at] ?? 0));
      if (
        list.length < min ||
        steps.length === 0 ||
        steps.filter((step) => step === 1).length * 5 < steps.length * 4
      )
        return [];
      return steps.flatMap((step, at) => {
        if (step === 1) return [];
        const side = (counter: number | undefined) => {
          const alike = of.filter((one) => one.counter === counter);
          return {
            number: smallest(alike.map(({ number }) => number)),
            date: smallest(alike.map(({ invoice }) => invoice.date)),
          };
        };
        const [before, after] = [side(list[at]), side(list[at + 1])];
        const gap: Gap = {
          ...{
            kind: 'number',
            expected_from: smallest([before.date, after.date]),
            expected_to: greatest([before.date, after.date]),
          },
          ...{
            missing: step - 1,
            after_invoice: before.number,
            before_invoice: after.number,
            usual_step: null,
          },
        };
        return [rowOf(gap, party)];
      });
    });
  });
}
