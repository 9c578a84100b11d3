import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { invoiceWorkflowId } from '../../lib/wire/names.ts';
import { startBackfill } from '../../workflows/client/backfill-client.ts';
import { sendInvoiceEvent } from '../../workflows/client/invoice-client.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { aLocation, anEvent, PARTNER_ID } from './invoice-builders.ts';
import { aWorld, unreachable } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const route = anInvoiceRoute({ overdueAfter: ['1 h'] });
const fixture = openWorkflowFixture(route);
const { scenes } = fixture;

type Answers = Parameters<typeof aWorld>[0];
const STATED = { invoiceTotalAmount: '12.50', totalTransactionCount: 2 };
const found = (status: 'draft' | 'finalized' | 'voided' | null, header = {}): Answers => ({
  lookUpInvoice: async () => ({ outcome: 'found', status, header }),
});
interface Case {
  readonly answers: Answers;
  readonly ledger?: 'loaded' | 'voided' | 'finalized' | 'needs_attention';
}

/** Backfills one invoice. @returns its result, and whether it got a workflow */
async function backfilled({ answers, ledger }: Case) {
  const invoiceId = randomUUID();
  const world = aWorld(answers);
  const loadedSha256 = ledger === 'loaded' ? 'a'.repeat(64) : null;
  if (ledger !== undefined) world.ledger.set(invoiceId, { state: ledger, loadedSha256 });
  scenes.worlds.set(invoiceId, world);
  const request = { partnerId: PARTNER_ID, invoiceIds: [invoiceId] };
  const backfill = await startBackfill(fixture.client, route, request);
  for await (const { state } of backfill.results({ everyMs: 50 }))
    return { state, hasWorkflow: await hasWorkflow(invoiceId), world };
  throw new Error('No result.');
}

async function hasWorkflow(invoiceId: string): Promise<boolean> {
  const workflowId = invoiceWorkflowId({ environment: 'test', partnerId: PARTNER_ID, invoiceId });
  try {
    await fixture.client.workflow.getHandle(workflowId).describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

describe.concurrent('a backfill starts no workflow', () => {
  test('for an invoice that is loaded as the service states it', async () => {
    const { world, ...rest } = await backfilled({ answers: found('finalized', STATED), ledger: 'loaded' });
    expect(rest).toEqual({ state: 'loaded', hasWorkflow: false });
    expect(world.calls).toEqual(['lookUpInvoice']);
  });

  test('for a voided invoice, without a request', async () => {
    const { world, ...rest } = await backfilled({ answers: found('finalized'), ledger: 'voided' });
    expect(rest).toEqual({ state: 'voided', hasWorkflow: false });
    expect(world.calls).toEqual([]);
  });
});

describe.concurrent('a backfill starts a workflow', () => {
  test('for a loaded invoice whose void was not delivered', async () => {
    const { world, ...rest } = await backfilled({ answers: found('voided', STATED), ledger: 'loaded' });
    expect(rest).toEqual({ state: 'voided', hasWorkflow: true });
    expect(world.calls).toContain('voidInvoice');
  });

  test('for a loaded invoice whose total differs from the service, with the newest file', async () => {
    const header = { ...STATED, invoiceTotalAmount: '13.75' };
    const { world, ...rest } = await backfilled({
      answers: {
        ...found('finalized', header),
        regenerateUrl: async () => ({
          outcome: 'location',
          location: aLocation({ fileHashSha256: 'b'.repeat(64) }),
        }),
      },
      ledger: 'loaded',
    });
    expect(rest).toEqual({ state: 'loaded', hasWorkflow: true });
    expect(world.loads.map(({ sha256 }) => sha256)).toEqual(['b'.repeat(64)]);
  });

  test('for every id when the service is unreachable', async () => {
    let tries = 0;
    const { world, ...rest } = await backfilled({
      answers: {
        lookUpInvoice: async () => {
          tries += 1;
          return tries <= 3 ? unreachable() : { outcome: 'found', status: 'finalized', header: {} };
        },
      },
      ledger: 'loaded',
    });
    expect(rest).toEqual({ state: 'loaded', hasWorkflow: true });
    expect(world.calls).not.toContain('downloadCsv');
  });

  test('without disturbing an open workflow', async () => {
    const event = anEvent('invoice_created');
    const { invoiceId } = event.invoice;
    const world = aWorld(found('draft'));
    scenes.worlds.set(invoiceId, world);
    // The repeated signal starts the delayed run of the draft.
    for (const signal of [event, event]) await sendInvoiceEvent(fixture.client, route, signal);
    await eventually(() => world.ledger.get(invoiceId)?.state === 'draft');
    const request = { partnerId: PARTNER_ID, invoiceIds: [invoiceId] };
    const backfill = await startBackfill(fixture.client, route, request);
    for await (const { state } of backfill.results({ everyMs: 50 })) expect(state).toBe('draft');
    await sendInvoiceEvent(fixture.client, route, anEvent('invoice_finalized', { invoiceId }));
    await eventually(() => world.loads.length === 1);
  });
});

test('a cancellation interrupts the requests to the service', async () => {
  let requests = 0;
  const released = Promise.withResolvers<void>();
  const invoiceIds = [randomUUID(), randomUUID()];
  const slow = aWorld({
    lookUpInvoice: async () => {
      requests += 1;
      await released.promise;
      return { outcome: 'not-found' };
    },
    regenerateUrl: async () => ({ outcome: 'not-exported' }),
  });
  for (const invoiceId of invoiceIds) scenes.worlds.set(invoiceId, slow);
  const backfill = await startBackfill(fixture.client, route, { partnerId: PARTNER_ID, invoiceIds });
  await eventually(() => requests === 2);
  await backfill.control('cancel');
  for await (const { state } of backfill.results({ everyMs: 50 })) expect(state).toBe('cancelled');
  released.resolve();
});
