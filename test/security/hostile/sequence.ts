/**
 * A random sequence of hostile inputs at the product as it is published, `up` with everything in it, and what must hold
 * after it: an honest invoice sent next is loaded and published in time, a restart comes up, `verify` and `rebuild` end
 * as they should, and every honest invoice is there to the cent.
 */

import { join } from 'node:path';
import { unsettled } from '../../support/billing-traffic.ts';
import {
  type ForeignInvoice,
  type ForeignQuirk,
  type ForeignRoute,
  startForeignService,
} from '../../support/foreign-service.ts';
import { createProduct, type Product } from '../../support/processes/product.ts';
import { addTo, differences, exact, queryCopy, type Sum } from '../../support/published-data.ts';
import { createRandom } from '../../support/random.ts';
import { basic, deliver } from '../../webhook/a-delivery.ts';
import { DAMAGE_BESIDE_THE_ARCHIVE, DAMAGE_IN_THE_ARCHIVE, DAMAGE_RULES } from './damage.ts';
import { NETWORK_INPUTS } from './inputs.ts';
import type { HostileInput, HostileWorld } from './world.ts';

export interface HostileSequenceOptions {
  readonly seed: number;
  /** How many inputs are drawn for each of the two parts, before the restart and while nothing runs. */
  readonly inputs: number;
  /** Also what damages the archive, after which `verify` ends with 1 and names the damage. */
  readonly isArchiveDamaged: boolean;
  /** For an honest invoice, from its event to the published file. */
  readonly withinMs: number;
  readonly progress?: (text: string) => void;
}

export type HostileSequenceResult = Awaited<ReturnType<typeof playHostileSequence>>;

export async function playHostileSequence(options: HostileSequenceOptions) {
  const { seed, inputs, isArchiveDamaged, withinMs, progress } = options;
  const random = createRandom(seed);
  const service = await startForeignService({ seed });
  const product = await createProduct({ service });
  const [played, broken]: [string[], string[]] = [[], []];
  const honest: ForeignInvoice[] = [];
  const ends: (() => void)[] = [];
  const quirks = new Map<string, Partial<Record<ForeignRoute, ForeignQuirk>>>();
  let slowestHonestMs = 0;
  for (const route of ['details', 'regenerate', 'export', 'storage'] as const) {
    service.play(route, (call) => (quirks.get(call.invoice?.invoiceId ?? '')?.[route] ?? call.respond)(call));
  }
  service.register({ url: product.webhookUrl, headers: { authorization: basic() } });
  const world: HostileWorld = {
    ...{ product, service, random, honest },
    answer: (invoiceId, routes) => void quirks.set(invoiceId, routes),
    later: (end) => void ends.push(end),
    async send(body, headers = {}) {
      // A connection that is cut is an answer too.
      const reply = await deliver(product.webhookUrl, body, { headers }).catch(() => null);
      if (reply !== null && reply.statusCode >= 500) {
        broken.push(`a delivery was answered with ${reply.statusCode}: ${String(body).slice(0, 200)}`);
      }
    },
  };

  async function attack(kinds: readonly HostileInput[], count: number): Promise<void> {
    for (let nth = 0; nth < count; nth += 1) {
      const input = random.pick(kinds);
      played.push(input.name);
      progress?.(input.name);
      await input.play(world);
    }
  }

  async function bill(when: string): Promise<void> {
    const invoice = await service.createInvoice({ tenant: 'Honest', rows: random.between(1, 30) });
    honest.push(invoice);
    const beganMs = Date.now();
    await service.finalize(invoice.invoiceId);
    for (;;) {
      const open = await unsettled(product.dataDir, { billed: honestRows(), voided: [], acknowledged: [] });
      const tookMs = Date.now() - beganMs;
      slowestHonestMs = Math.max(slowestHonestMs, tookMs);
      if (open.length === 0) return progress?.(`${when}: an honest invoice took ${tookMs} ms`);
      if (tookMs > withinMs) return void broken.push(`${when}: ${open.join('; ')} after ${tookMs} ms`);
      await new Promise((wake) => setTimeout(wake, 100));
    }
  }

  const honestRows = () => honest.flatMap(({ rows }) => rows);
  const running = [...NETWORK_INPUTS, ...DAMAGE_BESIDE_THE_ARCHIVE];
  const damage = isArchiveDamaged ? DAMAGE_IN_THE_ARCHIVE : DAMAGE_BESIDE_THE_ARCHIVE;
  try {
    await product.start('up');
    await bill('before all of it');
    if (broken.length > 0) return { seed, played, broken, slowestHonestMs };
    await attack(isArchiveDamaged ? [...running, ...DAMAGE_IN_THE_ARCHIVE] : running, inputs);
    await bill('after hostile inputs');
    if (random.chance(0.5)) await product.kill('up');
    else expectZero(broken, 'SIGTERM', (await product.stop('up')).code);
    await attack(damage, Math.ceil(inputs / 4));
    await product.start('up').catch((error: unknown) => broken.push(`a restart: ${String(error)}`));
    await bill('after a restart');
    for (const end of ends) end();
    expectZero(broken, 'SIGTERM', (await product.stop('up')).code);
    await check(product, { isArchiveDamaged, broken });
    broken.push(...(await differingSums(product, honest)));
  } finally {
    for (const end of ends) end();
    await product.close({ keep: broken.length > 0 });
    if (broken.length > 0) process.stderr.write(`Seed ${seed}, kept for a look: ${product.dataDir}\n`);
    await service.close();
  }
  return { seed, played, broken, slowestHonestMs };
}

/** `verify`, `rebuild` and `verify` again, while nothing runs. */
async function check(
  product: Product,
  { isArchiveDamaged, broken }: { readonly isArchiveDamaged: boolean; readonly broken: string[] },
): Promise<void> {
  for (const command of ['verify', 'rebuild', 'verify'] as const) {
    const more = command === 'rebuild' && isArchiveDamaged ? ['--accept-loss'] : [];
    const { code, out, err } = await product.command(command, ...more, '--json');
    if (code !== 0 && !(isArchiveDamaged && code === 1)) {
      broken.push(`${command} ended with ${code}: ${out.slice(0, 2_000)} ${err.slice(0, 2_000)}`);
      continue;
    }
    const { drift = [] } = JSON.parse(out) as { drift?: readonly { rule: string; found: string }[] };
    for (const { rule, found } of drift) {
      if (!DAMAGE_RULES.has(rule)) broken.push(`${command}: ${rule}: ${found}`);
    }
  }
}

/** Every honest invoice against the published file, to the fourth decimal. */
async function differingSums({ dataDir }: Product, honest: readonly ForeignInvoice[]): Promise<string[]> {
  const expected = new Map<string, Sum>();
  for (const row of honest.flatMap(({ rows }) => rows)) addTo(expected, row.invoiceId, row.billingCost);
  const found = await queryCopy(join(dataDir, 'reports.duckdb'), (query) =>
    query(
      'select invoice_id::varchar as id, count(*) as n, sum(billing_cost) as cost from shipments group by 1',
    ),
  );
  const sums = found
    .filter(({ id }) => expected.has(id ?? ''))
    .map(({ id, n, cost }): [string, Sum] => [
      id ?? '',
      { rows: Number(n), tenThousandths: exact(cost ?? '') },
    ]);
  return [...differences(expected, new Map(sums))];
}

function expectZero(broken: string[], what: string, code: number | null): void {
  if (code !== 0) broken.push(`${what} ended with ${code}`);
}
