import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { invoiceWorkflowId } from '../../../lib/wire/names.ts';
import {
  type BackfillHandle,
  type BackfillOutcome,
  type BackfillRequest,
  followBackfill,
  startBackfill,
} from '../../../workflows/client/backfill-client.ts';
import type { BackfillCounts } from '../../../workflows/messages.ts';
import { aLocation, anEvent, PARTNER_ID } from '../invoice-builders.ts';
import { backfillActivitiesOf, ledgerStatusesOf } from '../scripted-survey.ts';
import { activitiesOf, aWorld, unreachable, type World } from '../scripted-world.ts';
import { lifeIn, ROUTE, simulate } from './invoice-life.ts';
import type { Simulation } from './simulation.ts';

vi.mock('@temporalio/workflow', async (original) => ({
  ...(await original<object>()),
  ...(await import('./simulation.ts')).workflowModule,
}));

type Answers = Parameters<typeof aWorld>[0];

const STATED = { invoiceTotalAmount: '12.50', totalTransactionCount: 2 };
const states = (status: 'draft' | 'finalized' | 'voided', header = {}): Answers => ({
  lookUpInvoice: async () => ({ outcome: 'found', status, header }),
});
const another = aLocation();

interface Kind {
  readonly answers: Answers;
  readonly ledger?: 'loaded' | 'voided' | 'finalized';
  readonly state: keyof BackfillCounts;
  /** Calls of its service and ledger that must be among those of its invoice; none: no workflow is started. */
  readonly works: readonly string[];
}

const KINDS: Readonly<Record<string, Kind>> = {
  finalized: { answers: states('finalized'), state: 'loaded', works: ['loadInvoice'] },
  'known as finalized': {
    answers: states('finalized'),
    ledger: 'finalized',
    state: 'loaded',
    works: ['loadInvoice'],
  },
  voided: { answers: states('voided'), state: 'voided', works: ['voidInvoice'] },
  draft: { answers: states('draft'), state: 'draft', works: ['recordDetails'] },
  rejected: {
    answers: { ...states('finalized'), loadInvoice: async () => ({ outcome: 'rejected', reason: 'line 3' }) },
    ...{ state: 'needs_attention', works: ['markNeedsAttention'] },
  },
  'only a file': {
    answers: { lookUpInvoice: async () => ({ outcome: 'not-found' }) },
    ...{ state: 'loaded', works: ['loadInvoice'] },
  },
  unknown: {
    answers: {
      lookUpInvoice: async () => ({ outcome: 'not-found' }),
      regenerateUrl: async () => ({ outcome: 'not-exported' }),
    },
    ...{ state: 'unknown', works: [] },
  },
  'loaded as stated': { answers: states('finalized', STATED), ledger: 'loaded', state: 'loaded', works: [] },
  'void in the ledger': { answers: states('voided'), ledger: 'voided', state: 'voided', works: [] },
  'void not delivered': {
    answers: states('voided', STATED),
    ledger: 'loaded',
    state: 'voided',
    works: ['voidInvoice'],
  },
  'another total': {
    answers: {
      ...states('finalized', { ...STATED, invoiceTotalAmount: '13.75' }),
      regenerateUrl: async () => ({ outcome: 'location', location: another }),
    },
    ...{ ledger: 'loaded', state: 'loaded', works: ['downloadCsv', 'loadInvoice'] },
  },
  'another number of shipments': {
    answers: { ...states('finalized', { ...STATED, totalTransactionCount: 3 }) },
    ...{ ledger: 'loaded', state: 'loaded', works: ['regenerateUrl'] },
  },
};

interface Drawn {
  readonly kinds: readonly string[];
  readonly concurrency: number;
  readonly batchSize: number;
  readonly continueAfter: number;
  readonly isSurveyAway: boolean;
  readonly controls: readonly ('pause' | 'resume' | 'cancel' | 'lose batch')[];
}

/** Each answer of the service takes a second, so that requests arrive in the middle. */
function installation(drawn: Pick<Drawn, 'kinds' | 'continueAfter' | 'isSurveyAway'>) {
  const worlds = new Map<string, World>();
  const worldOf = (invoiceId: string) => worlds.get(invoiceId.toLowerCase()) as World;
  const survey = backfillActivitiesOf(worldOf);
  const simulation: Simulation = simulate({
    ...activitiesOf(worldOf),
    ...survey,
    ...ledgerStatusesOf(worldOf),
    ...(drawn.isSurveyAway ? { surveyInvoices: unreachable } : {}),
  });
  simulation.continueAfter = drawn.continueAfter;
  const ids = drawn.kinds.map((name) => {
    const invoiceId = randomUUID();
    const { answers, ledger } = KINDS[name] as Kind;
    const world = aWorld(answers);
    const { lookUpInvoice } = world.activities;
    world.activities.lookUpInvoice = async (request) => {
      await simulation.take('1 s');
      return lookUpInvoice(request);
    };
    const loadedSha256 = ledger === 'loaded' ? 'a'.repeat(64) : null;
    if (ledger !== undefined) world.ledger.set(invoiceId, { state: ledger, loadedSha256 });
    worlds.set(invoiceId, world);
    return invoiceId;
  });
  const hasWorkflow = (invoiceId: string) => {
    const workflowId = invoiceWorkflowId({ environment: 'test', partnerId: PARTNER_ID, invoiceId });
    return simulation.runsOf('invoice').some((run) => run.workflowId === workflowId);
  };
  const start = (request: Partial<BackfillRequest>) =>
    startBackfill(simulation.client, ROUTE, { partnerId: PARTNER_ID, invoiceIds: ids, ...request });
  return { simulation, ids, worldOf, hasWorkflow, start };
}

async function outcomesOf(backfill: BackfillHandle): Promise<readonly BackfillOutcome[]> {
  const outcomes: BackfillOutcome[] = [];
  for await (const outcome of backfill.results({ everyMs: 1 })) outcomes.push(outcome);
  return outcomes;
}

/** All ids have the results of their kinds, once each; after a cancellation they may be cancelled. */
async function check(drawn: Drawn): Promise<Simulation> {
  const { simulation, ids, worldOf, hasWorkflow, start } = installation(drawn);
  const { concurrency, batchSize, controls } = drawn;
  const backfill = await start({ invoiceIds: [...ids, ...ids.slice(0, 1)], concurrency, batchSize });
  let most = 0;
  const isOver = async () => {
    const { inProgress, isOver: over } = await backfill.status();
    most = Math.max(most, inProgress);
    return over;
  };
  for (const control of controls) {
    await simulation.pass('1500 ms');
    if (await isOver()) break;
    const batchId = `backfill/test/${backfill.backfillId}/1`;
    if (control === 'lose batch') {
      const lost = simulation.client.workflow.getHandle(batchId).terminate();
      await lost.catch(() => undefined);
      simulation.forget(batchId);
    } else await backfill.control(control);
  }
  if (!(await isOver())) await backfill.control('resume');
  await simulation.until(isOver);
  const isDisturbed = controls.includes('cancel') || controls.includes('lose batch');
  const outcomes = await outcomesOf(backfill);
  const states = new Map(outcomes.map(({ invoiceId, state }) => [invoiceId, state]));
  expect(states.size).toBe(outcomes.length);
  for (const [index, invoiceId] of ids.entries()) {
    const { state, works } = KINDS[drawn.kinds[index] ?? ''] as Kind;
    const found = states.get(invoiceId);
    if (isDisturbed && (found === 'cancelled' || found === undefined || found === 'pending')) continue;
    expect([drawn.kinds[index], found]).toEqual([drawn.kinds[index], state]);
    expect(worldOf(invoiceId).calls).toEqual(expect.arrayContaining([...works]));
    if (!drawn.isSurveyAway) expect(hasWorkflow(invoiceId)).toBe(works.length > 0);
  }
  const status = await backfill.status();
  expect(status).toMatchObject({ total: ids.length, done: ids.length, isComplete: true, inProgress: 0 });
  if (!isDisturbed) {
    expect(status.counts).toMatchObject({ cancelled: 0, pending: 0 });
    for (const [state, count] of Object.entries(status.counts))
      expect(outcomes.filter((outcome) => outcome.state === state)).toHaveLength(count);
  }
  expect(most).toBeLessThanOrEqual(concurrency);
  return simulation;
}

const kind = fc.constantFrom(...Object.keys(KINDS));
const drawn: fc.Arbitrary<Drawn> = fc.record({
  kinds: fc.array(kind, { minLength: 1, maxLength: 24 }),
  concurrency: fc.integer({ min: 1, max: 6 }),
  batchSize: fc.integer({ min: 1, max: 12 }),
  continueAfter: fc.constantFrom(3, 10, Number.POSITIVE_INFINITY),
  isSurveyAway: fc.constantFrom(false, false, true),
  controls: fc.array(fc.constantFrom('pause', 'resume', 'cancel', 'lose batch'), { maxLength: 3 }),
});

describe('a backfill', () => {
  test('reports each id once, with what became of it, for any ids, sizes and requests', async () => {
    await fc.assert(
      fc.asyncProperty(drawn, async (each) => void (await check(each))),
      { numRuns: 60 },
    );
  });

  test('looks at each of many ids in every slice, and continues as a new run in time', async () => {
    const names = Object.keys(KINDS).filter((name) => KINDS[name]?.works.length === 0);
    const kinds = Array.from({ length: 600 }, (_, n) =>
      n % 100 === 99 ? 'finalized' : (names[n % 3] ?? ''),
    );
    const rest = { concurrency: 20, batchSize: 1_000, continueAfter: 5, isSurveyAway: false, controls: [] };
    const simulation = await check({ kinds, ...rest });
    // The server suggests it after five here, in the middle of a slice.
    expect(simulation.mostCommands).toBeLessThan(10);
  });

  test('does not disturb an open workflow, and knows its id in another spelling', async () => {
    const { simulation, ids, worldOf, start } = installation({
      ...{ kinds: ['draft'], continueAfter: Number.POSITIVE_INFINITY, isSurveyAway: false },
    });
    const [invoiceId = ''] = ids;
    const life = lifeIn(simulation, {}, invoiceId);
    await life.send(anEvent('invoice_created'));
    await simulation.pass('1 min');
    const backfill = await start({ invoiceIds: [invoiceId.toUpperCase()] });
    await simulation.until(async () => (await backfill.status()).isOver);
    expect(await outcomesOf(backfill)).toMatchObject([{ state: 'draft' }]);
    await life.send(anEvent('invoice_finalized'));
    expect(await life.result()).toMatchObject({ state: 'loaded' });
    expect(worldOf(invoiceId).loads).toHaveLength(1);
  });

  test('counts an invoice without a reply for an hour as pending', async () => {
    const { simulation, ids, worldOf, start } = installation({
      ...{ kinds: ['finalized', 'draft'], continueAfter: Number.POSITIVE_INFINITY, isSurveyAway: false },
    });
    worldOf(ids[0] ?? '').activities.downloadCsv = async () => {
      await simulation.take('3 h');
      return { outcome: 'url-refused', message: '' };
    };
    const backfill = await start({});
    await simulation.until(async () => (await backfill.status()).isOver, '62 min');
    expect((await backfill.status()).counts).toMatchObject({ pending: 1, draft: 1 });
  });
});

describe('a backfill whose client is gone', () => {
  const request = { batchSize: 2, quietAfter: '10 min' } as const;
  async function startHalf() {
    let started = '';
    const all = installation({
      ...{
        kinds: Array<string>(4).fill('finalized'),
        continueAfter: Number.POSITIVE_INFINITY,
        isSurveyAway: false,
      },
    });
    const onSent = (_: number, backfillId: string) => {
      started = backfillId;
      throw new Error('killed');
    };
    await expect(all.start({ ...request, onSent })).rejects.toThrow('killed');
    return { ...all, backfill: followBackfill(all.simulation.client, ROUTE, started) };
  }

  test('finishes its ids, then ends as incomplete', async () => {
    const { simulation, backfill } = await startHalf();
    await simulation.until(async () => (await backfill.status()).isOver, '11 min');
    expect(await backfill.status()).toMatchObject({ total: 2, done: 2, isOver: true, isComplete: false });
    expect((await outcomesOf(backfill)).map(({ state }) => state)).toEqual(['loaded', 'loaded']);
  });

  test('ends at once when it is cancelled', async () => {
    const { simulation, backfill } = await startHalf();
    await simulation.pass('1 min');
    await backfill.control('cancel');
    await simulation.until(async () => (await backfill.status()).isOver, '1 s');
  });

  test('accepts no further ids once it is cancelled', async () => {
    const all = installation({
      ...{
        kinds: Array<string>(8).fill('finalized'),
        continueAfter: Number.POSITIVE_INFINITY,
        isSurveyAway: false,
      },
    });
    let cancelled: Promise<void> | undefined;
    const backfill = await all.start({
      batchSize: 1,
      onSent(_, backfillId) {
        cancelled ??= followBackfill(all.simulation.client, ROUTE, backfillId).control('cancel');
      },
    });
    await cancelled;
    await all.simulation.until(async () => (await backfill.status()).isOver);
    expect(await backfill.status()).toMatchObject({ control: 'cancel', counts: { loaded: 0 } });
    await all.simulation.until(() =>
      all.simulation.runsOf('backfillBatch').every(({ status }) => status === 'COMPLETED'),
    );
  });

  test('leaves no batch waiting when it is terminated', async () => {
    const { simulation, start } = installation({
      ...{
        kinds: Array<string>(3).fill('finalized'),
        continueAfter: Number.POSITIVE_INFINITY,
        isSurveyAway: false,
      },
    });
    const backfill = await start({ batchSize: 1 });
    await backfill.control('pause');
    await simulation.client.workflow.getHandle(`backfill/test/${backfill.backfillId}`).terminate();
    const areOver = () => simulation.runsOf('backfillBatch').every(({ status }) => status === 'COMPLETED');
    await simulation.until(areOver, '21 min');
  });
});
