import { describe, expect, test } from 'vitest';
import {
  decimalText as D,
  type FixtureInvoice,
  type FixtureShipment,
  roundedQuotient,
} from '../../support/reports-fixture.ts';
import { absolute, oracleOver, type Plain, T } from './description-oracle.ts';
import { costOf, dayOf, doubleMedian, grouped, percent } from './plain-arithmetic.ts';
import { variedInvoices } from './varied-invoices.ts';

const PUBLISHED = '2026-06-20T10:20:00Z';
const TODAY = dayOf('2026-06-20');
const invoices = variedInvoices(5);
const ofTenants = invoices.filter(({ level }) => level !== 'partner');
const { agreesOfInvoices } = oracleOver(invoices, { publishedAt: PUBLISHED });

const isVoided = ({ state }: FixtureInvoice): boolean => state === 'voided';
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** An invoice in each currency that its file bills, and in its own in any case. */
function byCurrency(list: readonly FixtureInvoice[]) {
  return list.flatMap((invoice) => {
    const { shipments, currency: stated } = invoice;
    const billed = [...new Set(shipments.map(({ currency }) => currency))].sort();
    const own = billed.length === 0 || billed.includes(stated) ? stated : (billed[0] ?? stated);
    const currencies = [...new Set([own, ...billed])];
    return currencies.map((currency) => {
      const lines = shipments.filter((line) => line.currency === currency);
      return { invoice, currency, lines, isOwn: currency === own, isLoaded: shipments.length > 0 };
    });
  });
}

const statedOf = ({ statedTotal, shipments, currency }: FixtureInvoice): bigint =>
  statedTotal === null ? costOf(shipments.filter((line) => line.currency === currency)) : T(statedTotal);

describe('invoices and their files', () => {
  test('waiting', () =>
    agreesOfInvoices(
      'waiting',
      ofTenants
        .filter(({ state }) => state !== 'loaded' && state !== 'voided')
        .map(({ state, number, tenant, due, createdAt, statedTotal }) => {
          const days = Math.floor((Date.parse(PUBLISHED) - Date.parse(createdAt)) / 86_400_000);
          return {
            ...{
              state,
              invoice_number: number,
              tenant,
              due_date: due,
              stated_total: D(T(statedTotal ?? '0')),
            },
            ...{ days_in_state: days, days_past_due: Math.max(TODAY - dayOf(due), 0), is_stuck: days >= 7 },
          };
        }),
    ));

  const GRADES = {
    'total-amount': 'money',
    'shipment-count': 'count',
    currency: 'currency',
    period: 'dates',
  } as const;
  const rulesOf = (invoice: FixtureInvoice): (keyof typeof GRADES)[] => {
    const rules = invoice.differences.map(([rule]) => rule as keyof typeof GRADES);
    const { shipments, statedShipments, currency } = invoice;
    if (shipments.length === 0) return [];
    if (statedShipments !== shipments.length) rules.push('shipment-count');
    if (statedOf(invoice) !== costOf(shipments.filter((line) => line.currency === currency)))
      rules.push('total-amount');
    return rules.sort(compare);
  };

  test('proof', () => {
    const [wrong] = ofTenants.filter(
      (invoice) => rulesOf(invoice).includes('total-amount') && !isVoided(invoice),
    );
    const accepted = (invoice: FixtureInvoice, rule: string): string | null =>
      rule === 'shipment-count'
        ? 'counted otherwise'
        : rule === 'total-amount' && invoice === wrong
          ? 'credited'
          : null;
    return agreesOfInvoices(
      'proof',
      byCurrency(ofTenants).map(({ invoice, currency, lines, isOwn, isLoaded }) => {
        const rules = rulesOf(invoice);
        const reasons = rules.flatMap((rule) => accepted(invoice, rule) ?? []);
        const counting = Object.keys(GRADES).find((rule) =>
          rules.some((one) => one === rule && accepted(invoice, one) === null),
        );
        const grade = counting === undefined ? null : GRADES[counting as keyof typeof GRADES];
        const isContradicted = grade !== null && grade !== 'dates';
        const all = invoice.shipments.length;
        return {
          ...{ invoice_number: invoice.number, currency_code: currency, state: invoice.state },
          shipments: isLoaded ? lines.length : null,
          billing_cost: isLoaded ? D(costOf(lines)) : null,
          stated_total: isOwn ? D(statedOf(invoice)) : null,
          stated_shipments: isOwn ? invoice.statedShipments : null,
          shipments_difference: isOwn && isLoaded ? all - (invoice.statedShipments ?? 0) : null,
          difference:
            isOwn && isLoaded && currency === invoice.currency ? D(costOf(lines) - statedOf(invoice)) : null,
          differences: rules.length === 0 ? null : rules.join(', '),
          ...{
            grade,
            accepted_because: reasons.length === 0 ? null : [...new Set(reasons)].sort(compare).join('; '),
          },
          verdict: isVoided(invoice)
            ? 'voided, not counted'
            : !isLoaded
              ? 'not loaded'
              : isContradicted
                ? 'contradicted'
                : invoice.proof === 'unproved'
                  ? 'unproved'
                  : 'proved',
        };
      }),
      {
        files: {
          accepted: [
            'invoice_number,rule,reason',
            ',shipment-count,counted otherwise',
            `${wrong?.number},total-amount,credited`,
          ],
        },
      },
    );
  });
});

describe('open amounts', () => {
  const owed = byCurrency(invoices)
    .filter(({ invoice }) => invoice.state !== 'draft' && !isVoided(invoice))
    .map((one) => ({
      ...one,
      total: one.isOwn && one.currency === one.invoice.currency ? statedOf(one.invoice) : costOf(one.lines),
    }));
  // Two payments of one number, one too large, and one that fits nothing.
  const paid = [owed[1], owed[3], owed[3], owed[8]].flatMap((one, at) =>
    one === undefined
      ? []
      : [{ number: one.invoice.number, currency: one.currency, amount: `${[20, 5, 900, 7][at]}.1234` }],
  );
  const files = {
    payments: [
      'invoice_number,currency_code,amount',
      ...paid.map((each) => Object.values(each).join()),
      'none,USD,5',
    ],
  };
  const open = owed
    .filter(({ invoice }) => invoice.level !== 'partner')
    .map((one) => {
      const { number, due } = one.invoice;
      // Each number is of one invoice here, so no payment is divided.
      const taken = paid.filter((each) => each.number === number && each.currency === one.currency);
      return { ...one, due, open: taken.reduce((rest, { amount }) => rest - T(amount), one.total) };
    });

  test('payables', () =>
    agreesOfInvoices(
      'payables',
      grouped(
        open.filter((one) => one.open !== 0n).map((one) => ({ ...one, open: String(one.open) })),
        ({ invoice, currency }) => [invoice.tenant, invoice.level ?? 'unknown', currency],
      ).map(([[tenant, level, currency], group]) => {
        const sum = (from: number, to: number): string =>
          D(
            group
              .filter(({ due }) => TODAY - dayOf(due) >= from && TODAY - dayOf(due) <= to)
              .reduce((total, one) => total + BigInt(one.open), 0n),
          );
        return {
          ...{ tenant, invoice_level: level, currency_code: currency, invoices: group.length },
          ...{ open_amount: sum(-9_999, 9_999), not_due: sum(-9_999, 0), due_1_to_30: sum(1, 30) },
          ...{ due_31_to_60: sum(31, 60), due_61_to_90: sum(61, 90), due_over_90: sum(91, 9_999) },
          no_due_date: '0.0000',
        };
      }),
      { files },
    ));

  test('register', () =>
    agreesOfInvoices(
      'register',
      open.map(({ invoice, currency, total, due, open: rest }) => {
        const before = open
          .filter(
            (one) =>
              one.invoice.tenant === invoice.tenant &&
              one.invoice.level === invoice.level &&
              one.currency === currency,
          )
          .sort(
            (one, other) =>
              compare(one.invoice.date, other.invoice.date) ||
              compare(one.invoice.number, other.invoice.number),
          )
          .map((one) => ({ number: one.invoice.number, total: one.total }));
        const at = before.findIndex(({ number }) => number === invoice.number);
        const six = before.slice(Math.max(at - 6, 0), at).map((one) => one.total);
        // Twice, so that it is whole and its half is rounded at the end.
        const usual = six.length >= 3 ? doubleMedian(six) : null;
        const above = usual === null ? null : 2n * total - usual;
        const until = open.filter((one) => one.currency === currency && one.due <= due);
        return {
          ...{ due_date: due, invoice_number: invoice.number, currency_code: currency, total: D(total) },
          usual_total: usual === null ? null : D(roundedQuotient(usual, 2n)),
          difference: above === null ? null : D(roundedQuotient(above, 2n)),
          difference_percent: above === null || usual === null ? null : percent(above, usual),
          is_unusual: above === null || usual === null ? null : absolute(above) * 100n >= usual * 50n,
          open_amount: D(rest),
          days_past_due: Math.max(TODAY - dayOf(due), 0),
          cash_until_due: D(until.reduce((sum, one) => sum + one.open, 0n)),
        };
      }),
      { files },
    ));
});

describe('voids and changes', () => {
  const numberOf = ({ carrier, tracking, currency }: FixtureShipment) =>
    JSON.stringify([carrier, tracking, currency]);
  const costsOf = (lines: readonly FixtureShipment[]): ReadonlyMap<string, bigint> =>
    new Map(grouped(lines, (line) => [numberOf(line)]).map(([[key], of]) => [String(key), costOf(of)]));
  const sum = (list: readonly bigint[]): bigint => list.reduce((total, one) => total + one, 0n);
  const sizeOf = (list: readonly bigint[]): bigint => sum(list.map(absolute));

  test('rebills', () =>
    agreesOfInvoices(
      'rebills',
      ofTenants.filter(isVoided).flatMap((voided) =>
        grouped(voided.shipments, ({ currency }) => [currency]).flatMap(([[currency], lines]): Plain[] => {
          const costs = costsOf(lines);
          const whole = sum([...costs.values()]);
          const common = {
            invoice_number: voided.number,
            currency_code: currency,
            shipments: lines.length,
            billing_cost: D(whole),
          };
          const again = ofTenants
            .filter((other) => other.state === 'loaded')
            .flatMap((other) => {
              const after = costsOf(
                other.shipments.filter(({ invoiceDate }) => invoiceDate >= (lines[0]?.invoiceDate ?? '')),
              );
              // A charge does not bill a credit again, nor a credit a charge.
              const shared = [...costs.keys()].filter(
                (key) => after.has(key) && (costs.get(key) ?? 0n) * (after.get(key) ?? 0n) >= 0n,
              );
              const before = sum(shared.map((key) => costs.get(key) ?? 0n));
              const isEnough =
                shared.length * 100 >= costs.size * 10 &&
                sizeOf(shared.map((key) => costs.get(key) ?? 0n)) * 100n >= sizeOf([...costs.values()]) * 10n;
              return shared.length > 0 && isEnough
                ? [{ other, shared, before, after: sum(shared.map((key) => after.get(key) ?? 0n)) }]
                : [];
            });
          const found = new Set(again.flatMap(({ shared }) => shared));
          const missing = [...costs].filter(([key]) => !found.has(key));
          return [
            ...again.map(({ other, shared, before, after }) => ({
              ...{
                ...common,
                outcome: 'billed again',
                replacement_number: other.number,
                shared_numbers: shared.length,
              },
              shared_percent: percent(BigInt(shared.length), BigInt(costs.size)),
              shared_cost_percent: percent(before, whole),
              ...{ shared_before: D(before), shared_after: D(after), difference: D(after - before) },
              ...{ missing_numbers: null, missing_cost: null },
            })),
            ...(missing.length === 0
              ? []
              : [
                  {
                    ...{
                      ...common,
                      outcome: 'not billed again',
                      replacement_number: null,
                      shared_numbers: null,
                    },
                    ...{
                      shared_percent: null,
                      shared_cost_percent: null,
                      shared_before: null,
                      shared_after: null,
                    },
                    ...{ difference: null, missing_numbers: missing.length },
                    missing_cost: D(sum(missing.map(([, cost]) => cost))),
                  },
                ]),
          ];
        }),
      ),
    ));

  test('restatement', () => {
    const known = (invoice: FixtureInvoice, instant: string): readonly FixtureShipment[] => {
      const files = [...invoice.earlier, ...(invoice.shipments.length > 0 ? [invoice] : [])];
      if (invoice.voidedAt !== null && invoice.voidedAt <= instant) return [];
      return files.findLast(({ loadedAt }) => loadedAt <= instant)?.shipments ?? [];
    };
    const [first, second] = ['2026-03-20T00:00:00Z', '2026-05-01T00:00:00Z'];
    return agreesOfInvoices(
      'restatement',
      ofTenants.flatMap((invoice) => {
        const [then, now] = [known(invoice, first), known(invoice, second)];
        return ['USD', 'EUR'].flatMap((currency): Plain[] => {
          const [one, other] = [then, now].map((lines) => lines.filter((line) => line.currency === currency));
          const cells = (lines: readonly FixtureShipment[] = []) =>
            lines
              .map((line) => JSON.stringify(line))
              .sort()
              .join();
          if (cells(one) === cells(other)) return [];
          const [before, after] = [costOf(one ?? []), costOf(other ?? [])];
          return [
            {
              ...{ invoice_number: invoice.number, tenant: invoice.tenant, currency_code: currency },
              cause: one?.length === 0 ? 'loaded' : other?.length === 0 ? 'voided' : 'new file',
              ...{ shipments_first: one?.length, shipments_second: other?.length },
              ...{ cost_first: D(before), cost_second: D(after), difference: D(after - before) },
            },
          ];
        });
      }),
      { parameters: { first, second } },
    );
  });
});

describe('gaps', () => {
  interface Beat {
    readonly start: number;
    readonly end: number;
    readonly delay: number;
    /** By date and number. */
    readonly earliest: string;
    readonly latest: string;
  }
  const textOf = (day: number): string => new Date(day * 86_400_000).toISOString().slice(0, 10);
  const levelOf = ({ level }: FixtureInvoice): string => level ?? 'unknown';

  function sidesOf(of: readonly FixtureInvoice[]): Pick<Beat, 'earliest' | 'latest'> {
    const sorted = of.map(({ date, number }) => ({ number, at: `${date} ${number}` }));
    sorted.sort((one, other) => (one.at < other.at ? -1 : 1));
    return { earliest: sorted[0]?.number ?? '', latest: sorted.at(-1)?.number ?? '' };
  }

  function gapsOf(group: readonly FixtureInvoice[]): Plain[] {
    const [{ tenant = '' } = {}] = group;
    const common = { tenant, invoice_level: group[0] ? levelOf(group[0]) : '' };
    const beats = grouped(group, ({ start }) => [start])
      .map(
        ([[start], of]): Beat => ({
          ...{ start: dayOf(String(start)), end: Math.max(...of.map(({ end }) => dayOf(end))) },
          delay: Math.max(...of.map(({ end, date }) => dayOf(date) - dayOf(end))),
          ...sidesOf(of),
        }),
      )
      .sort((one, other) => one.start - other.start);
    const steps = beats.slice(1).map(({ start }, at) => start - (beats[at]?.start ?? 0));
    const middle = [...steps].sort((one, other) => one - other)[Math.ceil(steps.length / 2) - 1] ?? 0;
    const delays = beats.map(({ delay }) => delay).sort((one, other) => one - other);
    const usualDelay = Math.max(delays[Math.ceil(delays.length * 0.9) - 1] ?? 0, 0);
    const found = group.filter(isVoided).flatMap((voided): Plain[] => {
      const living = group.filter((other) => !isVoided(other) && other.currency === voided.currency);
      const days = Array.from(
        { length: dayOf(voided.end) - dayOf(voided.start) + 1 },
        (_, at) => dayOf(voided.start) + at,
      ).filter((day) => !living.some(({ start, end }) => dayOf(start) <= day && day <= dayOf(end)));
      if (days.length === 0) return [];
      return [
        {
          ...{
            kind: 'voided',
            ...common,
            expected_from: textOf(Math.min(...days)),
            expected_to: textOf(Math.max(...days)),
          },
          ...{ missing: 1, after_invoice: voided.number, before_invoice: null, usual_step: null },
        },
      ];
    });
    if (beats.length < 3) return found;
    for (const [at, beat] of beats.entries()) {
      const next = beats[at + 1];
      const open = Math.max(...beats.slice(0, at + 1).map(({ end }) => end)) + 1;
      if (next === undefined) {
        // Those whose end, the usual delay and two days have passed.
        const late = Math.floor((TODAY - usualDelay - 2 - beat.start) / middle) - 1;
        if (late < 1) continue;
        found.push({
          ...{ kind: 'overdue', ...common, expected_from: textOf(open) },
          expected_to: textOf(open + late * middle - 1),
          ...{ missing: late, after_invoice: beat.latest, before_invoice: null, usual_step: middle },
        });
      } else if (2 * (next.start - beat.start) >= 3 * middle && open < next.start) {
        found.push({
          ...{ kind: 'period', ...common, expected_from: textOf(open), expected_to: textOf(next.start - 1) },
          missing: Math.max(Math.round((next.start - beat.start) / middle) - 1, 1),
          ...{ after_invoice: beat.latest, before_invoice: next.earliest, usual_step: middle },
        });
      }
    }
    return found;
  }

  function numbersMissing(prefix: string, of: readonly FixtureInvoice[], common: Plain): Plain[] {
    const counted = of
      .filter(({ number }) => number.startsWith(prefix))
      .map((invoice) => ({ ...invoice, counter: Number(invoice.number.slice(prefix.length)) }))
      .sort((one, other) => one.counter - other.counter);
    const steps = counted.slice(1).map(({ counter }, at) => counter - (counted[at]?.counter ?? 0));
    expect(steps.filter((step) => step === 1).length * 5).toBeGreaterThanOrEqual(steps.length * 4);
    return counted.slice(1).flatMap((next, at): Plain[] => {
      const before = counted[at];
      if (before === undefined || next.counter - before.counter === 1) return [];
      const dates = [before.date, next.date].sort();
      return [
        {
          ...{ kind: 'number', ...common, expected_from: dates[0], expected_to: dates[1] },
          ...{
            missing: next.counter - before.counter - 1,
            after_invoice: before.number,
            before_invoice: next.number,
          },
          usual_step: null,
        },
      ];
    });
  }

  test('gaps', () => {
    const whose = (tenant: string, invoice_level: string | null): Plain => ({ tenant, invoice_level });
    return agreesOfInvoices('gaps', [
      ...grouped(invoices, (invoice) => [invoice.tenant, levelOf(invoice)]).flatMap(([, group]) =>
        gapsOf(group),
      ),
      ...numbersMissing('A-', invoices, whose('Acme', 'tenant')),
      ...numbersMissing('P-', invoices, whose('The partner', 'partner')),
      // Beta and Gamma take numbers in turn: for each alone half of them would be missing.
      ...numbersMissing('S-', invoices, { tenant: null, invoice_level: null }),
    ]);
  });
});
