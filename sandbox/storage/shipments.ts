/**
 * Rows are generated one at a time, so that memory does not depend on their number. The texts have commas, quotes, line breaks,
 * leading zeros, other alphabets, and text that a spreadsheet would run as a formula.
 */

import type { Invoice, Shipment } from '../model.ts';
import { fixedText, parseMoney } from '../money.ts';
import { type Random, randomFrom } from '../randomness.ts';

/** `cost` is exact, in ten-thousandths. */
export interface BilledShipment {
  readonly shipment: Shipment;
  readonly cost: bigint;
}

export type InvoiceContent = Pick<
  Invoice,
  | 'startDate'
  | 'endDate'
  | 'invoiceDate'
  | 'weightUnit'
  | 'contentSeed'
  | 'shipmentCount'
  | 'sources'
  | 'lines'
>;

/** Always the same rows in the same order; a partner-level invoice has the rows of the invoices it sums (spec 2.9). */
export function* shipmentsOf(
  invoice: InvoiceContent,
  find: (invoiceId: string) => InvoiceContent,
): Generator<BilledShipment> {
  if (invoice.sources.length > 0) {
    for (const source of invoice.sources) yield* shipmentsOf(find(source), find);
    return;
  }
  if (invoice.lines !== null) {
    for (const shipment of invoice.lines) {
      yield { shipment, cost: parseMoney(shipment.billingCost) };
    }
    return;
  }
  const random = randomFrom('shipments', invoice.contentSeed);
  const days = daysBetween(invoice.startDate, addDays(invoice.endDate, 10));
  const shipDays = days.length - 10;
  for (let index = 0; index < invoice.shipmentCount; index += 1) {
    yield drawShipment({ random, days, shipDays, invoice, index });
  }
}

const CARRIERS = ['ups', 'fedex', 'usps', 'dhl_express', 'ontrac', 'canada_post'] as const;
const AWKWARD_CARRIERS = [
  'Ontrac, Inc.',
  'la poste "suisse"',
  'Österreichische Post',
  '007 couriers',
] as const;
const LEVELS = ['GROUND', 'TWO_DAY', 'NEXT_DAY_AIR', 'Ground Advantage', 'PRIORITY'] as const;
const AWKWARD_SERVICE_LEVELS = [
  'Ground, residential',
  '2nd Day "AM"',
  'Economy\nSaver',
  'Saver\r\n(by end of day)',
  'Économique',
  '特急便',
  '=EXPRESS',
  '+1 day',
  '@work',
  '-SLOW',
] as const;
const ORIGINS = ['98101', '60607', '30301', '10001', '75201'] as const;
const AWKWARD_ORIGINS = ['00501', '07030', 'H0H 0H0', 'SW1A 1AA', '〒060-0001', '1010, Wien'] as const;
const AWKWARD_ZONES = ['02', 'A1', 'Zone 5, remote', '44', '+4', '“7”'] as const;
const PREFIXES = ['1Z999AA1', '94001118', '00340434', 'JD0146'] as const;

interface Draw {
  readonly random: Random;
  readonly days: readonly string[];
  readonly shipDays: number;
  readonly invoice: InvoiceContent;
  readonly index: number;
}

function drawShipment({ random, days, shipDays, invoice, index }: Draw): BilledShipment {
  const awkward = random.below(8) === 0;
  const cost = drawCost(random);
  const hasWeight = random.below(33) !== 0;
  const otherUnit = random.below(5) === 0;
  const day = random.below(shipDays);
  const shipment = {
    shipDate: days[day] ?? invoice.startDate,
    origin: emptyOr(random, 40, () => (awkward ? random.pick(AWKWARD_ORIGINS) : random.pick(ORIGINS))),
    billingCost: cost.text,
    billableWeight: hasWeight ? drawWeight(random) : '',
    billableWeightUnit: hasWeight ? weightUnit(invoice.weightUnit, otherUnit) : '',
    trackingNumber: `${random.pick(PREFIXES)}${digits(random.below(100_000), 5)}${digits(index, 7)}`,
    carrier: awkward && random.below(3) === 0 ? random.pick(AWKWARD_CARRIERS) : random.pick(CARRIERS),
    carrierZone: emptyOr(random, 40, () =>
      awkward ? random.pick(AWKWARD_ZONES) : String(2 + random.below(7)),
    ),
    carrierInvoiceDate: emptyOr(random, 25, () =>
      earlierDate(days[day + 1 + random.below(9)] ?? invoice.endDate, invoice.invoiceDate),
    ),
    serviceLevel: emptyOr(random, 50, () =>
      awkward ? random.pick(AWKWARD_SERVICE_LEVELS) : random.pick(LEVELS),
    ),
  };
  return { shipment, cost: BigInt(cost.tenThousandths) };
}

/** `toFixed` instead of `String`, whose results the engine caches: tens of megabytes for millions of rows. */
function digits(value: number, width: number): string {
  return value.toFixed(0).padStart(width, '0');
}

/** A carrier billed the service before the service billed the partner. */
export function earlierDate(one: string, other: string): string {
  return one < other ? one : other;
}

function drawCost(random: Random): { text: string; tenThousandths: number } {
  const kind = random.below(100);
  if (kind === 0) return { text: '0.00', tenThousandths: 0 };
  if (kind < 13) {
    const tenThousandths = 20_000 + random.below(900_000);
    return { text: fixedText(tenThousandths, 4), tenThousandths };
  }
  const cents = (300 + random.below(8_000)) * (kind < 17 ? -1 : 1);
  return { text: fixedText(cents * 100, 2), tenThousandths: cents * 100 };
}

function drawWeight(random: Random): string {
  const kind = random.below(10);
  if (kind < 6) return fixedText((1 + random.below(700)) * 1_000, 1);
  if (kind < 9) return fixedText((1 + random.below(7_000)) * 100, 2);
  return fixedText(1 + random.below(400_000), 4);
}

function weightUnit(usual: 'LB' | 'KG', other: boolean): 'LB' | 'KG' {
  if (!other) return usual;
  return usual === 'LB' ? 'KG' : 'LB';
}

function emptyOr(random: Random, oneIn: number, draw: () => string): string {
  return random.below(oneIn) === 0 ? '' : draw();
}

function daysBetween(from: string, to: string): string[] {
  const count = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  return Array.from({ length: count }, (_, day) => addDays(from, day));
}

const DAY_MS = 86_400_000;

/** Dates are `YYYY-MM-DD`, in UTC. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}
