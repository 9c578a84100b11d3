import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { lookUpInvoice, sendInvoiceEvent } from '../../workflows/client/invoice-client.ts';
import { type InvoiceResult, invoiceEventSignal } from '../../workflows/messages.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { anEvent, PARTNER_ID } from './invoice-builders.ts';
import { aWorld } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const route = anInvoiceRoute();
const fixture = openWorkflowFixture(route);
const { scenes } = fixture;

async function serverFault(): Promise<never> {
  throw ApplicationFailure.create({ type: 'server-fault', message: 'details answered 500.' });
}

describe.concurrent('invoice', () => {
  test('is found by its file when the details are not available', async () => {
    const world = aWorld({ lookUpInvoice: serverFault });
    await scenes.play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_created'));
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.loads[0]?.source).toBe('regenerate');
  });

  test('includes an event that arrives while it ends as unknown', async () => {
    // On a busy machine the event arrives after the last reply: then there are more replies.
    for (const backfills of [20, 100, 500]) {
      const { result, isEventIn } = await announceDuringReplies(backfills);
      expect(result?.state).toBe(isEventIn ? 'loaded' : 'unknown');
      if (isEventIn) return;
    }
    expect.fail('The event arrived after the last of 500 replies.');
  });

  test('is one workflow for every spelling of its id', async () => {
    const world = aWorld();
    const finalized = anEvent('invoice_finalized');
    await scenes.play(
      world,
      async (underTest) => {
        await underTest.send(anEvent('invoice_created'));
        await underTest.until('draft');
        const invoiceId = underTest.invoiceId.toUpperCase();
        await sendInvoiceEvent(fixture.client, route, {
          ...finalized,
          invoice: { ...finalized.invoice, invoiceId },
        });
        expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      },
      { overdueAfter: ['1 h'] },
    );
    expect(world.calls).not.toContain('lookUpInvoice');
  });
});

/** Announces an invoice while its run sends each backfill the reply that the service does not know it, one after the other. */
async function announceDuringReplies(backfills: number) {
  const allRequested = Promise.withResolvers<void>();
  const world = aWorld({
    lookUpInvoice: () => allRequested.promise.then(() => ({ outcome: 'not-found' })),
    regenerateUrl: async () => ({ outcome: 'not-exported' }),
  });
  let result: InvoiceResult | undefined;
  let isEventIn: boolean | undefined;
  await scenes.play(world, async (underTest) => {
    const address = { partnerId: PARTNER_ID, invoiceId: underTest.invoiceId };
    for (let backfill = 0; backfill < backfills; backfill += 1)
      await lookUpInvoice(fixture.client, route, address, { replyTo: `backfill-${backfill}` });
    allRequested.resolve();
    const isReplying = async () => {
      const { events } = await underTest.handle().fetchHistory();
      return events?.some((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes);
    };
    await eventually(isReplying);
    const { runId } = await underTest.handle().describe();
    await underTest.send(anEvent('invoice_finalized'));
    const run = fixture.client.workflow.getHandle(underTest.handle().workflowId, runId);
    result = await run.result();
    const { events } = await run.fetchHistory();
    const signals = events?.map((event) => event.workflowExecutionSignaledEventAttributes?.signalName);
    isEventIn = signals?.includes(invoiceEventSignal.name);
  });
  return { result, isEventIn };
}
