/** Signals that arrive when a workflow ends: each must be processed, by that run or by the next one. */

import type { Client } from '@temporalio/client';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { type InvoiceRoute, lookUpInvoice, sendInvoiceEvent } from '../../workflows/client/invoice-client.ts';
import type { InvoiceStatus } from '../../workflows/messages.ts';
import { eventually } from '../support/eventually.ts';
import { anEvent, PARTNER_ID } from './invoice-builders.ts';
import type { createScenes } from './invoice-scenes.ts';
import { aWorld, type World } from './scripted-world.ts';

const AROUND_THE_END = 6;
const WAITING_FOR_REPLY = 5;
/** A run ends ten to a few hundred milliseconds after the finalized event. */
const SPREAD_MS = 250;
const AT_ONCE = 40;
const GIVE_UP_AFTER_MS = 60_000;

export async function sendSignalsAroundTheEnd(
  scenes: ReturnType<typeof createScenes>,
  {
    client,
    route,
    workflows,
  }: { readonly client: Client; readonly route: InvoiceRoute; readonly workflows: number },
) {
  const sent: string[] = [];
  let next = 0;

  async function one(number: number): Promise<void> {
    const invoiceId = crypto.randomUUID();
    // Every second invoice is unknown to the service: its first run ends soon after its request.
    const isUnknown = number % 2 === 1;
    const world = isUnknown ? anUnknownWorld() : aWorld();
    scenes.worlds.set(invoiceId, world);
    const events = Array.from({ length: 1 + AROUND_THE_END }, (_, i) => ({
      event: ofInvoice(anEvent(i === 0 ? 'invoice_finalized' : 'invoice_created'), invoiceId),
      afterMs: i === 0 && !isUnknown ? 0 : Math.random() * SPREAD_MS,
    }));
    if (isUnknown) await requestReplies(client, route, invoiceId);
    await Promise.all(
      events.map(async ({ event, afterMs }) => {
        await new Promise((wake) => setTimeout(wake, afterMs));
        // As the forwarder does: a signal without an answer in time may have been accepted.
        await eventually(() => sendInvoiceEvent(client, route, event).then(always, never));
        sent.push(event.eventId);
      }),
    );
  }

  async function sender(): Promise<void> {
    for (; next < workflows; await one(next)) next += 1;
  }

  await Promise.all(Array.from({ length: Math.min(AT_ONCE, workflows) }, sender));
  const seen = await untilProcessed({ client, route }, sent.length);
  const processed = [...seen.values()].reduce((sum, ofRun) => sum + ofRun, 0);
  return { workflows, signals: sent.length, processed, runs: seen.size };
}

type Target = { readonly client: Client; readonly route: InvoiceRoute };

/** Waits until all are processed, or none was for a minute although no task waits for a worker. */
async function untilProcessed(target: Target, sent: number): Promise<ReadonlyMap<string, number>> {
  let [count, since] = [0, Date.now()];
  for (;;) {
    const { seen, waiting } = await seenByRun(target);
    const sum = [...seen.values()].reduce((all, ofRun) => all + ofRun, 0);
    if (sum >= sent) return seen;
    // A run whose task still waits has lost nothing: a busy server may send it minutes later.
    if (sum > count || waiting > 0) [count, since] = [sum, Date.now()];
    if (Date.now() - since > GIVE_UP_AFTER_MS) return seen;
    await new Promise((wake) => setTimeout(wake, 500));
  }
}

/** The number of processed events by run id. Each was sent to one workflow once, so none counts in two runs. */
async function seenByRun({ client, route }: Target) {
  const seen = new Map<string, number>();
  let waiting = 0;
  const query = `TaskQueue = '${route.queues?.billing}'`;
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    const run = client.workflow.getHandle(workflowId, runId);
    const { raw } = await run.describe();
    if (raw.pendingWorkflowTask) waiting += 1;
    // A query of such a run would wait behind its task until its deadline.
    const status = raw.pendingWorkflowTask ? null : await run.query<InvoiceStatus, []>('status');
    seen.set(runId, status?.seen ?? 0);
  }
  return { seen, waiting };
}

function anUnknownWorld(): World {
  return aWorld({
    lookUpInvoice: async () => ({ outcome: 'not-found' }),
    regenerateUrl: async () => ({ outcome: 'not-exported' }),
  });
}

async function requestReplies(client: Client, route: InvoiceRoute, invoiceId: string): Promise<void> {
  const address = { partnerId: PARTNER_ID, invoiceId };
  for (let backfill = 0; backfill < WAITING_FOR_REPLY; backfill += 1) {
    const request = { replyTo: `backfill-${backfill}` };
    await eventually(() => lookUpInvoice(client, route, address, request).then(always, never));
  }
}

const always = (): boolean => true;
const never = (): boolean => false;

function ofInvoice(event: InvoiceEvent, invoiceId: string): InvoiceEvent {
  return { ...event, invoice: { ...event.invoice, invoiceId } };
}
