/** Reports that join a file of one's own. */

import {
  type AnswerRow,
  costOf,
  creditsOf,
  exactPounds,
  type Files,
  grouped,
  invoicesOf,
  isCharge,
  month,
  plainZone,
  type Report,
  SIZES,
} from '../answer.ts';
import { compareText, lastDayOf, money, parse, parsed, percent, quotient, sum } from '../exact.ts';
import type { Line } from '../view.ts';

const isAlike = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
type FileRow = Readonly<Record<string, string>>;
const rowsOf = (files: Files, table: string): readonly FileRow[] => files[table] ?? [];
const cell = (row: FileRow, name: string): string => row[name] ?? '';
const amountsOf = (rows: readonly FileRow[], name: string): bigint =>
  sum(rows.map((row) => parsed(cell(row, name))));

export const carrierStatements: Report = ({ lines: all, hasCurrency, filters }, _, files) => {
  const stated = rowsOf(files, 'statements').filter(
    (row) =>
      hasCurrency(cell(row, 'currency_code').toUpperCase()) &&
      (filters.carriers?.some((carrier) => isAlike(carrier, cell(row, 'carrier'))) ?? true),
  );
  const keyOf = (carrier: string, date: string | null, currency: string): string =>
    JSON.stringify([carrier.toLowerCase(), date, currency]);
  const billed = Map.groupBy(all, (line) => keyOf(line.carrier, line.carrierInvoiceDate, line.currency));
  const ofStatement = Map.groupBy(stated, (row) =>
    keyOf(cell(row, 'carrier'), cell(row, 'carrier_invoice_date'), cell(row, 'currency_code').toUpperCase()),
  );
  return [...new Set([...billed.keys(), ...ofStatement.keys()])].map((key) => {
    const [name = '', date = null, currency = ''] = JSON.parse(key) as [string, string | null, string];
    const lines = billed.get(key) ?? [];
    const rows = ofStatement.get(key);
    const amount = rows === undefined ? null : amountsOf(rows, 'amount');
    // As in the lines, else as in the statement; of several spellings the first.
    const ours = all.filter((line) => line.carrier.toLowerCase() === name).map(({ carrier }) => carrier);
    const theirs = stated
      .map((row) => cell(row, 'carrier'))
      .filter((carrier) => carrier.toLowerCase() === name);
    const carrier = (ours.length > 0 ? ours : theirs).sort(compareText)[0] ?? '';
    return {
      cells: {
        ...{ carrier, carrier_invoice_date: date, currency_code: currency, invoices: invoicesOf(lines) },
        // Spellings of one carrier are one here.
        ...{ shipments: lines.length, packages: new Set(lines.map(({ tracking }) => tracking)).size },
        ...{ billing_cost: money(costOf(lines)), credits: money(creditsOf(lines)) },
        stated_amount: amount === null ? null : money(amount),
        difference: amount === null ? null : money(costOf(lines) - amount),
        state:
          lines.length === 0
            ? 'not billed'
            : amount === null
              ? 'not stated'
              : costOf(lines) === amount
                ? 'agrees'
                : 'differs',
      },
      order: [currency, carrier, date],
    };
  });
};

/** In hundred millionths; null when no rate is given. */
export function rateOf(files: Files, from: string, to: string, of: string): bigint | null {
  if (from === to) return 100_000_000n;
  const fitting = rowsOf(files, 'fx').filter(
    (row) =>
      cell(row, 'from_currency') === from &&
      cell(row, 'to_currency') === to &&
      ['', of].includes(cell(row, 'month')),
  );
  const found = fitting.find((row) => cell(row, 'month') !== '') ?? fitting[0];
  return found === undefined ? null : parse(cell(found, 'rate'), 8);
}

export const budget: Report = ({ lines, filters, isFrom, isUntil, isOfTenantName }, _, files) => {
  const inFilters = rowsOf(files, 'budget').filter((row) => {
    const first = `${cell(row, 'month')}-01`;
    const last = lastDayOf(first);
    const [tenant, carrier] = [cell(row, 'tenant'), cell(row, 'carrier')];
    return (
      isFrom(last) &&
      isUntil(first) &&
      (carrier === '' || (filters.carriers?.some((one) => isAlike(one, carrier)) ?? true)) &&
      (tenant === '' || isOfTenantName(tenant))
    );
  });
  const budgets = Map.groupBy(inFilters, (row) =>
    JSON.stringify([
      cell(row, 'month'),
      cell(row, 'tenant').toLowerCase(),
      cell(row, 'carrier').toLowerCase(),
      cell(row, 'currency_code').toUpperCase(),
    ]),
  );
  return [...budgets].map(([key, rows]): AnswerRow => {
    const [of = '', tenant = '', carrier = '', currency = ''] = JSON.parse(key) as string[];
    const spelt = (name: string): string | null =>
      rows
        .map((row) => cell(row, name))
        .filter((text) => text !== '')
        .sort(compareText)[0] ?? null;
    const billed = lines.filter(
      (line) =>
        month(line.date) === of &&
        (tenant === '' || isAlike(line.label, tenant) || line.invoice.tenantId === tenant) &&
        (carrier === '' || isAlike(line.carrier, carrier)),
    );
    const converted = grouped(billed, (line) => [line.currency]).map(({ first, lines }) => ({
      lines,
      rate: rateOf(files, first.currency, currency, of),
    }));
    const exact = sum(converted.map(({ lines, rate }) => costOf(lines) * (rate ?? 0n)));
    const cost = quotient(exact, 100_000_000n);
    const amount = amountsOf(rows, 'amount');
    return {
      cells: {
        ...{
          month: of,
          tenant: spelt('tenant'),
          carrier: spelt('carrier'),
          currency_code: currency,
          shipments: billed.length,
        },
        ...{
          budget: money(amount),
          billing_cost: money(cost),
          variance: money(cost - amount),
          used_percent: percent(cost, amount),
        },
        unconverted: converted
          .filter(({ rate }) => rate === null)
          .reduce((total, { lines }) => total + lines.length, 0),
      },
      order: [
        currency,
        of,
        ...[spelt('tenant'), spelt('carrier')].map((name) => (name === null ? '' : name)),
      ],
    };
  });
};

export const margin: Report = ({ lines: all }, _, files) => {
  const costs = Map.groupBy(rowsOf(files, 'costs'), (row) =>
    numberKey(cell(row, 'carrier'), cell(row, 'tracking_number'), cell(row, 'currency_code').toUpperCase()),
  );
  /** Own cost by tenant and carrier of a number: divided in proportion to what each was billed, the rest to the later ones. */
  const own = new Map<string, bigint>();
  for (const [key, rows] of costs) {
    const bearers = grouped(
      all.filter((line) => numberKey(line.carrier, line.tracking, line.currency) === key),
      (line) => [line.label, line.carrier],
    )
      .sort(
        (one, other) =>
          compareText(one.first.label, other.first.label) ||
          compareText(one.first.carrier, other.first.carrier),
      )
      .map(({ first, lines }) => ({ first, billed: costOf(lines) > 0n ? costOf(lines) : 0n }));
    const [cost, whole] = [amountsOf(rows, 'cost'), sum(bearers.map(({ billed }) => billed))];
    let before = 0n;
    for (const [place, { first, billed }] of bearers.entries()) {
      const share =
        whole === 0n
          ? place === 0
            ? cost
            : 0n
          : quotient(cost * (before + billed), whole) - quotient(cost * before, whole);
      own.set(JSON.stringify([first.label, first.carrier, first.tracking, first.currency]), share);
      before += billed;
    }
  }
  return grouped(all, (line) => [line.label, line.carrier, line.currency]).map(({ first, lines }) => {
    const numbers = grouped(lines, ({ tracking }) => [tracking]).map(({ first, lines }) => ({
      billed: costOf(lines),
      own: own.get(JSON.stringify([first.label, first.carrier, first.tracking, first.currency])) ?? null,
    }));
    const covered = numbers.flatMap(({ billed, own }) => (own === null ? [] : [{ billed, own }]));
    const [billed, cost] = [sum(covered.map(({ billed }) => billed)), sum(covered.map(({ own }) => own))];
    return {
      cells: {
        ...{
          tenant: first.label,
          carrier: first.carrier,
          currency_code: first.currency,
          tracking_numbers: numbers.length,
        },
        ...{
          covered_numbers: covered.length,
          coverage_percent: percent(covered.length, numbers.length),
          billing_cost: money(costOf(lines)),
        },
        ...{ covered_cost: money(billed), own_cost: money(cost), margin: money(billed - cost) },
        margin_percent: covered.length === 0 ? null : percent(billed - cost, billed),
      },
      order: [first.currency, cost - billed, first.label, first.carrier],
    };
  });
};

const numberKey = (carrier: string, tracking: string, currency: string): string =>
  JSON.stringify([carrier.toLowerCase(), tracking, currency]);

export const rateVariance: Report = ({ lines: all }, _, files) => {
  const rates = rowsOf(files, 'rates').map((row) => {
    const bound = (name: string): bigint | null => {
      const text = cell(row, name);
      return text === '' ? null : parsed(text) * (SIZES[cell(row, 'unit').toLowerCase() || 'lb'] ?? 0n);
    };
    const named = ['carrier', 'service_level', 'zone'].filter((name) => cell(row, name) !== '').length;
    const [from, to] = [bound('from_weight'), bound('to_weight')];
    return {
      row,
      from,
      to,
      named: named + (from === null && to === null ? 0 : 1),
      rate: parsed(cell(row, 'rate')),
    };
  });
  const rateOf = (line: Line): bigint | null => {
    const weight = exactPounds(line);
    const fits = rates.filter(({ row, from, to }) => {
      const isSame = (name: string, of: string | null): boolean =>
        cell(row, name) === '' || (of !== null && isAlike(cell(row, name), of));
      const [begins, ends] = [cell(row, 'valid_from'), cell(row, 'valid_to')];
      return (
        cell(row, 'currency_code').toUpperCase() === line.currency &&
        isSame('carrier', line.carrier) &&
        isSame('service_level', line.service) &&
        (cell(row, 'zone') === '' || plainZone(cell(row, 'zone')) === plainZone(line.zone)) &&
        (from === null || (weight !== null && weight > from)) &&
        (to === null || (weight !== null && weight <= to)) &&
        (begins === '' || line.date >= begins) &&
        (ends === '' || line.date < ends)
      );
    });
    // The one that names the most, then the latest, then the lowest.
    const [best] = fits.sort(
      (one, other) =>
        other.named - one.named ||
        compareText(cell(other.row, 'valid_from'), cell(one.row, 'valid_from')) ||
        Number(one.rate - other.rate),
    );
    return best?.rate ?? null;
  };
  return grouped(all.filter(isCharge), (line) => [line.carrier, line.service, line.currency]).map(
    ({ first, lines }) => {
      const rated = lines.flatMap((line) => {
        const rate = rateOf(line);
        return rate === null ? [] : [{ line, rate, over: line.cost - rate }];
      });
      const over = rated.filter((one) => one.over > 0n);
      const variance = sum(rated.map((one) => one.over));
      return {
        cells: {
          ...{
            carrier: first.carrier,
            service_level: first.service,
            currency_code: first.currency,
            shipments: lines.length,
          },
          ...{
            covered_shipments: rated.length,
            coverage_percent: percent(rated.length, lines.length),
            billing_cost: money(costOf(lines)),
          },
          ...{
            covered_cost: money(costOf(rated.map(({ line }) => line))),
            expected_cost: money(sum(rated.map(({ rate }) => rate))),
          },
          ...{
            variance: money(variance),
            overcharged_shipments: over.length,
            overcharged_cost: money(sum(over.map((one) => one.over))),
          },
        },
        order: [first.currency, -variance, first.carrier, first.service],
      };
    },
  );
};
