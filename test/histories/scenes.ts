/** The behaviours of which a history is kept, each as a scene that plays it; named as the recordings are. */

import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { startBackfill } from '../../temporal/backfill-client.ts';
import type { InvoiceRoute } from '../../temporal/invoice-client.ts';
import { askReconcile, askSnapshot, askVerify } from '../../temporal/writer-client.ts';
import type { InvoiceActivities } from '../../workflows/options.ts';
import { eventually } from '../support/eventually.ts';
import { aLocation, anEvent, PARTNER_ID } from '../workflows/invoice-builders.ts';
import { aFinalizedWorld, type createScenes, type Scene } from '../workflows/invoice-scenes.ts';
import { aWorld, inTurn, unreachable, untilCancelled, type World } from '../workflows/scripted-world.ts';

export interface Recording {
  readonly scenes: ReturnType<typeof createScenes>;
  readonly client: Client;
  readonly route: InvoiceRoute;
}

/** Plays a behaviour and says which workflows to keep. */
type HistoryScene = (recording: Recording) => Promise<readonly string[]>;

type Answer<Name extends keyof InvoiceActivities> = Awaited<ReturnType<InvoiceActivities[Name]>>;

const created = () => anEvent('invoice_created');
const finalized = (location = aLocation()) => anEvent('invoice_finalized', { location });
const voided = () => anEvent('invoice_voided');
const expired = () => finalized(aLocation({ presignedUrlExpiresAt: '2026-01-01T00:00:00Z' }));

const refusal = { outcome: 'url-refused', message: 'Storage answered 403.' } as const;
const mismatch = { outcome: 'mismatch', message: 'SHA-256 aa was announced, the bytes have bb.' } as const;
const fetched = { outcome: 'fetched', sha256: 'a'.repeat(64), sizeBytes: 1 } as const;
const notExported = { outcome: 'not-exported' } as const;
const notFound = { outcome: 'not-found' } as const;
const rejected = { outcome: 'rejected', reason: 'line 17, column Billing Cost' } as const;
const loaded = { outcome: 'loaded', shipments: 2 } as const;
const details = (status: 'draft' | 'finalized' | 'voided' | null) => ({
  lookUpInvoice: async () => ({ outcome: 'found', status, header: {} }) as const,
});

/** One invoice in its world, to its end. */
function played(world: () => World, scene: Scene): HistoryScene {
  return async ({ scenes }) => [await scenes.play(world(), scene)];
}

/** Sends, then waits for the end. */
function told(world: () => World, ...events: readonly (() => ReturnType<typeof created>)[]): HistoryScene {
  return played(world, async (underTest) => {
    await underTest.send(...events.map((event) => event()));
    await underTest.result();
  });
}

/** Sends, then waits until a person is needed. */
function stuck(world: () => World, event: () => ReturnType<typeof created>): HistoryScene {
  return played(world, async (underTest) => {
    await underTest.send(event());
    await underTest.until('needs_attention');
  });
}

/** Who brings a file loads it, or says why not. */
function bringing(...loads: readonly Answer<'loadInvoice'>[]): World {
  const load = inTurn<Answer<'loadInvoice'>>(...loads);
  return aWorld({ downloadCsv: async () => ({ ...fetched, loaded: await load() }) });
}

/** Since ADR 33: no activity for what the ledger reads by itself, and one for file and load. */
const SHORT_WAY: Readonly<Record<string, HistoryScene>> = {
  'loaded-at-once': told(() => bringing(loaded), created, finalized),
  'loaded-at-once-after-expired-url': told(() => bringing(loaded), expired),
  'loaded-at-once-finds-a-void': told(() => bringing({ outcome: 'voided' }), finalized),
  'brought-then-loaded-by-itself': told(aWorld, created, finalized),
  'rejected-at-once-then-new-file': played(
    () => bringing(rejected, loaded),
    async (underTest) => {
      await underTest.send(finalized());
      await underTest.until('needs_attention');
      await underTest.send(finalized());
      await underTest.result();
    },
  ),
  'loaded-at-once-then-voided': played(
    () => bringing(loaded),
    async (underTest) => {
      await underTest.send(created(), finalized());
      await underTest.result();
      await underTest.send(voided());
      await underTest.result();
    },
  ),
  'voided-while-brought': played(
    () => aWorld({ downloadCsv: untilCancelled }),
    async (underTest) => {
      await underTest.send(created(), finalized());
      await eventually(() => underTest.world.calls.includes('downloadCsv'));
      await underTest.send(voided());
      await underTest.result();
    },
  ),
  'ledger-away-at-first': played(
    () => {
      let tries = 0;
      const { recordEvent } = aWorld().activities;
      return aWorld({
        recordEvent: async (request) => {
          tries += 1;
          return tries < 3 ? unreachable() : recordEvent(request);
        },
      });
    },
    async (underTest) => {
      await underTest.send(finalized());
      await underTest.result();
    },
  ),
  'short-draft-continues-as-new': played(
    () => bringing(loaded),
    async (underTest) => {
      await underTest.send(created());
      await eventually(() => underTest.world.calls.filter((name) => name === 'lookUpInvoice').length > 6);
      await underTest.send(finalized());
      await underTest.result();
    },
  ),
};

/** Since ADR 44: the run of a draft begins when it is overdue, or with what is said next. */
const BEGUN_LATE: Readonly<Record<string, HistoryScene>> = {
  'begun-by-finalized': played(
    () => bringing(loaded),
    async (underTest) => {
      await underTest.send(created());
      await underTest.send(finalized());
      await underTest.result();
    },
  ),
  'begun-when-overdue': told(aFinalizedWorld, created),
  'begun-by-a-look-up': played(
    () => aWorld({ ...details('draft'), regenerateUrl: async () => notExported }),
    async (underTest) => {
      await underTest.send(created());
      await underTest.lookUp();
      await eventually(() => underTest.world.calls.filter((name) => name === 'lookUpInvoice').length > 2);
      await underTest.send(finalized());
      await underTest.result();
    },
  ),
};

export const HISTORY_SCENES: Readonly<Record<string, HistoryScene>> = {
  ...SHORT_WAY,
  ...BEGUN_LATE,
  'created-then-finalized': told(aWorld, created, finalized),
  'finalized-before-created': told(aWorld, finalized, created),
  'finalized-alone': told(aWorld, finalized),
  duplicates: played(aWorld, async (underTest) => {
    const [one, two] = [created(), finalized()];
    await underTest.send(one, one, two, two, one);
    await underTest.result();
  }),
  'voided-alone': told(aWorld, voided),
  'voided-before-finalized': told(aWorld, voided, finalized),
  'created-then-voided': told(aWorld, created, voided),
  'voided-after-load': played(aWorld, async (underTest) => {
    await underTest.send(finalized());
    await underTest.result();
    await underTest.send(voided());
    await underTest.result();
  }),
  'voided-during-download': played(
    () => aWorld({ downloadCsv: untilCancelled }),
    async (underTest) => {
      await underTest.send(finalized());
      await eventually(() => underTest.world.calls.includes('downloadCsv'));
      await underTest.send(voided());
      await underTest.result();
    },
  ),
  'voided-during-load': played(
    () =>
      aWorld({
        loadInvoice: async () => {
          await new Promise((wake) => setTimeout(wake, 500));
          return loaded;
        },
      }),
    async (underTest) => {
      await underTest.send(finalized());
      await eventually(() => underTest.world.calls.includes('loadInvoice'));
      await underTest.send(voided());
      await underTest.result();
    },
  ),
  'load-finds-a-void': told(() => aWorld({ loadInvoice: async () => ({ outcome: 'voided' }) }), finalized),
  'void-confirmed': told(() => aWorld(details('voided')), voided),
  'void-contradicted-then-restored': played(
    () => aWorld(details('finalized')),
    async (underTest) => {
      await underTest.send(finalized());
      await underTest.result();
      await underTest.send(voided());
      await underTest.until('needs_attention');
      const loadedSha256 = 'a'.repeat(64);
      underTest.world.ledger.set(underTest.invoiceId, { state: 'loaded', loadedSha256 });
      underTest.world.activities.recallInvoice = async () => ({
        ...{ state: 'loaded', loadedSha256, voidWord: null, isRestored: true },
      });
      await underTest.lookUp();
      await underTest.result();
    },
  ),
  'exported-when-storage-redirects': told(
    () =>
      aWorld({
        downloadCsv: async () => {
          throw ApplicationFailure.nonRetryable('Storage redirects.', 'redirect');
        },
      }),
    finalized,
  ),
  'rejected-then-repaired': played(
    () => {
      let asked = 0;
      const refused = aLocation({ fileHashSha256: 'c'.repeat(64) });
      const repaired = aLocation({ fileHashSha256: 'd'.repeat(64) });
      return aWorld({
        downloadCsv: async ({ location: { fileHashSha256: sha256 } }) => ({ ...fetched, sha256 }),
        // Asked so often that the run continues as new in between.
        regenerateUrl: async () => {
          asked += 1;
          return { outcome: 'location', location: asked < 12 ? refused : repaired };
        },
        loadInvoice: async ({ sha256 }) => (sha256.startsWith('c') ? rejected : loaded),
      });
    },
    async (underTest) => {
      await underTest.send(finalized(aLocation({ fileHashSha256: 'c'.repeat(64) })));
      await eventually(() => underTest.world.calls.filter((name) => name === 'loadInvoice').length > 1);
      await underTest.result();
    },
  ),
  'finalized-after-expired-url': told(aWorld, expired),
  'host-not-allowed': told(
    () =>
      aWorld({
        downloadCsv: inTurn<Answer<'downloadCsv'>>(
          { outcome: 'host-not-allowed', message: 'not listed' },
          fetched,
        ),
      }),
    finalized,
  ),
  'three-urls-refused': told(
    () => aWorld({ downloadCsv: inTurn<Answer<'downloadCsv'>>(refusal, refusal, refusal, fetched) }),
    finalized,
  ),
  'wrong-hash-once': told(
    () => aWorld({ downloadCsv: inTurn<Answer<'downloadCsv'>>(mismatch, fetched) }),
    finalized,
  ),
  'wrong-hash-then-regenerated': told(
    () => aWorld({ downloadCsv: inTurn<Answer<'downloadCsv'>>(mismatch, mismatch, fetched) }),
    finalized,
  ),
  'wrong-hash-then-exported': told(() => aWorld({ downloadCsv: async () => mismatch }), finalized),
  'wrong-hash-for-good': stuck(
    () => aWorld({ downloadCsv: async () => mismatch, exportCsv: async () => notFound }),
    finalized,
  ),
  'export-contradicts-header': stuck(
    () =>
      aWorld({
        regenerateUrl: async () => notExported,
        loadInvoice: async () => ({ outcome: 'contradicted', reason: 'total-amount 1 stated, 2 found' }),
      }),
    expired,
  ),
  'exported-when-nothing-to-regenerate': told(
    () => aWorld({ regenerateUrl: async () => notExported }),
    expired,
  ),
  'no-file-at-all': stuck(
    () => aWorld({ regenerateUrl: async () => notExported, exportCsv: async () => notFound }),
    expired,
  ),
  'regenerate-refused': told(
    () => aWorld({ regenerateUrl: async () => ({ outcome: 'refused', message: 'HTTP 400' }) }),
    expired,
  ),
  'regenerate-forbidden': stuck(
    () => aWorld({ regenerateUrl: async () => ({ outcome: 'forbidden', message: 'HTTP 403' }) }),
    expired,
  ),
  'finalized-event-lost': told(() => aWorld(details('finalized')), created),
  'found-by-its-file': told(
    () =>
      aWorld({
        ...details(null),
        regenerateUrl: inTurn<Answer<'regenerateUrl'>>(notExported, {
          outcome: 'location',
          location: aLocation(),
        }),
      }),
    created,
  ),
  'void-event-lost': told(() => aWorld(details('voided')), created),
  'void-lost-after-load': played(
    () => aWorld(details('voided')),
    async (underTest) => {
      await underTest.send(finalized());
      await underTest.result();
      await underTest.lookUp();
      await underTest.result();
    },
  ),
  'unknown-id': played(
    () => aWorld({ lookUpInvoice: async () => notFound, regenerateUrl: async () => notExported }),
    async (underTest) => {
      await underTest.lookUp();
      await underTest.result();
    },
  ),
  'watched-without-event': played(aFinalizedWorld, async (underTest) => {
    await underTest.watch();
    await underTest.result();
  }),
  'rejected-then-retried': played(
    () => aWorld({ loadInvoice: inTurn<Answer<'loadInvoice'>>(rejected, loaded) }),
    async (underTest) => {
      await underTest.send(finalized());
      await underTest.until('needs_attention');
      await underTest.retry();
      await underTest.result();
    },
  ),
  'rejected-then-new-file-then-voided': played(
    () => aWorld({ loadInvoice: async () => rejected }),
    async (underTest) => {
      await underTest.send(finalized());
      await underTest.until('needs_attention');
      await underTest.send(finalized());
      await eventually(() => underTest.world.parked.length === 2);
      await underTest.send(voided());
      await underTest.result();
    },
  ),
  'service-away': played(
    () => {
      let tries = 0;
      return aWorld({
        downloadCsv: async () => {
          tries += 1;
          return tries < 5 ? unreachable() : fetched;
        },
      });
    },
    async (underTest) => {
      await underTest.send(finalized());
      await underTest.result();
    },
  ),
  'new-file-during-load': played(
    () => {
      let loads = 0;
      return aWorld({
        loadInvoice: async () => {
          loads += 1;
          await new Promise((wake) => setTimeout(wake, loads === 1 ? 400 : 1));
          return loaded;
        },
      });
    },
    async (underTest) => {
      await underTest.send(finalized());
      await eventually(() => underTest.world.calls.includes('loadInvoice'));
      await underTest.send(anEvent('invoice_finalized', { at: '2026-03-10T00:00:00Z' }));
      await underTest.result();
    },
  ),
  'junk-signals': played(aWorld, async (underTest) => {
    await underTest.begin(created());
    for (const junk of [null, 7, {}, { eventId: 'x', eventType: 'invoice_exploded' }]) {
      await underTest.handle().signal('invoiceEvent', junk);
    }
    await underTest.send(finalized());
    await underTest.result();
  }),
  'draft-continues-as-new': played(aWorld, async (underTest) => {
    await underTest.send(created());
    await eventually(() => underTest.world.calls.filter((name) => name === 'lookUpInvoice').length > 6);
    await underTest.send(finalized());
    await underTest.result();
  }),
  backfill: async ({ scenes, client, route }) => {
    const [unknown = '', ...rest] = Array.from({ length: 5 }, () => randomUUID());
    const answers = { lookUpInvoice: async () => notFound, regenerateUrl: async () => notExported };
    scenes.worlds.set(unknown, aWorld(answers));
    const invoiceIds = [unknown, ...rest];
    const backfill = await startBackfill(client, route, {
      partnerId: PARTNER_ID,
      invoiceIds,
      concurrency: 2,
    });
    for await (const _ of backfill.results({ everyMs: 50 }));
    return [`backfill/test/${backfill.backfillId}`, `backfill/test/${backfill.backfillId}/1`];
  },
  'backfill-continues-as-new': async ({ client, route }) => {
    const invoiceIds = Array.from({ length: 12 }, () => randomUUID());
    const request = { partnerId: PARTNER_ID, invoiceIds, batchSize: 1 };
    const backfill = await startBackfill(client, route, request);
    for await (const _ of backfill.results({ everyMs: 50 }));
    return [`backfill/test/${backfill.backfillId}`, `backfill/test/${backfill.backfillId}/1`];
  },
  'backfill-batch-continues-as-new': async ({ client, route }) => {
    const invoiceIds = Array.from({ length: 12 }, () => randomUUID());
    const request = { partnerId: PARTNER_ID, invoiceIds, concurrency: 1 };
    const backfill = await startBackfill(client, route, request);
    const told = new Set<string>();
    for await (const { invoiceId } of backfill.results({ everyMs: 50 })) told.add(invoiceId);
    if (told.size !== invoiceIds.length) throw new Error(`${told.size} of ${invoiceIds.length} were told.`);
    return [`backfill/test/${backfill.backfillId}/1`];
  },
  'backfill-left-alone': async ({ client, route }) => {
    let workflowId = '';
    const invoiceIds = Array.from({ length: 4 }, () => randomUUID());
    const request = { partnerId: PARTNER_ID, invoiceIds, batchSize: 2, quietAfter: '1 s' };
    const die = (_: number, backfillId: string): never => {
      workflowId = `backfill/test/${backfillId}`;
      throw new Error('The sender is gone.');
    };
    await startBackfill(client, route, { ...request, onHandedOver: die }).catch(() => {});
    await client.workflow.getHandle(workflowId).result();
    return [workflowId];
  },
  'backfill-terminated': async ({ client, route }) => {
    const invoiceIds = Array.from({ length: 2 }, () => randomUUID());
    const request = { partnerId: PARTNER_ID, invoiceIds, batchSize: 1, lookAfter: '500 ms' };
    const { backfillId, control } = await startBackfill(client, route, request);
    await control('pause');
    await client.workflow.getHandle(`backfill/test/${backfillId}`).terminate();
    await client.workflow.getHandle(`backfill/test/${backfillId}/2`).result();
    return [`backfill/test/${backfillId}/2`];
  },
  reconcile: async ({ client, route }) => {
    await askReconcile(client, route);
    return newestOf(client, 'reconcile');
  },
  snapshot: async ({ client, route }) => {
    await askSnapshot(client, route);
    return newestOf(client, 'snapshot');
  },
  verify: async ({ client, route }) => {
    await askVerify(client, route, { full: true });
    return newestOf(client, 'verify');
  },
};

async function newestOf(client: Client, workflowType: string): Promise<readonly string[]> {
  const query = `WorkflowType = '${workflowType}'`;
  const found = await eventually(async () => {
    for await (const { workflowId } of client.workflow.list({ query })) return workflowId;
    return null;
  });
  return [found];
}
