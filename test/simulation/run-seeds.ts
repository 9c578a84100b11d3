/**
 * Plays many seeds and checks them: each story by the books of its service, each folder of stories by the nine
 * invariants, by the function that every kill test uses.
 */

import { workflowBundle } from '../../worker/workflow-bundle.ts';
import { checkInvariants, type Truth } from '../support/invariants/invariants.ts';
import { forgottenBy, type MutantName, mutated } from './mutants.ts';
import { type Story, simulate } from './simulate.ts';
import { openSimulatedProduct, type SimulatedProduct } from './simulated-product.ts';
import { createWorkflowSandbox } from './workflow-sandbox.ts';

export interface SeedRange {
  readonly from: number;
  readonly count: number;
  /** Breaks the workflows' code, or the rebuild, on purpose. */
  readonly mutant?: MutantName;
  /** Ends with the first seed that fails. */
  readonly isFirstEnough?: boolean;
  readonly onStory?: (story: Story) => void;
}

export interface Verdict {
  readonly seeds: number;
  readonly invoices: number;
  readonly acknowledged: number;
  /** Runs that a worker had to replay, with equal commands. */
  readonly replays: number;
  readonly failures: readonly Failure[];
}

export interface Failure {
  /** null: a folder of many seeds breaks an invariant. */
  readonly seed: number | null;
  readonly wrong: readonly string[];
}

/** Opening and proving a folder costs as much as several seeds; one that grows for ever slows each down. */
const SEEDS_PER_HOUSE = 100;

export async function runSeeds(range: SeedRange): Promise<Verdict> {
  const { codePath } = await workflowBundle(false);
  const { mutant } = range;
  const end = range.from + range.count;
  const failures: Failure[] = [];
  let [seeds, invoices, acknowledged, replays] = [0, 0, 0, 0];
  const isOver = (): boolean => range.isFirstEnough === true && failures.length > 0;
  for (let from = range.from; from < end && !isOver(); from += SEEDS_PER_HOUSE) {
    const product = await openSimulatedProduct(forgottenBy(mutant));
    const activityNames = Object.keys(product.activities());
    const mutate = (code: string): string => (mutant === undefined ? code : mutated(code, mutant));
    const sandbox = await createWorkflowSandbox({ codePath, activityNames, mutate });
    const truths: Truth[] = [];
    try {
      for (let seed = from; seed < Math.min(from + SEEDS_PER_HOUSE, end) && !isOver(); seed += 1) {
        const story = await play(seed, { product, sandbox });
        range.onStory?.(story);
        seeds += 1;
        invoices += new Set(story.truth.billed.map(({ invoiceId }) => invoiceId)).size;
        acknowledged += story.truth.acknowledged.length;
        replays += story.replays;
        truths.push(story.truth);
        if (story.wrong.length > 0) failures.push({ seed, wrong: story.wrong });
      }
      // A story that went wrong breaks the folder's sums, too; that says nothing new.
      if (failures.length === 0) failures.push(...(await check(product, truths)));
    } finally {
      await sandbox.close();
      await product.close();
    }
  }
  return { seeds, invoices, acknowledged, replays, failures };
}

/** Code that cannot go on, as a workflow that throws or answers differently when replayed, is a failure of its seed. */
async function play(seed: number, underTest: Parameters<typeof simulate>[1]): Promise<Story> {
  try {
    return await simulate(seed, underTest);
  } catch (error) {
    const truth = { billed: [], voided: [], acknowledged: [] };
    const wrong = [error instanceof Error ? `${error.name}: ${error.message}` : String(error)];
    return { seed, wrong, truth, told: [], replays: 0 };
  } finally {
    await underTest.sandbox.evictAll();
  }
}

async function check(product: SimulatedProduct, truths: readonly Truth[]): Promise<readonly Failure[]> {
  await product.warehouse().publish();
  const truth: Truth = {
    billed: truths.flatMap(({ billed }) => billed),
    voided: truths.flatMap(({ voided }) => voided),
    acknowledged: truths.flatMap(({ acknowledged }) => acknowledged),
  };
  const { dataDir } = product;
  const secrets = ['signature='];
  const violations = await checkInvariants({ dataDir, truth, client: null, secrets });
  if (violations.length === 0) return [];
  return [{ seed: null, wrong: violations.map(({ invariant, what }) => `${invariant} ${what}`) }];
}
