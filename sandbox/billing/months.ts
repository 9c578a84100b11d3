/**
 * Months of invoices as a year of business leaves them, one for each tenant and month, at prices that follow from carrier,
 * service, zone and weight, and with everything planted that an auditor looks for: a price increase, shipments billed
 * twice, costs far off, second charges, credits, late lines, an invoice that was canceled and billed again, one that was
 * canceled and never came back, a month without an invoice, and a last one that is not approved.
 */
import type { Shipment, Tenant } from '../model.js';
import { fixedText } from '../money.js';
import { type Random, randomFrom } from '../randomness.js';
import type { NewInvoice } from './new-invoice.js';

export interface PlannedInvoice {
  readonly invoice: NewInvoice;
  readonly ends: 'draft' | 'approved' | 'canceled';
}

export interface MonthsWanted {
  readonly seed: number;
  /** How many, up to the last complete one. */
  readonly months: number;
  /** Shipments of each invoice, before what is planted. */
  readonly shipments: number;
  readonly now: Date;
  /** null stands for the partner of an enterprise, who has no tenants. */
  readonly tenants: readonly (Tenant | null)[];
}

/** In the order in which the service would have made them. */
export function* planMonths(wanted: MonthsWanted): Generator<PlannedInvoice> {
  const { months, now, tenants } = wanted;
  const before = new Map<number, readonly Line[]>();
  for (let month = 0; month < months; month += 1) {
    const period = periodOf(now, months - month);
    for (const [index, tenant] of tenants.entries()) {
      // A month that was never billed: the third tenant's, in the middle.
      if (index === 2 && months > 2 && month === Math.floor(months / 2)) continue;
      const random = randomFrom(wanted.seed, 'month', period.start, index);
      const lines = linesOf({ ...wanted, month, random, tenant, period, earlier: before.get(index) ?? [] });
      before.set(index, lines);
      const isLast = month === months - 1 && index === tenants.length - 1;
      yield* endings(invoiceOf(tenant, period, lines), { index, month, isLast });
    }
  }
}

type Line = Shipment;

interface Period {
  readonly start: string;
  readonly end: string;
  /** The second day of the next month, when it is billed. */
  readonly invoiced: string;
}

function periodOf(now: Date, monthsAgo: number): Period {
  const day = (month: number, date: number): string =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo + month, date))
      .toISOString()
      .slice(0, 10);
  return { start: day(0, 1), end: day(1, 0), invoiced: day(1, 2) };
}

function invoiceOf(tenant: Tenant | null, period: Period, shipments: readonly Line[]): NewInvoice {
  return {
    ...(tenant === null ? {} : { tenant: tenant.tenantId }),
    shipments,
    set: { invoiceStartDate: period.start, invoiceEndDate: period.end, invoiceDate: period.invoiced },
  };
}

/** Nearly every invoice is approved; the exceptions are what reports on voids and states have to find. */
function* endings(
  invoice: NewInvoice,
  { index, month, isLast }: { readonly index: number; readonly month: number; readonly isLast: boolean },
): Generator<PlannedInvoice> {
  if (isLast) yield { invoice, ends: 'draft' };
  else if (index === 0 && month === 1) {
    yield { invoice, ends: 'canceled' };
    yield {
      invoice: { ...invoice, shipments: repriced(invoice.shipments as readonly Line[]) },
      ends: 'approved',
    };
  } else if (index === 1 && month === 1) yield { invoice, ends: 'canceled' };
  else yield { invoice, ends: 'approved' };
}

/** Billed again with two costs put right. */
function repriced(lines: readonly Line[]): readonly Line[] {
  return lines.map((line, at) => (at < 2 ? { ...line, billingCost: times(line.billingCost, 90) } : line));
}

interface Drawn extends MonthsWanted {
  readonly month: number;
  readonly random: Random;
  readonly tenant: Tenant | null;
  readonly period: Period;
  /** What the same tenant was billed a month ago. */
  readonly earlier: readonly Line[];
}

function linesOf(drawn: Drawn): readonly Line[] {
  const { random, shipments, earlier, period } = drawn;
  const lines = Array.from({ length: shipments }, (_, at) => drawLine(drawn, at));
  const [first, second] = lines;
  const [, , twice, credited] = earlier;
  const planted: Line[] = [];
  if (twice !== undefined) planted.push(twice);
  if (credited !== undefined) planted.push({ ...credited, billingCost: times(credited.billingCost, -100) });
  // A second charge for a package: found heavier when it was weighed.
  if (first !== undefined)
    planted.push({
      ...first,
      billingCost: fixedText(85_000, 2),
      billableWeight: times(first.billableWeight, 300),
    });
  // Far above what its like cost.
  if (second !== undefined) lines[1] = { ...second, billingCost: times(second.billingCost, 600) };
  // A carrier that is late is late once in a while, not with every invoice.
  const lateLines = drawn.month % 3 === 2 ? Math.ceil(shipments / 20) : 0;
  for (let late = 0; late < lateLines; late += 1) {
    const line = drawLine(drawn, shipments + late);
    planted.push({ ...line, shipDate: daysAfter(period.start, -40 - random.below(30)) });
  }
  return [...lines, ...planted];
}

const CARRIERS = ['ups', 'fedex', 'usps', 'ontrac'] as const;
/** Few of each, so that every price has others to be compared with. */
const ZONES = [2, 5, 8] as const;
const POUNDS = [1, 3, 8] as const;
/** Cents to begin with, and for each zone and pound. */
const SERVICES = [
  { name: 'GROUND', base: 620, zone: 85, pound: 42 },
  { name: 'TWO_DAY', base: 1_420, zone: 160, pound: 95 },
  { name: 'NEXT_DAY_AIR', base: 2_790, zone: 310, pound: 180 },
] as const;
const ORIGINS = ['98101', '60607', '30301', '10001', '75201'] as const;

function drawLine(drawn: Drawn, at: number): Line {
  const { random, tenant, period, month, months } = drawn;
  const carrier = random.below(10) < 7 ? CARRIERS[0] : random.pick(CARRIERS);
  const service = SERVICES[random.below(10) < 7 ? 0 : 1 + random.below(2)] ?? SERVICES[0];
  const zone = random.pick(ZONES);
  const pounds = random.pick(POUNDS);
  const cents = service.base + service.zone * zone + service.pound * pounds + 25 * CARRIERS.indexOf(carrier);
  const raised = month >= Math.ceil(months / 2) ? Math.round(cents * 1.059) : cents;
  const shipDate = daysAfter(period.start, random.below(Number(period.end.slice(8))));
  const isMetric = tenant?.weightUnit === 'KG';
  return {
    shipDate,
    origin: random.pick(ORIGINS),
    billingCost: fixedText(raised * 100, 2),
    billableWeight: isMetric ? fixedText(Math.round(pounds * 4_535.9237), 4) : fixedText(pounds * 10_000, 1),
    billableWeightUnit: isMetric ? 'KG' : 'LB',
    trackingNumber: `1Z${period.start.replaceAll('-', '')}${random.below(1_000_000).toFixed(0).padStart(6, '0')}${at.toFixed(0).padStart(5, '0')}`,
    carrier,
    carrierZone: String(zone),
    carrierInvoiceDate: earlierOf(daysAfter(shipDate, 3 + random.below(5)), period.invoiced),
    serviceLevel: service.name,
  };
}

function earlierOf(one: string, other: string): string {
  return one < other ? one : other;
}

function daysAfter(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

/** A decimal text times so many hundredths, to the cent. */
function times(text: string, hundredths: number): string {
  return fixedText(Math.round(Number(text) * hundredths) * 100, 2);
}
