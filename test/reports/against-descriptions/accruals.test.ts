import { expect, test } from 'vitest';
import { createRandom } from '../../support/random.ts';
import { anInvoice, aShipment, decimalText as D, roundedQuotient } from '../../support/reports-fixture.ts';
import { oracleOver, type Plain, T } from './description-oracle.ts';
import { grouped, hundredthsText } from './plain-arithmetic.ts';

/** Months since the year 0. */
const monthOf = (day: string): number => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7)) - 1;
const textOf = (month: number): string =>
  `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}`;

const lastDay = (month: number): string =>
  new Date(Date.UTC(Math.floor(month / 12), (month % 12) + 1, 0)).toISOString().slice(0, 10);

const FIRST = monthOf('2025-10-01');
/** The month that still runs when this is published. */
const OPEN = monthOf('2026-07-01');

function lateInvoices(seed: number) {
  const random = createRandom(seed);
  const below = (limit: number): number => random.between(0, limit - 1);
  const lines = Array.from({ length: 700 }, () => {
    const ship = FIRST + below(OPEN - FIRST);
    // Most of a month is billed in it, the rest within three more; what is billed later than now is not there yet.
    const billed = ship + ([0, 0, 0, 1, 1, 2, 3][below(7)] ?? 0);
    const cents = 100 + below(90_000);
    return aShipment({
      tenant: below(3) === 0 ? 'Beta' : 'Acme',
      carrier: below(3) === 0 ? 'fedex' : 'ups',
      currency: below(9) === 0 ? 'EUR' : 'USD',
      shipDate: `${textOf(ship)}-1${below(9)}`,
      invoiceDate: `${textOf(billed)}-28`,
      cost: `${below(15) === 0 ? '-' : ''}${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}${below(100)}`,
    });
  }).filter(({ invoiceDate }) => monthOf(invoiceDate) < OPEN);
  return grouped(lines, ({ tenant, invoiceDate }) => [tenant, invoiceDate]).map(([[tenant, date], of]) =>
    anInvoice(of, { tenant: String(tenant), date: String(date), loadedAt: `${String(date)}T12:00:00Z` }),
  );
}

const counted = lateInvoices(3);
const voided = lateInvoices(4)
  .slice(0, 3)
  .map((invoice) => ({ ...invoice, state: 'voided' as const, voidedAt: '2026-07-10T00:00:00Z' }));
const invoices = [...counted, ...voided];
const lines = counted.flatMap(({ shipments }) => shipments);
const { agreesOfInvoices } = oracleOver(invoices, { publishedAt: '2026-07-15T08:00:00Z' });

type Fraction = readonly [numerator: bigint, denominator: bigint];

/** In whole fractions. @param open the month after the one that is closed */
function estimates(completeAfter: number, minMonths: number, open = OPEN) {
  return grouped(lines, ({ tenant, carrier, currency }) => [tenant, carrier, currency]).flatMap(
    ([[tenant, carrier, currency], all]) => {
      const of = all.filter((line) => monthOf(line.invoiceDate) < open && monthOf(line.shipDate) < open);
      const billedBy = (month: number, age: number): bigint =>
        of
          .filter((line) => monthOf(line.shipDate) === month && monthOf(line.invoiceDate) - month <= age)
          .reduce((sum, line) => sum + T(line.cost), 0n);
      const months = [...new Set(of.map(({ shipDate }) => monthOf(shipDate)))];
      const ageOf = (month: number): number => open - month - 1;
      const growth = (age: number) => {
        const pairs = months
          .filter((month) => ageOf(month) > age)
          .map((month): Fraction => [billedBy(month, age + 1), billedBy(month, age)])
          .filter(([after, before]) => before > 0n && after > 0n);
        if (pairs.length < minMonths) return null;
        const sum = (at: 0 | 1): bigint => pairs.reduce((total, pair) => total + pair[at], 0n);
        const bySize = pairs.toSorted(([a, b], [c, d]) => (a * d < c * b ? -1 : 1));
        return { factor: [sum(0), sum(1)] as const, least: bySize[0], greatest: bySize.at(-1) };
      };
      const times = ([a, b]: Fraction, [c, d]: Fraction = [1n, 1n]): Fraction => [a * c, b * d];
      return months.map((month) => {
        const age = ageOf(month);
        const billed = billedBy(month, 99);
        const named = { month, tenant, carrier, currency, age, billed };
        if (age >= completeAfter)
          return { ...named, basis: 'complete', total: billed, low: billed, high: billed };
        const one: Fraction = [1n, 1n];
        let left: Readonly<Record<'factor' | 'least' | 'greatest', Fraction>> | null = {
          ...{ factor: one, least: one, greatest: one },
        };
        for (let step = completeAfter - 1; step >= age && left !== null; step -= 1) {
          const grown = growth(step);
          left = grown && {
            factor: times(left.factor, grown.factor),
            least: times(left.least, grown.least),
            greatest: times(left.greatest, grown.greatest),
          };
        }
        const nothing = { ...named, total: null, low: null, high: null };
        if (left === null) return { ...nothing, basis: 'not enough history' };
        if (billed <= 0n) return { ...nothing, basis: 'nothing billed yet' };
        const estimate = ([numerator, denominator]: Fraction): bigint =>
          [roundedQuotient(billed * numerator, denominator), billed].reduce((a, b) => (a > b ? a : b));
        return {
          ...{ ...named, basis: 'chain ladder', total: estimate(left.factor) },
          ...{ low: estimate(left.least), high: estimate(left.greatest) },
        };
      });
    },
  );
}

const lessBilled = (amount: bigint | null, billed: bigint): string | null =>
  amount === null ? null : D(amount - billed);

// The last two are months that were closed earlier, asked for when later invoices are there.
test.each([
  [3, 3, OPEN],
  [2, 6, OPEN],
  [3, 3, OPEN - 1],
  [2, 2, OPEN - 3],
])(
  'accrual, complete after %d months, with %d months of history, before month %d',
  (after, history, open) => {
    const expected = estimates(after, history, open);
    expect(new Set(expected.map(({ basis }) => basis)).size).toBeGreaterThan(1);
    return agreesOfInvoices(
      'accrual',
      expected.map(({ month, tenant, carrier, currency, age, billed, basis, total, low, high }) => ({
        ...{ ship_month: textOf(month), tenant, carrier, currency_code: currency, age, basis },
        ...{ billing_cost: D(billed), estimated_total: total === null ? null : D(total) },
        ...{ estimated_unbilled: lessBilled(total, billed), unbilled_low: lessBilled(low, billed) },
        unbilled_high: lessBilled(high, billed),
      })),
      {
        parameters: {
          complete_after: String(after),
          min_months: String(history),
          closing: lastDay(open - 1),
        },
      },
    );
  },
);

test('accrual-journal', () =>
  agreesOfInvoices(
    'accrual-journal',
    estimates(3, 3).flatMap(({ month, tenant, carrier, currency, billed, total }): Plain[] => {
      const amount = total === null ? 0n : roundedQuotient(total - billed, 100n);
      if (amount <= 0n) return [];
      const named = { tenant, carrier, currency_code: currency, ship_month: textOf(month) };
      const text = hundredthsText(amount);
      const entry = (day: string, entry: string, account: string, isDebit: boolean): Plain => ({
        ...{ ...named, journal_date: day, entry, account },
        ...{ debit: isDebit ? text : null, credit: isDebit ? null : text },
      });
      return [
        entry('2026-06-30', 'accrual', '5100', true),
        entry('2026-06-30', 'accrual', 'Accrued freight', false),
        entry('2026-07-01', 'reversal', 'Accrued freight', true),
        entry('2026-07-01', 'reversal', '5100', false),
      ];
    }),
    { parameters: { expense_account: '5100' } },
  ));
