/** The behaviors with a recorded history, each as a scene that plays it. At most 15 files. */

import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { InvoiceActivities } from '../../workflows/activity-options.ts';
import { startBackfill } from '../../workflows/client/backfill-client.ts';
import type { InvoiceRoute } from '../../workflows/client/invoice-client.ts';
import { requestReconcile } from '../../workflows/client/writer-client.ts';
import type { Pace } from '../../workflows/pace.ts';
import { eventually } from '../support/eventually.ts';
import { aLocation, anEvent, PARTNER_ID } from '../workflows/invoice-builders.ts';
import type { createScenes, Scene } from '../workflows/invoice-scenes.ts';
import { aWorld, unreachable, untilCancelled, type World } from '../workflows/scripted-world.ts';

export interface Recording {
  readonly scenes: ReturnType<typeof createScenes>;
  readonly client: Client;
  readonly route: InvoiceRoute;
}

type HistoryScene = (recording: Recording) => Promise<string>;

type Answer<Name extends keyof InvoiceActivities> = Awaited<ReturnType<InvoiceActivities[Name]>>;

const created = () => anEvent('invoice_created');
const finalized = (location = aLocation()) => anEvent('invoice_finalized', { location });
const voided = () => anEvent('invoice_voided');

const fetched = { outcome: 'fetched', sha256: 'a'.repeat(64), sizeBytes: 1 } as const;
const rejected = { outcome: 'rejected', reason: 'line 17, column Billing Cost' } as const;
const loaded = { outcome: 'loaded', shipments: 2 } as const;
const details = (status: 'draft' | 'finalized') => ({
  lookUpInvoice: async () => ({ outcome: 'found', status, header: {} }) as const,
});

function played(world: () => World, scene: Scene, pace: Partial<Pace> = {}): HistoryScene {
  return ({ scenes }) => scenes.play(world(), scene, pace);
}

function sent(world: () => World, ...events: readonly (() => ReturnType<typeof created>)[]): HistoryScene {
  return played(world, async (underTest) => {
    await underTest.send(...events.map((event) => event()));
    await underTest.result();
  });
}

export const HISTORY_SCENES: Readonly<Record<string, HistoryScene>> = {
  'loaded-at-once': sent(
    () => aWorld({ downloadCsv: async () => ({ ...fetched, loaded }) }),
    created,
    finalized,
  ),
  'look-ups-continue-as-new': played(
    () => aWorld({ ...details('draft'), regenerateUrl: async () => ({ outcome: 'not-exported' }) }),
    async (underTest) => {
      await underTest.send(created());
      await underTest.lookUp();
      // So often that the run continues as new.
      await eventually(() => underTest.world.calls.filter((name) => name === 'lookUpInvoice').length > 2);
      await underTest.send(finalized());
      await underTest.result();
    },
  ),
  'voided-during-download': played(
    () => aWorld({ downloadCsv: untilCancelled }),
    async (underTest) => {
      await underTest.send(created(), finalized());
      await eventually(() => underTest.world.calls.includes('downloadCsv'));
      await underTest.send(voided());
      await underTest.result();
    },
  ),
  'void-contradicted-then-restored': played(
    () => aWorld(details('finalized')),
    async (underTest) => {
      await underTest.send(voided());
      await underTest.until('needs_attention');
      const loadedSha256 = 'a'.repeat(64);
      underTest.world.ledger.set(underTest.invoiceId, { state: 'loaded', loadedSha256 });
      underTest.world.activities.readLedger = async () => ({
        ...{ state: 'loaded', loadedSha256, voidBasis: null, isRestored: true, failureCode: null },
      });
      await underTest.lookUp();
      await underTest.result();
    },
  ),
  'rejected-then-repaired': played(
    () => {
      let requests = 0;
      const refused = aLocation({ fileHashSha256: 'c'.repeat(64) });
      const repaired = aLocation({ fileHashSha256: 'd'.repeat(64) });
      return aWorld({
        downloadCsv: async ({ location: { fileHashSha256: sha256 } }) => ({ ...fetched, sha256 }),
        // Requested so often that the run continues as new.
        regenerateUrl: async () => {
          requests += 1;
          return { outcome: 'location', location: requests < 6 ? refused : repaired };
        },
        loadInvoice: async ({ sha256 }) => (sha256.startsWith('c') ? rejected : loaded),
      });
    },
    async (underTest) => {
      await underTest.send(finalized(aLocation({ fileHashSha256: 'c'.repeat(64) })));
      await eventually(() => underTest.world.calls.filter((name) => name === 'loadInvoice').length > 1);
      await underTest.result();
    },
    { repairAfter: ['20 ms'] },
  ),
  'wrong-hash-then-exported': sent(
    () =>
      aWorld({
        downloadCsv: async (): Promise<Answer<'downloadCsv'>> => ({
          ...{ outcome: 'mismatch', message: 'SHA-256 aa was announced, the bytes have bb.' },
        }),
      }),
    finalized,
  ),
  'service-away': sent(() => {
    let tries = 0;
    return aWorld({
      downloadCsv: async () => {
        tries += 1;
        return tries < 5 ? unreachable() : fetched;
      },
      exportCsv: unreachable,
    });
  }, finalized),
  'unknown-id': played(
    () =>
      aWorld({
        lookUpInvoice: async () => ({ outcome: 'not-found' }),
        regenerateUrl: async () => ({ outcome: 'not-exported' }),
      }),
    async (underTest) => {
      await underTest.lookUp();
      await underTest.result();
    },
  ),
  backfill: async ({ client, route }) => {
    const invoiceIds = Array.from({ length: 4 }, () => randomUUID());
    const request = { partnerId: PARTNER_ID, invoiceIds, concurrency: 2, batchSize: 2 };
    const { backfillId, results } = await startBackfill(client, route, request);
    for await (const _ of results({ everyMs: 50 }));
    return `backfill/test/${backfillId}`;
  },
  'backfill-batch-continues-as-new': async ({ client, route }) => {
    const invoiceIds = Array.from({ length: 12 }, () => randomUUID());
    const request = { partnerId: PARTNER_ID, invoiceIds, concurrency: 1 };
    const { backfillId, results } = await startBackfill(client, route, request);
    for await (const _ of results({ everyMs: 50 }));
    return `backfill/test/${backfillId}/1`;
  },
  reconcile: async ({ client, route }) => {
    await requestReconcile(client, route);
    return eventually(async () => {
      const query = "WorkflowType = 'reconcile'";
      for await (const { workflowId } of client.workflow.list({ query })) return workflowId;
      return null;
    });
  },
};
