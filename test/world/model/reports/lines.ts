/** Reports of single lines and tracking numbers, and of what is odd in files. */

import {
  type AnswerRow,
  costOf,
  creditsOf,
  exactPounds,
  type Files,
  grouped,
  invoicesOf,
  isCharge,
  listOf,
  month,
  plainOrigin,
  plainZone,
  type Report,
} from '../answer.ts';
import {
  absolute,
  compareText,
  dayNumber,
  decile,
  doubleMedian,
  largest,
  money,
  parsed,
  percent,
  sum,
} from '../exact.ts';
import type { Line } from '../view.ts';
import { ofLine } from './prices.ts';

const byInvoice = (one: Line, other: Line): number =>
  compareText(one.invoice.id, other.invoice.id) || one.row - other.row;
const ofNumber = (line: Line): readonly unknown[] => [line.carrier, line.tracking, line.currency];

/** Charges that no credit cancels, and credits that cancelled nothing: each credit cancels one charge of its amount. */
function unpaired(lines: readonly Line[]): {
  readonly charges: readonly Line[];
  readonly credits: readonly Line[];
} {
  const charges = lines.filter(isCharge).sort(byInvoice);
  const credits: Line[] = [];
  for (const credit of lines.filter(({ cost }) => cost < 0n).sort(byInvoice)) {
    const at = charges.findIndex(({ cost }) => cost === -credit.cost);
    if (at < 0) credits.push(credit);
    else charges.splice(at, 1);
  }
  return { charges, credits };
}

/** Charges of equal amount or equal billed weight are the same charge, also through others; unknown weights are not equal. */
function sameCharges(charges: readonly Line[]): Line[][] {
  let sets = charges.map((line) => [line]);
  const isSame = (one: Line, other: Line): boolean => {
    const weight = exactPounds(one);
    return one.cost === other.cost || (weight !== null && weight === exactPounds(other));
  };
  for (const charge of charges) {
    const near = sets.filter((set) => set.some((line) => isSame(line, charge)));
    sets = [...sets.filter((set) => !near.includes(set)), near.flat()];
  }
  return sets;
}

export const duplicates: Report = ({ loaded, passes }) =>
  grouped(
    loaded.filter(({ cost }) => cost !== 0n),
    ofNumber,
  ).flatMap(({ first, lines }): AnswerRow[] => {
    if (lines.filter(isCharge).length < 2 || !lines.some(passes)) return [];
    const { charges, credits } = unpaired(lines);
    const again =
      sum(sameCharges(charges).map((set) => costOf(set) - largest(set.map(({ cost }) => cost)))) +
      costOf(credits);
    const risk = again > 0n ? again : 0n;
    const credited = creditsOf(lines);
    const dates = lines.map(({ shipDate }) => shipDate).sort();
    return [
      {
        cells: {
          ...{ carrier: first.carrier, tracking_number: first.tracking, currency_code: first.currency },
          scope:
            new Set(lines.map(({ label }) => label)).size > 1
              ? 'across tenants'
              : invoicesOf(lines) > 1
                ? 'across invoices'
                : 'within an invoice',
          kind: risk > 0n ? 'same charge again' : credited < 0n ? 'credit' : 'adjustment',
          same_amount: new Set(charges.map(({ cost }) => cost)).size < charges.length,
          ...{
            lines: lines.length,
            charged: money(costOf(lines.filter(isCharge))),
            credited: money(credited),
            money_at_risk: money(risk),
          },
          ...{ first_ship_date: dates[0] ?? null, last_ship_date: dates.at(-1) ?? null },
          invoice_numbers: listOf(lines.map(({ invoice }) => invoice.number)) || null,
          tenant_names: listOf(lines.map(({ label }) => label)),
        },
        order: [first.currency, -risk, first.carrier, first.tracking],
      },
    ];
  });

/** The sum of the disputes of the number, if the line's tenant was billed for it first; carriers in upper or lower case. */
function disputeOf(line: Line, loaded: readonly Line[], files: Files): bigint | null {
  const isSame = (carrier: string, tracking: string, currency: string): boolean =>
    carrier.toLowerCase() === line.carrier.toLowerCase() &&
    tracking === line.tracking &&
    currency === line.currency;
  const rows = (files.disputes ?? []).filter((row) =>
    isSame(row.carrier ?? '', row.tracking_number ?? '', (row.currency_code ?? '').toUpperCase()),
  );
  const [first] = loaded
    .filter(({ carrier, tracking, currency }) => isSame(carrier, tracking, currency))
    .sort(
      (one, other) =>
        compareText(one.invoiceDate, other.invoiceDate) ||
        compareText(one.carrier, other.carrier) ||
        compareText(one.label, other.label),
    );
  if (rows.length === 0 || first?.label !== line.label || first.carrier !== line.carrier) return null;
  return sum(rows.map(({ amount = '0' }) => parsed(amount)));
}

export const adjustments: Report = ({ loaded, passes }, _, files) =>
  grouped(loaded, (line) => [...ofNumber(line), line.label]).flatMap(({ first, lines }): AnswerRow[] => {
    const credited = creditsOf(lines);
    const disputed = disputeOf(first, loaded, files);
    if ((lines.length < 2 && credited === 0n && disputed === null) || !lines.some(passes)) return [];
    const [charge, ...later] = lines
      .filter(isCharge)
      .sort((one, other) => compareText(one.invoiceDate, other.invoiceDate) || byInvoice(one, other));
    // An empty cell states nothing.
    const differs = (of: (line: Line) => string | null): boolean =>
      later.some(
        (line) => charge !== undefined && of(line) !== null && of(charge) !== null && of(line) !== of(charge),
      );
    const changed = [
      differs((line) => exactPounds(line)?.toString() ?? null) ? 'weight' : '',
      differs(({ zone }) => plainZone(zone)) ? 'zone' : '',
      differs(({ service }) => service) ? 'service' : '',
    ].filter((part) => part !== '');
    const adjusted = costOf(later);
    return [
      {
        cells: {
          ...{
            carrier: first.carrier,
            tracking_number: first.tracking,
            currency_code: first.currency,
            tenant: first.label,
          },
          ...{
            lines: lines.length,
            invoices: invoicesOf(lines),
            first_charge: charge === undefined ? null : money(charge.cost),
          },
          ...{
            adjusted: money(adjusted),
            credited: money(credited),
            changed: changed.length === 0 ? null : changed.join(', '),
          },
          ...{
            disputed: disputed === null ? null : money(disputed),
            outstanding:
              disputed === null ? null : money(disputed + credited > 0n ? disputed + credited : 0n),
            last_invoice_date:
              lines
                .map(({ invoiceDate }) => invoiceDate)
                .sort()
                .at(-1) ?? null,
          },
        },
        order: [first.currency, credited - adjusted, first.carrier, first.tracking, first.label],
      },
    ];
  });

export const lateBilled: Report = ({ lines, loaded }, { days = '60' }) =>
  lines.flatMap((line): AnswerRow[] => {
    const toInvoice = dayNumber(line.invoiceDate) - dayNumber(line.shipDate);
    if (toInvoice <= Number(days)) return [];
    const billed = loaded.filter(
      ({ carrier, tracking }) => carrier === line.carrier && tracking === line.tracking,
    );
    return [
      {
        cells: {
          ...ofLine(line),
          ...{
            carrier: line.carrier,
            tracking_number: line.tracking,
            carrier_invoice_date: line.carrierInvoiceDate,
            invoice_date: line.invoiceDate,
          },
          ...{ days_to_invoice: toInvoice, days_late: toInvoice - Number(days) },
          carrier_days:
            line.carrierInvoiceDate === null
              ? null
              : dayNumber(line.carrierInvoiceDate) - dayNumber(line.shipDate),
          ...{ currency_code: line.currency, billing_cost: money(line.cost), service_level: line.service },
          first_billed_on: billed.map(({ invoiceDate }) => invoiceDate).sort()[0] ?? null,
        },
        order: [line.currency, -absolute(line.cost), line.tracking],
      },
    ];
  });

export const levels: Report = ({ all, passes }) => {
  const numbers = grouped(all.filter(passes), ofNumber).map(({ first, lines }) => ({
    first,
    month: month(lines.map(({ date }) => date).sort()[0] ?? ''),
    tenant: lines.filter(({ invoice }) => invoice.level !== 'partner'),
    partner: lines.filter(({ invoice }) => invoice.level === 'partner'),
  }));
  return [
    ...Map.groupBy(numbers, ({ first, month }) =>
      JSON.stringify([month, first.carrier, first.currency]),
    ).values(),
  ].flatMap((of): AnswerRow[] => {
    const [one] = of;
    if (one === undefined) return [];
    const [tenant, partner] = [
      costOf(of.flatMap(({ tenant }) => tenant)),
      costOf(of.flatMap(({ partner }) => partner)),
    ];
    const count = (isMeant: (number: (typeof numbers)[number]) => boolean): number =>
      of.filter(isMeant).length;
    return [
      {
        cells: {
          ...{ month: one.month, carrier: one.first.carrier, currency_code: one.first.currency },
          tenant_level_numbers: count(({ tenant }) => tenant.length > 0),
          partner_level_numbers: count(({ partner }) => partner.length > 0),
          ...{
            tenant_level_cost: money(tenant),
            partner_level_cost: money(partner),
            difference: money(partner - tenant),
          },
          only_at_tenant_level: count(({ partner }) => partner.length === 0),
          only_at_partner_level: count(({ tenant }) => tenant.length === 0),
          cost_differs: count(
            ({ tenant, partner }) =>
              tenant.length > 0 && partner.length > 0 && costOf(tenant) !== costOf(partner),
          ),
        },
        order: [one.first.currency, one.month, one.first.carrier],
      },
    ];
  });
};

export const billingLag: Report = ({ lines: all }) =>
  grouped(all, ({ carrier, currency }) => [carrier, currency]).map(({ first, lines }) => {
    const days = (of: (line: Line) => number | null): bigint[] =>
      lines.flatMap((line) => {
        const n = of(line);
        return n === null ? [] : [BigInt(n)];
      });
    const between = (from: string | null, to: string | null): number | null =>
      from === null || to === null ? null : dayNumber(to) - dayNumber(from);
    const laps = {
      ship_to_carrier: days((line) => between(line.shipDate, line.carrierInvoiceDate)),
      carrier_to_invoice: days((line) => between(line.carrierInvoiceDate, line.invoiceDate)),
      ship_to_invoice: days((line) => between(line.shipDate, line.invoiceDate)),
    };
    const half = (list: readonly bigint[]): string | null => {
      if (list.length === 0) return null;
      const doubled = doubleMedian(list);
      return `${doubled < 0n ? '-' : ''}${absolute(doubled) / 2n}.${absolute(doubled) % 2n === 0n ? 0 : 5}`;
    };
    return {
      cells: {
        ...{
          carrier: first.carrier,
          currency_code: first.currency,
          shipments: lines.length,
          with_carrier_invoice_date: laps.ship_to_carrier.length,
        },
        ...Object.fromEntries(
          Object.entries(laps).flatMap(([lap, list]) => [
            [`${lap}_median`, half(list)],
            [`${lap}_ninth_decile`, list.length === 0 ? null : Number(decile(list, 9))],
          ]),
        ),
        ship_to_invoice_longest: Number(largest(laps.ship_to_invoice)),
        before_shipping: lines.filter(
          (line) =>
            line.invoiceDate < line.shipDate ||
            (line.carrierInvoiceDate !== null && line.carrierInvoiceDate < line.shipDate),
        ).length,
      },
      order: [first.currency, -lines.length, first.carrier],
    };
  });

const MAX_DAYS = 731;
const isFar = (date: string | null, from: string): boolean =>
  date !== null && Math.abs(dayNumber(date) - dayNumber(from)) > MAX_DAYS;
const isBlank = (text: string): boolean => /^ | $/.test(text);

const isOfAnotherColumn = (text: string, tracking: string): boolean =>
  [...text].length >= 4 && (text === tracking || /\d{8}|^\d{4}-\d{2}-\d{2}$|^-?\d+\.\d{2,4}$/.test(text));

export const dataQuality: Report = ({ lines: all }) => {
  const origins = new Set(all.map(({ origin }) => origin));
  const checks: Readonly<Record<string, (line: Line) => boolean>> = {
    'origin is missing': ({ origin }) => origin === null,
    'billable weight is missing': ({ weight }) => weight === null,
    'billable weight is zero': ({ weight }) => weight === 0n,
    'weight unit is missing': ({ weight, unit }) => weight !== null && unit === null,
    'carrier zone is missing': ({ zone }) => zone === null,
    'carrier zone has an unusual spelling': ({ zone }) => zone !== plainZone(zone),
    'carrier invoice date is missing': ({ carrierInvoiceDate }) => carrierInvoiceDate === null,
    'service level is missing': ({ service }) => service === null,
    'cost is zero': ({ cost }) => cost === 0n,
    'cost is a credit': ({ cost }) => cost < 0n,
    'shipped after it was invoiced': ({ shipDate, invoiceDate }) => shipDate > invoiceDate,
    'carrier billed before it was shipped': ({ shipDate, carrierInvoiceDate: date }) =>
      date !== null && date < shipDate,
    'carrier billed after it was invoiced': ({ invoiceDate, carrierInvoiceDate: date }) =>
      date !== null && date > invoiceDate,
    'ship date is outside the billing period': ({ shipDate, invoice: { start, end } }) =>
      (start !== null && shipDate < start) || (end !== null && shipDate > end),
    "currency differs from the invoice's header": ({ currency, invoice }) =>
      invoice.statedCurrency !== null && currency !== invoice.statedCurrency,
    'tracking number went through a spreadsheet': ({ tracking }) =>
      /^[0-9](\.[0-9]+)?[eE]\+[0-9]+$/.test(tracking),
    'text has blanks at its ends': ({ tracking, carrier, tenant }) =>
      [tracking, carrier, tenant].some(isBlank),
    'origin has lost its leading zero': ({ origin }) =>
      origin !== null && /^[0-9]{3,4}$/.test(origin) && origins.has(origin.padStart(5, '0')),
    'a date is more than two years from the invoice': ({ shipDate, carrierInvoiceDate, invoiceDate }) =>
      isFar(shipDate, invoiceDate) || isFar(carrierInvoiceDate, invoiceDate),
    'a text looks like a value of another column': ({ zone, service, carrier, origin, tracking }) =>
      [zone, service, carrier].some((text) => text !== null && isOfAnotherColumn(text, tracking)) ||
      (origin === tracking && tracking.length >= 4),
    'origin has an unusual spelling': ({ origin }) => origin !== plainOrigin(origin),
  };
  return grouped(all, ({ currency }) => [currency]).flatMap(({ first: { currency }, lines }) =>
    Object.entries(checks).flatMap(([problem, isFound]): AnswerRow[] => {
      const found = lines.filter(isFound).sort(byInvoice);
      const [first] = found;
      if (first === undefined) return [];
      return [
        {
          cells: {
            ...{
              problem,
              currency_code: currency,
              shipments: found.length,
              share_of_shipments: percent(found.length, lines.length),
            },
            ...{
              invoices: invoicesOf(found),
              billing_cost: money(costOf(found)),
              example: first.tracking,
              example_invoice: first.invoice.number,
            },
          },
          order: [currency, -found.length, problem],
        },
      ];
    }),
  );
};
