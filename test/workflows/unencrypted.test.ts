import { Client, WorkflowFailedError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { invoiceWorkflowId } from '../../lib/wire/names.ts';
import { applySchedule, scheduleId, showSchedule } from '../../workflows/client/schedules.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { foreignEvents } from '../support/temporal.ts';
import { anEvent, PARTNER_ID } from './invoice-builders.ts';
import type { InvoiceUnderTest } from './invoice-scenes.ts';
import { aWorld } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const route = anInvoiceRoute({ overdueAfter: ['1 h'] });
const fixture = openWorkflowFixture(route);
const { scenes } = fixture;

/** Has access to the port and no key. */
function attacker(): Client {
  return new Client({ connection: fixture.temporal.connection });
}

/** Waits for the condition; the run must still be open. */
async function untilOpenRun(underTest: InvoiceUnderTest, condition: () => Promise<boolean>): Promise<void> {
  await eventually(condition);
  expect((await underTest.handle().describe()).status.name).toBe('RUNNING');
}

describe.concurrent('clear text in Temporal', () => {
  test('drops a signal, and accepts the next encrypted one', async () => {
    const world = aWorld();
    await scenes.play(world, async (underTest) => {
      await underTest.begin(anEvent('invoice_created'));
      const forged = attacker().workflow.getHandle(underTest.handle().workflowId);
      const voided = anEvent('invoice_voided');
      await forged.signal('invoiceEvent', {
        ...voided,
        invoice: { ...voided.invoice, invoiceId: underTest.invoiceId },
      });
      for (const name of ['invoiceEvent', 'retry', 'lookUp', 'backfillReply', 'unknown']) {
        await forged.signal(name);
        await forged.signal(name, {});
      }
      // A query is answered after the signals before it.
      await untilOpenRun(underTest, async () => (await underTest.status()).seen === 1);
      await underTest.send(anEvent('invoice_finalized'));
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
    expect(world.calls).not.toContain('voidInvoice');
  });

  test('refuses a start, and the invoice can be started encrypted', async () => {
    const world = aWorld();
    await scenes.play(world, async (underTest) => {
      const { invoiceId } = underTest;
      const input = { environment: 'test', partnerId: PARTNER_ID, invoiceId };
      const workflowId = invoiceWorkflowId({ environment: 'test', partnerId: PARTNER_ID, invoiceId });
      for (const args of [[input], []]) {
        const options = { workflowId, taskQueue: route.queues.billing, args };
        await attacker().workflow.start('invoice', options);
        const failed = await underTest.result().catch((error: unknown) => error);
        expect(failed).toBeInstanceOf(WorkflowFailedError);
        expect((failed as WorkflowFailedError).cause?.stack).toMatch(
          /at refusal .*refuse-unencrypted\.ts:\d+:\d+/,
        );
      }
      expect(world.calls).toEqual([]);
      await underTest.send(anEvent('invoice_finalized'));
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    });
  });

  test('refuses a query and an update, and the run continues', async () => {
    await scenes.play(aWorld(), async (underTest) => {
      await underTest.begin(anEvent('invoice_created'));
      const forged = attacker().workflow.getHandle(underTest.handle().workflowId);
      await expect(forged.query('status', { any: 1 })).rejects.toThrow('Encoded failure');
      await expect(forged.executeUpdate('invoiceEvent', { args: [{}] })).rejects.toThrow();
      await untilOpenRun(underTest, async () => (await underTest.status()).state === 'draft');
    });
  });

  test('counts the result of an activity as a failed attempt', async () => {
    let requests = 0;
    const released = Promise.withResolvers<void>();
    const world = aWorld({
      async lookUpInvoice() {
        requests += 1;
        if (requests === 1) await released.promise;
        return { outcome: 'found', status: 'finalized', header: {} };
      },
    });
    await scenes.play(world, async (underTest) => {
      await underTest.lookUp();
      await eventually(() => requests === 1);
      const { workflowId } = underTest.handle();
      const { raw } = await underTest.handle().describe();
      const [{ activityId = null } = {}] = raw.pendingActivities ?? [];
      await attacker().workflowService.respondActivityTaskCompletedById({
        ...{ namespace: 'default', workflowId, activityId },
        result: {
          payloads: [defaultPayloadConverter.toPayload({ outcome: 'found', status: 'voided', header: {} })],
        },
      });
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      released.resolve();
    });
    expect(world.calls).not.toContain('voidInvoice');
  });

  test('replaces a schedule of the same name', async () => {
    const settings = { environment: 'production', reconcileEvery: '1h' } as const;
    const clear = attacker();
    await clear.schedule.create({
      scheduleId: scheduleId('production'),
      spec: { intervals: [{ every: '1 day' }] },
      action: {
        ...{ type: 'startWorkflow', workflowType: 'reconcile', workflowId: 'forged' },
        ...{ taskQueue: route.queues.warehouse, args: [{ environment: 'production' }] },
      },
      state: { paused: true },
    });
    await applySchedule(fixture.client, settings, route.queues);
    expect(await showSchedule(fixture.client, settings)).toMatchObject({ every: '1h', isPaused: false });
    await clear.schedule.getHandle(scheduleId('production')).delete();
  });
});

test('ignores an encrypted event of another invoice and reports it once', async () => {
  const world = aWorld();
  await scenes.play(world, async (underTest) => {
    await underTest.begin(anEvent('invoice_created'));
    const { workflowId } = underTest.handle();
    // An attacker can copy the ciphertext from the history of another workflow.
    await underTest.handle().signal('invoiceEvent', anEvent('invoice_voided'));
    await eventually(async () => foreignEvents.includes(workflowId));
    await underTest.send(anEvent('invoice_finalized'));
    expect(await underTest.result()).toMatchObject({ state: 'loaded' });
    expect(foreignEvents.filter((id) => id === workflowId)).toHaveLength(1);
  });
  expect(world.calls).not.toContain('voidInvoice');
});
