/** The set-up that chaos programs share: a foreign service, the product on a folder of its own, and the verdict at the end. */

import type { ForeignRow } from '../support/foreign-billing.ts';
import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { checkInvariants, type Truth, type Violation } from '../support/invariants.ts';
import { createProduct, type Product, type ProductOptions } from '../support/processes/product.ts';
import { addTo, differences, exact, type Sum } from '../support/published-data.ts';
import { deliver } from '../webhook/a-delivery.ts';

export interface Rig {
  readonly service: ForeignService;
  readonly product: Product;
  /** Event ids that were answered with 200; filled by `send` and by the programs. */
  readonly acknowledged: string[];
}

export interface Verdict {
  readonly violations: readonly Violation[];
  readonly complaints: readonly string[];
}

export interface RigOptions extends Omit<ProductOptions, 'service'> {
  readonly seed?: number;
}

/** Maximum time without progress until every invoice is settled; a failed delivery is retried after a minute. */
export const SETTLED_WITHIN_MS = 240_000;

/** Runs `work`; the product's folder is kept when it fails or ends with violations. */
export async function withRig<T extends Verdict>(
  { seed, ...options }: RigOptions,
  work: (rig: Rig) => Promise<T>,
): Promise<T> {
  const service = await startForeignService(seed === undefined ? {} : { seed });
  const product = await createProduct({ ...options, service });
  let isSound = false;
  try {
    const result = await work({ service, product, acknowledged: [] });
    isSound = result.violations.length + result.complaints.length === 0;
    return result;
  } finally {
    if (!isSound) process.stderr.write(`The data folder is kept: ${product.dataDir}\n`);
    await product.close({ keep: !isSound });
    await service.close();
  }
}

export async function verdictOf(
  { service, product }: Rig,
  truth: Truth,
  client: Parameters<typeof checkInvariants>[0]['client'] = null,
): Promise<Verdict> {
  const { dataDir, logFolder, password } = product;
  const secrets = [...service.secrets, password];
  const violations = await checkInvariants({ dataDir, logFolder, truth, secrets, client });
  return { violations, complaints: [...service.complaints] };
}

/** The truth of a service that voided nothing. */
export function billedTruth({ service, acknowledged }: Rig): Truth {
  return { billed: service.billedRows(), voided: [], acknowledged };
}

/** Creates and finalizes an invoice at the service. @returns its id and the texts of its two events */
export async function newInvoice(
  { service }: Rig,
  rows: number,
): Promise<{ readonly invoiceId: string; readonly events: readonly string[] }> {
  const from = service.events.length;
  const { invoiceId } = await service.createInvoice({ rows });
  await service.finalize(invoiceId);
  return { invoiceId, events: service.events.slice(from) };
}

export async function send({ product, acknowledged }: Rig, text: string): Promise<number> {
  const reply = await deliver(product.webhookUrl, text).catch(() => null);
  if (reply?.statusCode === 200) acknowledged.push(reply.body.eventId ?? '');
  return reply?.statusCode ?? 0;
}

/** @throws Error when one is not answered with 200 */
export async function sendAll(rig: Rig, events: readonly string[]): Promise<void> {
  for (const text of events) {
    const status = await send(rig, text);
    if (status !== 200) throw new Error(`The endpoint answered ${status}.`);
  }
}

export function describeVerdict({ violations, complaints }: Verdict): readonly string[] {
  return [...violations.map(({ invariant, what }) => `${invariant}: ${what}`), ...complaints];
}

export function expectNone(broken: readonly string[]): void {
  if (broken.length > 0)
    throw new Error(`${broken.length} promises were broken: ${broken.slice(0, 5).join('; ')}`);
}

export function conclude(result: unknown, broken: readonly string[]): void {
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  expectNone(broken);
}

export function printProgress(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** @returns empty when `verify` finds nothing */
export async function requestVerify(product: Product): Promise<readonly string[]> {
  const { code, out, err } = await product.command('verify', '--json');
  return code === 0 ? [] : [`verify ended with ${code}: ${out}${err}`];
}

const KEYS = { tenants: 'tenant', carriers: 'carrier', zones: 'carrier_zone' } as const;

/** @returns the differences; empty when the three reports add up to the rows */
export async function compareReports(
  product: Product,
  rows: readonly ForeignRow[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [report, key] of Object.entries(KEYS)) {
    const expected = new Map<string, Sum>();
    for (const row of rows) {
      const value = key === 'carrier_zone' ? row.zone : row[key];
      addTo(expected, `${value} ${row.currencyCode}`, row.billingCost);
    }
    const options = ['--level', 'all', '--format', 'json', '--timeout', '600'];
    const reported = await jsonOf(product, 'report', report, ...options);
    const sums = new Map(
      reported.map((row): [string, Sum] => [
        `${row[key] ?? ''} ${row.currency_code}`,
        { rows: Number(row.shipments), tenThousandths: exact(String(row.billing_cost)) },
      ]),
    );
    found.push(...differences(expected, sums).map((what) => `report ${report}: ${what}`));
  }
  return found;
}

async function jsonOf(
  product: Product,
  ...args: readonly string[]
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { code, out, err } = await product.command(...args);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`);
  return JSON.parse(out) as Readonly<Record<string, unknown>>[];
}
