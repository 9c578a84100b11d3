/** A backfill of very many ids against the embedded Temporal: how fast, and that no history comes near the server's limits. */

import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { pino } from 'pino';
import { startBackfill } from '../../temporal/backfill-client.js';
import { PARTNER_ID } from '../workflows/invoice-builders.js';
import { activitiesOf, aWorld } from '../workflows/scripted-world.js';
import { createTheatre } from '../workflows/theatre.js';
import { startRealWorkers } from './real-workers.js';

export const summary =
  'a backfill of 100,000 ids that the service does not know: rate, memory, length and size of every history (backfill [ids])';

/** Where the server begins to warn; it ends a run at five times as much. */
const MOST_EVENTS = 10_240;
const MOST_BYTES = 10 * 1024 * 1024;
const CONCURRENCY = 50;
const TELL_EVERY = 5_000;

/** Workflows, `startLookUps` and the server are real; what an invoice's workflow asks is answered at once by "unknown". */
export async function main([count = '100000']: readonly string[]): Promise<void> {
  const log = pino({ level: 'error' });
  const { billing, warehouse } = createTheatre();
  const unknown = activitiesOf(() => unknownWorld);
  const workers = await startRealWorkers(log, {
    billing: { ...billing, ...unknown },
    warehouse: { ...warehouse, ...unknown },
  });
  const { client, route } = workers;
  let peakBytes = 0;
  const watch = setInterval(() => {
    peakBytes = Math.max(peakBytes, process.memoryUsage().rss);
  }, 500);
  try {
    const invoiceIds = Array.from({ length: Number(count) }, () => randomUUID());
    const began = performance.now();
    const request = { partnerId: PARTNER_ID, invoiceIds, concurrency: CONCURRENCY };
    const backfill = await startBackfill(client, route, request);
    const told = new Set<string>();
    for await (const { invoiceId, state } of backfill.results()) {
      if (state !== 'unknown') throw new Error(`${invoiceId} is ${state}.`);
      if (told.has(invoiceId)) throw new Error(`${invoiceId} was told twice.`);
      told.add(invoiceId);
      if (told.size % TELL_EVERY === 0) console.log(`${told.size} of ${count}: ${rate(told.size, began)}`);
    }
    if (told.size !== invoiceIds.length) throw new Error(`${told.size} of ${count} were told.`);
    console.log(
      `${told.size} ids, ${CONCURRENCY} at once: ${rate(told.size, began)}, each told once; worker and client ${mib(peakBytes)} MiB at most`,
    );
    await judgeHistories(client, route.queues.billing);
  } finally {
    clearInterval(watch);
    await workers.close();
  }
}

const unknownWorld = aWorld({
  lookUpInvoice: async () => ({ outcome: 'not-found' }),
  regenerateUrl: async () => ({ outcome: 'not-exported' }),
});

/** @throws Error a run's history is where the server warns */
async function judgeHistories(client: Client, queue: string): Promise<void> {
  const tooLarge: string[] = [];
  for (const type of ['backfill', 'backfillBatch', 'invoice']) {
    let [runs, events, bytes] = [0, 0, 0];
    const query = `TaskQueue = '${queue}' and WorkflowType = '${type}'`;
    for await (const run of client.workflow.list({ query })) {
      runs += 1;
      events = Math.max(events, run.historyLength);
      bytes = Math.max(bytes, run.historySize ?? 0);
      if (run.historyLength > MOST_EVENTS || (run.historySize ?? 0) > MOST_BYTES)
        tooLarge.push(run.workflowId);
    }
    console.log(
      `${type}: ${runs} runs, at most ${events} events and ${(bytes / 1024).toFixed(0)} KiB of history`,
    );
  }
  if (tooLarge.length > 0) throw new Error(`Too large: ${tooLarge.slice(0, 5).join(', ')}`);
}

function rate(ids: number, began: number): string {
  const seconds = (performance.now() - began) / 1_000;
  return `${seconds.toFixed(0)} s, ${(ids / seconds).toFixed(1)} a second`;
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(0);
}
