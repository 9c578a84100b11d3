/**
 * Endpoint, worker and Temporal as processes of their own (or `up`, all in one), killed -9 at random and started again
 * at once on the same ports and files, while a foreign service delivers. Afterwards reports and books agree to the
 * fourth decimal. `npm run chaos -- processes [invoices] [kills] [seed] [up]` prints the figures.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { startForeignService } from '../support/foreign-service.js';
import { createRandom, createStory, type StoryFigures, settled } from '../support/foreign-story.js';
import { checkInvariants, type Truth, type Violation } from '../support/invariants.js';
import { createProduct, type Product, type Role } from '../support/product.js';
import { withTemporalBeside } from '../support/temporal-beside.js';

export interface ProcessesOptions {
  /** `['up']` for everything in one process. */
  readonly roles: readonly Role[];
  readonly invoices: number;
  readonly kills: number;
  readonly seed: number;
  readonly progress?: (text: string) => void;
}

export interface ProcessesResult extends StoryFigures {
  /** By what was hit. */
  readonly kills: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
  /** What the service had to say against us. */
  readonly complaints: readonly string[];
  /** From the last event or kill to everything being where it belongs. */
  readonly secondsToSettle: number;
  readonly seconds: number;
  /** Of the SIGTERM at the end. */
  readonly exitCodes: readonly (number | null)[];
}

/** A role, or the Temporal server while the role that looks after it lives on. */
type Target = Role | 'temporal-server';

const SETTLED_WITHIN_MS = 300_000;

export async function runProcesses(options: ProcessesOptions): Promise<ProcessesResult> {
  const { roles, invoices, seed } = options;
  const beganMs = Date.now();
  const service = await startForeignService({ seed });
  const product = await createProduct({ service });
  let isSound = false;
  try {
    for (const role of roles) await product.start(role);
    const story = createStory({ service, webhookUrl: product.webhookUrl, invoices, seed, pauseMs: 200 });
    const [, kills] = await Promise.all([story.tell(), killAtRandom(product, options)]);
    options.progress?.(`told: ${JSON.stringify(story.figures())}`);
    const toldMs = Date.now();
    await settled(product.dataDir, story.truth(), SETTLED_WITHIN_MS);
    const secondsToSettle = Math.round((Date.now() - toldMs) / 1_000);
    const { violations, exitCodes } = await endAndInspect(product, roles, story.truth());
    isSound = violations.length === 0;
    return {
      ...story.figures(),
      ...{ kills, violations, complaints: [...service.complaints], secondsToSettle, exitCodes },
      seconds: Math.round((Date.now() - beganMs) / 1_000),
    };
  } finally {
    if (!isSound) process.stderr.write(`Kept for a look: ${product.dataDir}\n`);
    await product.close({ keep: !isSound });
    await service.close();
  }
}

/** One victim at a time, started again at once; a start may be hit before it is ready, too. */
async function killAtRandom(
  product: Product,
  { roles, kills, seed, progress }: ProcessesOptions,
): Promise<Record<string, number>> {
  const random = createRandom(seed + 1);
  const targets: readonly Target[] = [...roles, 'temporal-server'];
  const done: Record<string, number> = {};
  for (let nth = 1; nth <= kills; nth += 1) {
    await sleep(random() * 1_000);
    const target = targets[Math.floor(random() * targets.length)] ?? 'temporal-server';
    const withServer = target === 'temporal' && random() < 0.5;
    done[target] = (done[target] ?? 0) + 1;
    progress?.(`kill ${nth} of ${kills}: ${target}`);
    if (target === 'temporal-server' || withServer) killServer(product);
    if (target === 'temporal-server') continue;
    await product.kill(target);
    if (random() < 0.2) {
      const isUp = product.start(target).catch(() => undefined);
      await sleep(random() * 3_000);
      await product.kill(target);
      await isUp;
    }
    await product.start(target);
  }
  return done;
}

function killServer(product: Product): void {
  const pid = product.temporalPid();
  if (pid === null) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It was gone already, and nobody had started it again yet.
  }
}

/** The worker goes first, then the rest is looked at while Temporal still answers; Temporal goes last. */
async function endAndInspect(
  product: Product,
  roles: readonly Role[],
  truth: Truth,
): Promise<{ violations: readonly Violation[]; exitCodes: readonly (number | null)[] }> {
  const exitCodes: (number | null)[] = [];
  const isApart = roles.includes('temporal');
  for (const role of roles) if (role !== 'temporal') exitCodes.push((await product.stop(role)).code);
  const { dataDir, logFolder } = product;
  const inspect = { dataDir, logFolder, truth };
  const violations = isApart
    ? await withTemporalBeside(dataDir, (client) => checkInvariants({ ...inspect, client }))
    : await checkInvariants({ ...inspect, client: null });
  if (isApart) exitCodes.push((await product.stop('temporal')).code);
  return { violations, exitCodes };
}

export const summary =
  'endpoint, worker and Temporal killed at random while a foreign service delivers [60 30 1 | … up]';

/** @throws Error an invariant was violated, the service complained, or a role did not end in order */
export async function main([
  invoices = '60',
  kills = '30',
  seed = '1',
  how = 'apart',
]: readonly string[]): Promise<void> {
  const result = await runProcesses({
    roles: how === 'up' ? ['up'] : ['temporal', 'webhook', 'worker'],
    invoices: Number(invoices),
    kills: Number(kills),
    seed: Number(seed),
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const broken = result.violations.length + result.complaints.length;
  if (broken > 0) throw new Error(`${broken} promises were broken; see the figures above.`);
  if (result.exitCodes.some((code) => code !== 0)) throw new Error('A role did not end with 0.');
}
