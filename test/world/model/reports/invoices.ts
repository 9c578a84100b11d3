/** Reports that list invoices, and what changes when one is voided or loaded again. */

import { createHash } from 'node:crypto';
import { csvOf } from '../../history.ts';
import { type AnswerRow, costOf, type Files, grouped, type Key, type Report } from '../answer.ts';
import {
  absolute,
  compareText,
  dayNumber,
  doubleMedian,
  money,
  parsed,
  percent,
  quotient,
  sum,
} from '../exact.ts';
import type { KnownInvoice, Line as PlainLine, Version } from '../truth.ts';
import type { Labelled, Line, View } from '../view.ts';

const DAY_MS = 86_400_000;
const daysPast = (due: string, { publishedAt }: View): number =>
  dayNumber(publishedAt.slice(0, 10)) - dayNumber(due);

interface Share extends Labelled {
  /** null: neither header nor file state one. */
  readonly currency: string | null;
  readonly isOwn: boolean;
  readonly lines: readonly PlainLine[];
}

/** An invoice in its own currency and in each other one that its file bills. */
function byCurrency({ invoice, label }: Labelled): Share[] {
  const lines = invoice.current?.lines ?? [];
  const currencies = [...new Set([invoice.currency, ...lines.map(({ currency }) => currency)])];
  return currencies.map((currency) => ({
    ...{ invoice, label, currency, isOwn: currency === invoice.currency },
    lines: lines.filter((line) => line.currency === currency),
  }));
}

const selected = (view: View): Share[] =>
  view.invoices.flatMap(byCurrency).filter(({ currency }) => view.hasCurrency(currency));

/** What the invoice owes in the currency: its stated total, or the sum of its lines. null: neither is known. */
function totalOf({ invoice, currency, lines }: Share): bigint | null {
  if (invoice.statedTotal !== null && invoice.statedCurrency === currency) return invoice.statedTotal;
  return invoice.current === null ? null : costOf(lines);
}

const isOwed = ({ state, serviceStatus, voidedAt }: KnownInvoice): boolean =>
  state !== 'draft' && voidedAt === null && serviceStatus !== 'draft';

/** Owed by the selected invoices, and what of it is still open after the payments. */
function owed(view: View, files: Files): (Share & { readonly total: bigint; readonly open: bigint })[] {
  const paid = paidOf(allTotals(view), files);
  return selected(view).flatMap((share) => {
    const total = totalOf(share);
    if (!isOwed(share.invoice) || total === null) return [];
    return [{ ...share, total, open: total - (paid.get(shareKey(share)) ?? 0n) }];
  });
}

const shareKey = ({ invoice, currency }: Share): string => JSON.stringify([invoice.id, currency]);

/** Of all invoices of the partner, whatever the filters are. */
const allTotals = (view: View): (Share & { readonly total: bigint })[] =>
  view.known.flatMap(byCurrency).flatMap((share) => {
    const total = totalOf(share);
    return isOwed(share.invoice) && total !== null ? [{ ...share, total }] : [];
  });

/** By share: of several invoices with a number each takes its amount in order of due date, and the last the rest. */
function paidOf(
  totals: readonly (Share & { readonly total: bigint })[],
  files: Files,
): ReadonlyMap<string, bigint> {
  const paid = new Map<string, bigint>();
  const payments = Map.groupBy(files.payments ?? [], (row) =>
    JSON.stringify([row.invoice_number, row.currency_code?.toUpperCase(), row.tenant?.toLowerCase() ?? '']),
  );
  for (const [key, rows] of payments) {
    const [number, currency, tenant] = JSON.parse(key) as [string, string, string];
    const isOf = ({ invoice }: Share): boolean =>
      tenant === '' ||
      [nameIn(invoice), invoice.tenantId, invoice.partnerTenantId].some(
        (one) => one?.toLowerCase() === tenant,
      );
    const shares = totals
      .filter((share) => share.invoice.number === number && share.currency === currency && isOf(share))
      .sort((one, other) =>
        inOrder(
          [one.invoice.due, one.invoice.date, one.invoice.id],
          [other.invoice.due, other.invoice.date, other.invoice.id],
        ),
      );
    let left = sum(rows.map(({ amount = '0' }) => parsed(amount)));
    for (const [at, share] of shares.entries()) {
      const isLast = at === shares.length - 1;
      const most = share.total > 0n ? share.total : 0n;
      const taken = isLast ? left : left < 0n ? 0n : left < most ? left : most;
      paid.set(shareKey(share), (paid.get(shareKey(share)) ?? 0n) + taken);
      left -= taken;
    }
  }
  return paid;
}

const nameIn = ({ current }: KnownInvoice): string | null =>
  current?.lines.map(({ tenant }) => tenant).sort(compareText)[0] ?? null;

export const waiting: Report = (view, { stuck_after_days: stuckAfter = '7' }) =>
  view.invoices
    .filter(({ invoice: { state } }) => state !== 'loaded' && state !== 'voided')
    .map(({ invoice, label }) => {
      const { state, number, due } = invoice;
      const days = Math.floor((Date.parse(view.publishedAt) - Date.parse(invoice.stateSince)) / DAY_MS);
      return {
        cells: {
          ...{ state, invoice_number: number, tenant: label, currency_code: invoice.currency },
          ...{
            stated_shipments: invoice.statedShipments,
            stated_total: invoice.statedTotal === null ? null : money(invoice.statedTotal),
          },
          ...{
            invoice_date: invoice.date,
            due_date: due,
            state_since: invoice.stateSince,
            days_in_state: days,
          },
          days_past_due: due === null ? null : Math.max(daysPast(due, view), 0),
          age:
            days < 1 ? 'today' : days < 7 ? '1 to 6 days' : days < 30 ? '7 to 29 days' : '30 days and more',
          ...{
            is_stuck: days >= Number(stuckAfter),
            reason: invoice.reason,
          },
          ...{ invoice_level: invoice.level, invoice_id: invoice.id },
        },
        order: [-days, state, number],
      };
    });

const GRADES = {
  'total-amount': 'money',
  'shipment-count': 'count',
  currency: 'currency',
  period: 'dates',
} as const;
const GRADE_ORDER = ['money', 'count', 'currency', 'dates', 'form'];

export const proof: Report = (view, _, files) =>
  selected(view).map((share) => {
    const { invoice, label, currency, isOwn, lines } = share;
    const { current, statedShipments: stated, statedTotal, rules } = invoice;
    const reasonOf = (rule: string): string | null =>
      (files.accepted ?? [])
        .filter((row) => row.rule === rule && ['', invoice.number].includes(row.invoice_number ?? ''))
        .map(({ reason = '' }) => reason)
        .sort(compareText)
        .at(-1) ?? null;
    const reasons = rules.flatMap((rule) => reasonOf(rule) ?? []);
    const grades = rules
      .filter((rule) => reasonOf(rule) === null)
      .map((rule) => GRADES[rule as keyof typeof GRADES] ?? 'form');
    const grade = GRADE_ORDER.find((one) => grades.some((other) => other === one)) ?? null;
    const difference =
      isOwn && current !== null && statedTotal !== null && invoice.statedCurrency === currency
        ? costOf(lines) - statedTotal
        : null;
    const isContradicted = grade !== null && ['money', 'count', 'currency'].includes(grade);
    return {
      cells: {
        ...{
          invoice_number: invoice.number,
          tenant: label,
          currency_code: currency,
          invoice_date: invoice.date,
          state: invoice.state,
        },
        ...{ stated_shipments: isOwn ? stated : null, shipments: current === null ? null : lines.length },
        shipments_difference:
          isOwn && current !== null && stated !== null ? current.lines.length - stated : null,
        stated_currency: invoice.statedCurrency,
        stated_total: isOwn && statedTotal !== null ? money(statedTotal) : null,
        ...{
          billing_cost: current === null ? null : money(costOf(lines)),
          difference: difference === null ? null : money(difference),
        },
        ...{
          proof: invoice.proof,
          differences: rules.length === 0 ? null : [...rules].sort().join(', '),
          grade,
          accepted_because: reasons.length === 0 ? null : [...new Set(reasons)].sort(compareText).join('; '),
        },
        verdict:
          invoice.state === 'voided'
            ? 'voided, not counted'
            : invoice.voidedAt !== null
              ? 'excluded, not counted'
              : current === null
                ? 'not loaded'
                : isContradicted
                  ? 'contradicted'
                  : invoice.proof === 'unproved' || invoice.proof === 'announced'
                    ? invoice.proof
                    : 'proved',
        ...{ version: current?.version ?? null, invoice_level: invoice.level, invoice_id: invoice.id },
        ...{ file_sha256: current === null ? null : hashOf(current), loaded_at: current?.loadedAt ?? null },
      },
      order: [
        grade === null ? 9 : GRADE_ORDER.indexOf(grade),
        currency,
        -absolute(difference ?? 0n),
        invoice.date,
        invoice.number,
      ],
    };
  });

const hashOf = ({ rows, lines: [line] }: Version): string =>
  createHash('sha256')
    .update(csvOf(rows, line?.invoice.id ?? ''))
    .digest('hex');

export const register: Report = (
  view,
  { usual_of: usualOf = '6', min_invoices: min = '3', unusual_percent: unusual = '50' },
  files,
) => {
  const rows = owed(view, files);
  // Earlier invoices, whatever the filters are.
  const all = allTotals(view).map((share) => ({
    ...share,
    order: [share.invoice.date, share.invoice.number, share.invoice.id] as Key,
  }));
  return rows.map(({ invoice, label, currency, total, open }) => {
    const party = partyOf(invoice);
    const alike = all
      .filter(
        (one) =>
          partyOf(one.invoice) === party && one.invoice.level === invoice.level && one.currency === currency,
      )
      .sort((one, other) => inOrder(one.order, other.order));
    const at = alike.findIndex((one) => one.invoice.id === invoice.id);
    const before = alike.slice(Math.max(at - Number(usualOf), 0), at).map((one) => one.total);
    const usual = before.length > 0 && before.length >= Number(min) ? doubleMedian(before) : null;
    // Both are doubled, so that they are rounded once.
    const difference = usual === null ? null : 2n * total - usual;
    const until = rows.filter(
      (one) =>
        one.currency === currency &&
        invoice.due !== null &&
        one.invoice.due !== null &&
        one.invoice.due <= invoice.due,
    );
    return {
      cells: {
        ...{
          due_date: invoice.due,
          invoice_number: invoice.number,
          tenant: label,
          invoice_date: invoice.date,
          currency_code: currency,
        },
        ...{
          total: money(total),
          usual_total: usual === null ? null : money(quotient(usual, 2n)),
          difference: difference === null ? null : money(quotient(difference, 2n)),
        },
        difference_percent: difference === null || usual === null ? null : percent(difference, usual),
        // What does not differ is not unusual, whatever its sign.
        is_unusual:
          difference === null || usual === null
            ? null
            : difference !== 0n && absolute(difference) * 100n >= absolute(usual) * BigInt(unusual),
        ...{
          open_amount: money(open),
          days_past_due: invoice.due === null ? null : Math.max(daysPast(invoice.due, view), 0),
        },
        cash_until_due: invoice.due === null ? null : money(sum(until.map((one) => one.open))),
        ...{ state: invoice.state, invoice_level: invoice.level, invoice_id: invoice.id },
      },
      order: [currency, invoice.due, invoice.number],
    };
  });
};

/** Whose invoice it is: the id, or what else names the tenant. */
function partyOf(invoice: KnownInvoice): string {
  const { tenantId, partnerTenantId } = invoice;
  return tenantId ?? partnerTenantId ?? nameIn(invoice) ?? '';
}

function inOrder(one: Key, other: Key): number {
  for (const [at, a] of one.entries()) {
    const b = other[at] ?? null;
    if (a === b) continue;
    if (a === null || b === null) return a === null ? 1 : -1;
    return compareText(String(a), String(b));
  }
  return 0;
}

export const payables: Report = (view, _, files) => {
  const open = owed(view, files).filter((one) => one.open !== 0n);
  const of = Map.groupBy(open, ({ label, invoice, currency }) =>
    JSON.stringify([label, invoice.level, currency]),
  );
  return [...of.values()].flatMap((group): AnswerRow[] => {
    const [first] = group;
    if (first === undefined) return [];
    const inAge = (from: number, to: number): string =>
      money(
        sum(
          group
            .filter(
              ({ invoice: { due } }) =>
                due !== null && daysPast(due, view) >= from && daysPast(due, view) <= to,
            )
            .map((one) => one.open),
        ),
      );
    const whole = sum(group.map((one) => one.open));
    return [
      {
        cells: {
          ...{
            tenant: first.label,
            invoice_level: first.invoice.level,
            currency_code: first.currency,
            invoices: group.length,
          },
          ...{
            open_amount: money(whole),
            not_due: inAge(-9e9, 0),
            due_1_to_30: inAge(1, 30),
            due_31_to_60: inAge(31, 60),
          },
          ...{ due_61_to_90: inAge(61, 90), due_over_90: inAge(91, 9e9) },
          no_due_date: money(sum(group.filter(({ invoice }) => invoice.due === null).map((one) => one.open))),
        },
        order: [first.currency, -whole, first.label, first.invoice.level],
      },
    ];
  });
};

const cellsOf = (lines: readonly Line[]): string =>
  lines
    .map(({ invoice: _, row: __, tenant: ___, ...cells }) =>
      JSON.stringify(cells, (____, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    )
    .sort()
    .join();

/** Lines of each invoice and currency, which are those of one version. */
function ofInvoices(lines: readonly Line[]) {
  return new Map(
    grouped(lines, ({ invoice, currency }) => [invoice.id, currency]).map(({ first, lines }) => [
      JSON.stringify([first.invoice.id, first.currency]),
      lines,
    ]),
  );
}

export const restatement: Report = (view, { first, second }) => {
  const end = (day: string): string => (day.length === 10 ? `${day}T23:59:59.999Z` : day);
  const later = second === undefined ? view.knownOn : end(second);
  const earlier = first === undefined ? new Date(Date.parse(later) - 30 * DAY_MS).toISOString() : end(first);
  const at = (instant: string) => {
    const versions = view.countedAt(instant);
    const lines = versions
      .flatMap(view.linesOf)
      .filter((line) => view.ofLevel(line.invoice.level) && view.passes(line));
    return { ids: new Set(versions.map(({ lines: [line] }) => line?.invoice.id)), lines: ofInvoices(lines) };
  };
  const [before, after] = [at(earlier), at(later)];
  return [...new Set([...before.lines.keys(), ...after.lines.keys()])].flatMap((key): AnswerRow[] => {
    const [one, other] = [before.lines.get(key) ?? [], after.lines.get(key) ?? []];
    const [line] = [...other, ...one];
    if (line === undefined || cellsOf(one) === cellsOf(other)) return [];
    const difference = costOf(other) - costOf(one);
    return [
      {
        cells: {
          ...{ invoice_number: line.invoice.number, tenant: line.label, currency_code: line.currency },
          cause: !before.ids.has(line.invoice.id)
            ? 'loaded'
            : !after.ids.has(line.invoice.id)
              ? 'voided'
              : 'new file',
          ...{ shipments_first: one.length, shipments_second: other.length },
          ...{
            cost_first: money(costOf(one)),
            cost_second: money(costOf(other)),
            difference: money(difference),
            invoice_id: line.invoice.id,
          },
        },
        order: [line.currency, -absolute(difference), line.invoice.number],
      },
    ];
  });
};

/** The cost of numbers, whatever its sign. */
const sizeOf = (numbers: readonly (readonly [string, { readonly cost: bigint }])[]): bigint =>
  sum(numbers.map(([, { cost }]) => absolute(cost)));

export const rebills: Report = (view, { min_shared_percent: minimum = '10' }) => {
  const least = BigInt(minimum);
  const numbersOf = (lines: readonly Line[]) =>
    new Map(
      [...Map.groupBy(lines, ({ carrier, tracking }) => JSON.stringify([carrier, tracking]))].map(
        ([key, of]) => [key, { cost: costOf(of), dates: of.map(({ invoiceDate }) => invoiceDate).sort() }],
      ),
    );
  const active = view.loaded;
  return view.voidedAt(view.knownOn).flatMap(({ version, voidedAt }) => {
    const of = view.linesOf(version).filter((line) => view.ofLevel(line.invoice.level) && view.passes(line));
    return grouped(of, ({ currency }) => [currency]).flatMap(({ first, lines }): AnswerRow[] => {
      const numbers = numbersOf(lines);
      const whole = costOf(lines);
      const common = {
        ...{
          invoice_number: first.invoice.number,
          tenant: first.label,
          currency_code: first.currency,
          voided_at: voidedAt,
        },
        ...{ shipments: lines.length, billing_cost: money(whole), invoice_id: first.invoice.id },
      };
      const order = [first.currency, voidedAt, first.invoice.number];
      const others = grouped(
        active.filter(({ currency }) => currency === first.currency),
        ({ invoice }) => [invoice.id],
      );
      const again = others.flatMap(({ first: { invoice }, lines: all }) => {
        const after = numbersOf(all);
        const shared = [...numbers].filter(([key, { cost, dates }]) => {
          const other = after.get(key);
          // A charge does not bill a credit again, nor a credit a charge.
          const isOpposite = other !== undefined && cost * other.cost < 0n;
          return other !== undefined && !isOpposite && (other.dates.at(-1) ?? '') >= (dates[0] ?? '');
        });
        const costs = [
          sum(shared.map(([, { cost }]) => cost)),
          sum(shared.map(([key]) => after.get(key)?.cost ?? 0n)),
        ] as const;
        const isEnough =
          BigInt(shared.length) * 100n >= BigInt(numbers.size) * least &&
          sizeOf(shared) * 100n >= sizeOf([...numbers]) * least;
        return shared.length > 0 && isEnough ? [{ invoice, shared, before: costs[0], after: costs[1] }] : [];
      });
      const billed = new Set(again.flatMap(({ shared }) => shared.map(([key]) => key)));
      const missing = [...numbers].filter(([key]) => !billed.has(key));
      const nothing = {
        replacement_number: null,
        shared_numbers: null,
        shared_percent: null,
        shared_cost_percent: null,
        shared_before: null,
        shared_after: null,
        difference: null,
        replacement_id: null,
      };
      return [
        ...again.map(({ invoice, shared, before, after }) => ({
          cells: {
            ...{
              ...common,
              outcome: 'billed again',
              replacement_number: invoice.number,
              shared_numbers: shared.length,
            },
            ...{
              shared_percent: percent(shared.length, numbers.size),
              shared_cost_percent: percent(before, whole),
            },
            ...{
              shared_before: money(before),
              shared_after: money(after),
              difference: money(after - before),
            },
            ...{ missing_numbers: null, missing_cost: null, replacement_id: invoice.id },
          },
          order: [...order, 0, -shared.length],
        })),
        ...(missing.length === 0
          ? []
          : [
              {
                cells: {
                  ...common,
                  outcome: 'not billed again',
                  ...nothing,
                  missing_numbers: missing.length,
                  missing_cost: money(sum(missing.map(([, { cost }]) => cost))),
                },
                order: [...order, 1, 0],
              },
            ]),
      ];
    });
  });
};
