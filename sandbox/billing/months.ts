/** Plans one invoice for each tenant and month, with the findings of an audit planted in them. */

import type { Shipment, Tenant } from '../model.ts';
import { fixedText } from '../money.ts';
import { type Random, randomFrom } from '../randomness.ts';
import { addDays, earlierDate } from '../storage/shipments.ts';
import type { NewInvoice } from './new-invoice.ts';

export interface PlannedInvoice {
  readonly invoice: NewInvoice;
  readonly ends: 'draft' | 'approved' | 'canceled';
  readonly planted: readonly Planted[];
}

export interface Planted {
  readonly what: Finding;
  /** Rows are counted from 1. */
  readonly rowNumber: number;
  /** Decimal text: the wrong part of the cost; for a credit, the credited amount. */
  readonly amount: string;
}

interface MonthsRequest {
  readonly seed: number;
  readonly months: number;
  /** Shipments of one invoice, without the planted findings. */
  readonly shipments: number;
  readonly now: Date;
  /** The value is `[null]` for an enterprise partner, which has no tenants. */
  readonly tenants: readonly (Tenant | null)[];
}

export function* planMonths(request: MonthsRequest): Generator<PlannedInvoice> {
  const { months, now, tenants, shipments } = request;
  const raisedFrom = periodOf(now, months - Math.ceil(months / 2)).start;
  const before = new Map<number, LeftOver>();
  for (let month = 0; month < months; month += 1) {
    const period = periodOf(now, months - month);
    for (const [index, tenant] of tenants.entries()) {
      const earlier = before.get(index) ?? NOTHING_LEFT;
      before.delete(index);
      // The third tenant was never billed for the middle month, so that the report of gaps finds it.
      if (index === 2 && months > 2 && month === Math.floor(months / 2)) continue;
      const random = randomFrom(request.seed, 'month', period.start, index);
      const { lines, leftOver } = billMonth({
        ...{ random, tenant, period, shipments, raisedFrom, earlier },
        lateLines: month % 3 === 2 ? Math.ceil(shipments / 20) : 0,
        credits: index % 2 === 0 ? 'far above the usual' : 'billed twice',
      });
      const isCanceledForGood = index === 1 && month === 1;
      // Lines of an invoice that was canceled for good are neither billed twice nor credited.
      if (!isCanceledForGood) before.set(index, leftOver);
      const plan = (billed: readonly BilledLine[], ends: PlannedInvoice['ends']): PlannedInvoice => ({
        ...{ invoice: invoiceOf(tenant, period, billed), ends, planted: plantedIn(billed) },
      });
      if (month === months - 1 && index === tenants.length - 1) yield plan(lines, 'draft');
      else if (index === 0 && month === 1) {
        yield plan(lines, 'canceled');
        yield plan(withRaisedPrices(lines), 'approved');
      } else yield plan(lines, isCanceledForGood ? 'canceled' : 'approved');
    }
  }
}

function periodOf(now: Date, monthsAgo: number): Period {
  const day = (month: number, date: number): string =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo + month, date))
      .toISOString()
      .slice(0, 10);
  return { start: day(0, 1), end: day(1, 0), invoiced: day(1, 2) };
}

function invoiceOf(tenant: Tenant | null, period: Period, lines: readonly BilledLine[]): NewInvoice {
  return {
    ...(tenant === null ? {} : { tenant: tenant.tenantId }),
    shipments: lines.map(({ line }) => line),
    set: { invoiceStartDate: period.start, invoiceEndDate: period.end, invoiceDate: period.invoiced },
  };
}

function plantedIn(lines: readonly BilledLine[]): readonly Planted[] {
  return lines.flatMap(({ wrong }, at) =>
    Object.entries(wrong).map(([what, amount]) => ({ what: what as Finding, rowNumber: at + 1, amount })),
  );
}

function withRaisedPrices(lines: readonly BilledLine[]): readonly BilledLine[] {
  return lines.map((billed, at) => {
    const { line, wrong } = billed;
    if (at === 4) return { line: { ...line, billingCost: multiplied(line.billingCost, 90) }, wrong: {} };
    if (at !== 5) return billed;
    const more = multiplied(line.billingCost, 8);
    const billingCost = multiplied(line.billingCost, 108);
    return { line: { ...line, billingCost }, wrong: { ...wrong, 'dearer when billed again': more } };
  });
}

export type Finding =
  | 'raised price'
  | 'billed twice'
  | 'second charge'
  | 'far above the usual'
  | 'far heavier than usual'
  | 'late'
  | 'dearer when billed again'
  | 'credit';

interface BilledLine {
  readonly line: Shipment;
  readonly wrong: Readonly<Partial<Record<Finding, string>>>;
}

interface Period {
  readonly start: string;
  readonly end: string;
  readonly invoiced: string;
}

/** Lines that the tenant's next invoice bills again or credits. */
interface LeftOver {
  readonly twice: BilledLine | null;
  readonly credit: BilledLine | null;
}

const NOTHING_LEFT: LeftOver = { twice: null, credit: null };

interface MonthToBill {
  readonly random: Random;
  readonly tenant: Tenant | null;
  readonly period: Period;
  readonly shipments: number;
  readonly lateLines: number;
  readonly raisedFrom: string;
  readonly earlier: LeftOver;
  readonly credits: 'far above the usual' | 'billed twice';
}

function billMonth(month: MonthToBill): {
  readonly lines: readonly BilledLine[];
  readonly leftOver: LeftOver;
} {
  const { random, shipments, earlier, period } = month;
  const lines = Array.from({ length: shipments }, (_, at) => drawLine(month, at));
  const [first, second, third] = lines;
  const planted: BilledLine[] = [];
  const twice = earlier.twice === null ? null : withFinding(earlier.twice, 'billed twice');
  if (twice !== null) planted.push(twice);
  if (earlier.credit !== null) planted.push(earlier.credit);
  if (first !== undefined) planted.push(withSecondWeight(month, first));
  const bulky = lines[BULKY_AT];
  if (bulky !== undefined) lines[BULKY_AT] = withGreaterWeight(month, bulky);
  const farOff = second === undefined ? null : withSixfoldCost(second);
  if (farOff !== null) lines[1] = farOff;
  for (let late = 0; late < month.lateLines; late += 1) {
    const shipDate = addDays(period.start, -40 - random.below(30));
    planted.push(withFinding(drawLine(month, shipments + late, shipDate), 'late'));
  }
  const credited = month.credits === 'billed twice' ? twice : farOff;
  return {
    lines: [...lines, ...planted],
    leftOver: { twice: third ?? null, credit: credited === null ? null : creditOf(credited, month.credits) },
  };
}

function withSecondWeight(month: MonthToBill, { line }: BilledLine): BilledLine {
  const second = { ...line, billableWeight: multiplied(line.billableWeight, 300) };
  const priced = pricedAt(850, second, month);
  return { ...priced, wrong: { ...priced.wrong, 'second charge': priced.line.billingCost } };
}

function withSixfoldCost({ line, wrong }: BilledLine): BilledLine {
  return {
    line: { ...line, billingCost: multiplied(line.billingCost, 600) },
    wrong: { ...wrong, 'far above the usual': multiplied(line.billingCost, 500) },
  };
}

function withGreaterWeight(month: MonthToBill, { line }: BilledLine): BilledLine {
  const cell = { ...line, carrier: CARRIERS[0], carrierZone: '5', serviceLevel: SERVICES[0].name };
  const [usual, billed] = [8, 24].map((pounds) =>
    pricedAt(centsOf(SERVICES[0], 5, pounds), { ...cell, ...weightOf(pounds, month.tenant) }, month),
  ) as [BilledLine, BilledLine];
  const more = fixedText(
    Math.round((Number(billed.line.billingCost) - Number(usual.line.billingCost)) * 10_000),
    2,
  );
  return { line: billed.line, wrong: { ...billed.wrong, 'far heavier than usual': more } };
}

function withFinding({ line, wrong }: BilledLine, what: Finding): BilledLine {
  return { line, wrong: { ...wrong, [what]: line.billingCost } };
}

function creditOf({ line, wrong }: BilledLine, what: Finding): BilledLine {
  const amount = wrong[what] ?? line.billingCost;
  return { line: { ...line, billingCost: `-${amount}` }, wrong: { credit: amount } };
}

const CARRIERS = ['ups', 'fedex', 'usps', 'ontrac'] as const;
/** There are few zones and weights, so that every price occurs often enough to be compared. */
const ZONES = [2, 5, 8] as const;
const POUNDS = [1, 3, 8] as const;
/** Prices are in cents. */
const SERVICES = [
  { name: 'GROUND', base: 620, zone: 85, pound: 42, min: 1_090 },
  { name: 'TWO_DAY', base: 1_420, zone: 160, pound: 95, min: 0 },
  { name: 'NEXT_DAY_AIR', base: 2_790, zone: 310, pound: 180, min: 0 },
] as const;
const ORIGINS = ['98101', '60607', '30301', '10001', '75201'] as const;
/**
 * Zones of the first lines, all parcels of three pounds by ground: enough of one price to detect an outlier, and enough zones
 * to detect a general price increase.
 */
const USUAL_ZONES = [5, 5, 5, 5, 5, 5, 5, 5, 2, 2, 2, 8, 8, 8] as const;
const BULKY_AT = USUAL_ZONES.length;

/** @param shippedOn the ship date; without one, a day of the period is drawn */
function drawLine(month: MonthToBill, at: number, shippedOn?: string): BilledLine {
  const { random, tenant, period } = month;
  const usual = shippedOn === undefined ? USUAL_ZONES[at] : undefined;
  const drawn = random.below(10) < 7 ? CARRIERS[0] : random.pick(CARRIERS);
  const carrier = usual === undefined ? drawn : CARRIERS[0];
  const service =
    SERVICES[usual !== undefined || random.below(10) < 7 ? 0 : 1 + random.below(2)] ?? SERVICES[0];
  const zone = usual ?? random.pick(ZONES);
  const pounds = usual === undefined ? random.pick(POUNDS) : 3;
  // Lines that are billed twice a month later are not late at the same time.
  const firstDay = at < 3 ? 9 : 0;
  const shipDate =
    shippedOn ?? addDays(period.start, firstDay + random.below(Number(period.end.slice(8)) - firstDay));
  const cents = centsOf(service, zone, pounds) + 25 * CARRIERS.indexOf(carrier);
  return pricedAt(
    cents,
    {
      shipDate,
      origin: random.pick(ORIGINS),
      ...weightOf(pounds, tenant),
      trackingNumber: `1Z${period.start.replaceAll('-', '')}${random.below(1_000_000).toFixed(0).padStart(6, '0')}${at.toFixed(0).padStart(5, '0')}`,
      carrier,
      carrierZone: String(zone),
      carrierInvoiceDate: earlierDate(addDays(shipDate, 3 + random.below(5)), period.invoiced),
      serviceLevel: service.name,
    },
    month,
  );
}

function centsOf(service: (typeof SERVICES)[number], zone: number, pounds: number): number {
  return Math.max(service.base + service.zone * zone + service.pound * pounds, service.min);
}

function weightOf(
  pounds: number,
  tenant: Tenant | null,
): Pick<Shipment, 'billableWeight' | 'billableWeightUnit'> {
  return tenant?.weightUnit === 'KG'
    ? { billableWeight: fixedText(Math.round(pounds * 4_535.9237), 4), billableWeightUnit: 'KG' }
    : { billableWeight: fixedText(pounds * 10_000, 1), billableWeightUnit: 'LB' };
}

/** @param cents the price before the general price increase */
function pricedAt(
  cents: number,
  line: Omit<Shipment, 'billingCost'>,
  { raisedFrom }: MonthToBill,
): BilledLine {
  const raised = line.shipDate < raisedFrom ? cents : Math.round(cents * 1.059);
  return {
    line: { ...line, billingCost: fixedText(raised * 100, 2) },
    wrong: raised === cents ? {} : { 'raised price': fixedText((raised - cents) * 100, 2) },
  };
}

/** The product is rounded to the cent. */
function multiplied(text: string, hundredths: number): string {
  return fixedText(Math.round(Number(text) * hundredths) * 100, 2);
}
