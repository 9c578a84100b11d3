/**
 * A scripted billing service and ledger, for behavior that a real one cannot show on time (a download that hangs until a
 * void, a hash that stays wrong). The whole chain with real parts is tested in test/worker.
 */

import { activityInfo, Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { InvoiceState } from '../../lib/wire/names.ts';
import type { InvoiceActivities } from '../../workflows/activity-options.ts';
import type { InvoiceLedger } from '../../workflows/lifecycle.ts';
import { aLocation } from './invoice-builders.ts';

export type World = ReturnType<typeof aWorld>;

type Answers = Partial<InvoiceActivities>;

/** Every activity succeeds unless `answers` replaces it; `calls` lists their names in order. */
export function aWorld(answers: Answers = {}) {
  const calls: string[] = [];
  const ledger = new Map<string, { state: InvoiceState; loadedSha256: string | null }>();
  const attentions: { code: string; reason: string }[] = [];
  const failures: (string | null)[] = [];
  const loads: Parameters<InvoiceActivities['loadInvoice']>[0][] = [];

  const read = (invoiceId: string): InvoiceLedger => {
    const found = ledger.get(invoiceId) ?? { state: null, loadedSha256: null };
    const voidBasis = found.state === 'voided' ? 'event' : null;
    return { ...found, voidBasis, isRestored: false, failureCode: null };
  };
  const write = (invoiceId: string, change: Partial<{ state: InvoiceState; loadedSha256: string }>) => {
    const before = ledger.get(invoiceId) ?? { state: 'draft' as const, loadedSha256: null };
    ledger.set(invoiceId, { ...before, ...change });
  };

  const plain: InvoiceActivities = {
    fetchToken: async () => ({ secondsLeft: 3_600 }),
    regenerateUrl: async ({ invoiceId }) => {
      const { loadedSha256 } = read(invoiceId);
      const location = aLocation(loadedSha256 === null ? {} : { fileHashSha256: loadedSha256 });
      return { outcome: 'location', location };
    },
    downloadCsv: async ({ location }) => ({
      outcome: 'fetched',
      sha256: location.fileHashSha256,
      sizeBytes: location.fileSizeBytes,
    }),
    exportCsv: async () => ({ outcome: 'fetched', sha256: 'e'.repeat(64), sizeBytes: 99 }),
    lookUpInvoice: async ({ invoiceId }) => {
      const status = read(invoiceId).state === 'voided' ? 'voided' : 'draft';
      return { outcome: 'found', status, header: {} };
    },
    recordEvent: async ({ event }) => {
      const { invoiceId } = event.invoice;
      const before = read(invoiceId);
      if (event.eventType === 'invoice_voided') write(invoiceId, { state: 'voided' });
      else if (before.state === null) write(invoiceId, { state: 'draft' });
      if (event.eventType === 'invoice_finalized' && read(invoiceId).state === 'draft') {
        write(invoiceId, { state: 'finalized' });
      }
      return read(invoiceId);
    },
    readLedger: async ({ invoiceId }) => read(invoiceId),
    recordDetails: async () => {},
    loadInvoice: async (request) => {
      loads.push(request);
      if (read(request.invoiceId).state === 'voided') return { outcome: 'voided' };
      write(request.invoiceId, { state: 'loaded', loadedSha256: request.sha256 });
      return { outcome: 'loaded', shipments: 2 };
    },
    voidInvoice: async ({ invoiceId }) => write(invoiceId, { state: 'voided' }),
    markNeedsAttention: async ({ invoiceId, code, reason }) => {
      attentions.push({ code, reason });
      write(invoiceId, { state: 'needs_attention' });
    },
    recordFailure: async ({ failure }) => {
      failures.push(failure?.code ?? null);
    },
    clearNeedsAttention: async ({ invoiceId }) => write(invoiceId, { state: 'finalized' }),
  };

  const activities = Object.fromEntries(
    Object.entries({ ...plain, ...answers }).map(([name, activity]) => [
      name,
      async (...args: unknown[]) => {
        calls.push(name);
        return (activity as (...args: unknown[]) => Promise<unknown>)(...args);
      },
    ]),
  ) as unknown as InvoiceActivities;

  return { activities, calls, ledger, attentions, failures, loads };
}

/** Activities that act in the world of the invoice whose workflow calls them. */
export function activitiesOf(worldOf: (invoiceId: string) => World | undefined): InvoiceActivities {
  const names = Object.keys(aWorld().activities);
  const entries = names.map((name) => [
    name,
    async (...args: unknown[]) => {
      const invoiceId = activityInfo().workflowExecution?.workflowId.split('/').at(-1) ?? '';
      const world = worldOf(invoiceId);
      if (world === undefined) throw new Error(`No world for ${invoiceId}.`);
      const activity = world.activities[name as keyof World['activities']];
      return (activity as (...args: unknown[]) => Promise<unknown>)(...args);
    },
  ]);
  return Object.fromEntries(entries);
}

/** Answers one after the other; the last one stays. */
export function inTurn<T>(...answers: readonly T[]): () => Promise<T> {
  let n = 0;
  return async () => {
    const answer = answers[Math.min(n, answers.length - 1)] as T;
    n += 1;
    return answer;
  };
}

export async function untilCancelled(): Promise<never> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), 100);
  try {
    return await context.cancelled;
  } catch (error) {
    throw error instanceof CancelledFailure ? error : new CancelledFailure('cancelled');
  } finally {
    clearInterval(beat);
  }
}

/** Is retried by the activity's own policy. */
export async function unreachable(): Promise<never> {
  throw ApplicationFailure.create({ type: 'unreachable', message: 'The service does not answer.' });
}
