/**
 * Months of invoices as a year of business leaves them, one for each tenant and month, at prices that follow from carrier,
 * service, zone and weight, and with everything planted that an auditor looks for: a price increase, shipments billed
 * twice, costs far off, parcels billed by their size, a minimum charge, second charges, late lines, credits that answer some of these a month later, an invoice that was
 * canceled and billed again, one that was canceled and never came back, a month without an invoice, and a last one that is
 * not approved.
 */
import type { Tenant } from '../model.ts';
import { randomFrom } from '../randomness.ts';
import {
  type BilledLine,
  billMonth,
  type LeftOver,
  NOTHING_LEFT,
  type Period,
  type Plant,
  times,
} from './month-lines.ts';
import type { NewInvoice } from './new-invoice.ts';

export interface PlannedInvoice {
  readonly invoice: NewInvoice;
  readonly ends: 'draft' | 'approved' | 'canceled';
  readonly planted: readonly Planted[];
}

/** A line of an invoice that an auditor is to find; a line may be one for several reasons. */
export interface Planted {
  readonly what: Plant;
  /** Of the invoice's file, from 1. */
  readonly rowNumber: number;
  /** Decimal text: what is wrong of its cost; of a credit, what is given back. */
  readonly amount: string;
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
  const { months, now, tenants, shipments } = wanted;
  const raisedFrom = periodOf(now, months - Math.ceil(months / 2)).start;
  const before = new Map<number, LeftOver>();
  for (let month = 0; month < months; month += 1) {
    const period = periodOf(now, months - month);
    for (const [index, tenant] of tenants.entries()) {
      const earlier = before.get(index) ?? NOTHING_LEFT;
      before.delete(index);
      // A month that was never billed: the third tenant's, in the middle.
      if (index === 2 && months > 2 && month === Math.floor(months / 2)) continue;
      const random = randomFrom(wanted.seed, 'month', period.start, index);
      const { lines, leftOver } = billMonth({
        ...{ random, tenant, period, shipments, raisedFrom, earlier },
        // A carrier that is late is late once in a while, not with every invoice.
        lateLines: month % 3 === 2 ? Math.ceil(shipments / 20) : 0,
        credits: index % 2 === 0 ? 'far above the usual' : 'billed twice',
      });
      const isGone = index === 1 && month === 1;
      // What was not billed in the end is not billed twice, and nothing of it is credited.
      if (!isGone) before.set(index, leftOver);
      const plan = (billed: readonly BilledLine[], ends: PlannedInvoice['ends']): PlannedInvoice => ({
        ...{ invoice: invoiceOf(tenant, period, billed), ends, planted: plantedIn(billed) },
      });
      if (month === months - 1 && index === tenants.length - 1) yield plan(lines, 'draft');
      else if (index === 0 && month === 1) {
        yield plan(lines, 'canceled');
        yield plan(repriced(lines), 'approved');
      } else yield plan(lines, isGone ? 'canceled' : 'approved');
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
    Object.entries(wrong).map(([what, amount]) => ({ what: what as Plant, rowNumber: at + 1, amount })),
  );
}

/** Billed again with one cost put right, and one that became higher. */
function repriced(lines: readonly BilledLine[]): readonly BilledLine[] {
  return lines.map((billed, at) => {
    const { line, wrong } = billed;
    if (at === 4) return { line: { ...line, billingCost: times(line.billingCost, 90) }, wrong: {} };
    if (at !== 5) return billed;
    const more = times(line.billingCost, 8);
    const billingCost = times(line.billingCost, 108);
    return { line: { ...line, billingCost }, wrong: { ...wrong, 'dearer when billed again': more } };
  });
}
