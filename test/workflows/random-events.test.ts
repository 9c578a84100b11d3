/** Random events and failures: each invoice ends in the state of its highest event, and its history replays. */

import { Worker } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { createDataConverter } from '../../lib/temporal/codec.ts';
import { createDice } from '../support/dice.ts';
import { anInvoiceRoute } from '../support/temporal/quick-route.ts';
import { TEST_KEYS } from '../support/temporal/temporal.ts';
import { anEvent } from './invoice-builders.ts';
import { aWorld, unreachable } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const { scenes } = openWorkflowFixture(anInvoiceRoute({ attentionAfter: '1 h' }));

async function playSeed(seed: number) {
  const dice = createDice(seed);
  const isVoided = dice.chance(0.4);
  let failures = dice.between(0, 6);
  const world = aWorld({
    downloadCsv: async ({ location }) => {
      failures -= 1;
      if (failures >= 0) return unreachable();
      return { outcome: 'fetched', sha256: location.fileHashSha256, sizeBytes: 9 };
    },
  });
  const events = [anEvent('invoice_created'), anEvent('invoice_finalized')];
  if (isVoided) events.push(anEvent('invoice_voided'));
  const order = [...events, ...events].sort(() => dice.next() - 0.5);
  let history: unknown;
  const workflowId = await scenes.play(world, async (underTest) => {
    await underTest.send(...order);
    expect(await underTest.result()).toMatchObject({ state: isVoided ? 'voided' : 'loaded' });
    history = await underTest.handle().fetchHistory();
  });
  return { workflowId, history };
}

test('random events and failures end in the state of the highest event, and each history replays', async () => {
  const histories = await Promise.all(Array.from({ length: 20 }, (_, seed) => playSeed(seed)));
  const options = {
    workflowBundle: { codePath: inject('workflowBundlePath') },
    dataConverter: createDataConverter(TEST_KEYS, { unencrypted: 'replace' }),
  };
  const differing: unknown[] = [];
  let replayed = 0;
  for await (const { error } of Worker.runReplayHistories(options, histories)) {
    replayed += 1;
    if (error !== undefined) differing.push(error);
  }
  expect(differing).toEqual([]);
  expect(replayed).toBe(histories.length);
});
