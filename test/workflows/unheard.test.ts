/** What an invoice does when events say too little: it is found whatever part of the service is broken, under one id. */

import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { invoiceWorkflowId } from '../../lib/wire/names.ts';
import { lookUpInvoice, sendInvoiceEvent } from '../../workflows/client/invoice-client.ts';
import { type InvoiceResult, invoiceEventSignal } from '../../workflows/messages.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute } from '../support/temporal/quick-route.ts';
import { anEvent, PARTNER_ID } from './invoice-builders.ts';
import { aWorld, unreachable } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const route = anInvoiceRoute();
const fixture = openWorkflowFixture(route);
const { scenes } = fixture;

async function serverFault(): Promise<never> {
  throw ApplicationFailure.create({ type: 'server-fault', message: 'details answered 500.' });
}

describe.concurrent('invoice', () => {
  test('is found by its file although the details cannot be had', async () => {
    const world = aWorld({ lookUpInvoice: serverFault });
    await scenes.play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_created'));
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.loads[0]?.source).toBe('regenerate');
  });

  test('goes on asking when neither details nor file can be had', async () => {
    const world = aWorld({
      lookUpInvoice: serverFault,
      regenerateUrl: async () => ({ outcome: 'not-exported' }),
    });
    await scenes.play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_created'));
      await eventually(async () => (await underTest.status()).lastFailure?.code === 'server-fault');
      expect((await underTest.status()).state).toBe('draft');
    });
  });

  test('takes in an event that arrives while it says that the service knows no such invoice', async () => {
    // On a busy machine the event comes when few are told already: then more are.
    for (const backfills of [20, 100, 500]) {
      const { told, isEventIn } = await announceWhileTelling(backfills);
      expect(told?.state).toBe(isEventIn ? 'loaded' : 'unknown');
      if (isEventIn) return;
    }
    expect.fail('The event came after the last of 500 answers.');
  });

  test('does not ask for a file while the service is away', async () => {
    const world = aWorld({ lookUpInvoice: unreachable });
    await scenes.play(world, async (underTest) => {
      await underTest.send(anEvent('invoice_created'));
      await eventually(async () => (await underTest.status()).lastFailure?.code === 'unreachable');
    });
    expect(world.calls).not.toContain('regenerateUrl');
  });

  test('is one workflow, however its id is spelled', async () => {
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

/**
 * Announces an invoice while its run tells so many backfills that the service does not know it: each by a signal of its own, one after
 * the other.
 */
async function announceWhileTelling(backfills: number) {
  let allAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    allAsked = resolve;
  });
  const world = aWorld({
    lookUpInvoice: () => asked.then(() => ({ outcome: 'not-found' })),
    regenerateUrl: async () => ({ outcome: 'not-exported' }),
  });
  let told: InvoiceResult | undefined;
  let isEventIn: boolean | undefined;
  await scenes.play(world, async (underTest) => {
    const address = { partnerId: PARTNER_ID, invoiceId: underTest.invoiceId };
    for (let backfill = 0; backfill < backfills; backfill += 1) {
      const request = { cause: 'backfill', replyTo: `backfill-${backfill}` } as const;
      await lookUpInvoice(fixture.client, route, address, request);
    }
    allAsked();
    const isTelling = async () => {
      const { events } = await underTest.handle().fetchHistory();
      return events?.some((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes);
    };
    await eventually(isTelling);
    const { runId } = await underTest.handle().describe();
    await underTest.send(anEvent('invoice_finalized'));
    const run = fixture.client.workflow.getHandle(underTest.handle().workflowId, runId);
    told = await run.result();
    const { events } = await run.fetchHistory();
    const signals = events?.map((event) => event.workflowExecutionSignaledEventAttributes?.signalName);
    isEventIn = signals?.includes(invoiceEventSignal.name);
  });
  return { told, isEventIn };
}

describe('invoiceWorkflowId', () => {
  test('takes every spelling of a UUID for the same', () => {
    const address = { environment: 'test', partnerId: 'AB', invoiceId: 'CD' } as const;
    expect(invoiceWorkflowId(address)).toBe('invoice/test/ab/cd');
  });
});
