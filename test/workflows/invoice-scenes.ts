/** Plays the life of an invoice in a scripted world, on any server and queues; tests and recordings share it. */

import { type Client, ServiceError, type WorkflowHandle } from '@temporalio/client';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { invoiceWorkflowId } from '../../lib/wire/names.ts';
import {
  type InvoiceRoute,
  lookUpInvoice,
  retryInvoice,
  sendInvoiceEvent,
  watchInvoice,
} from '../../workflows/client/invoice-client.ts';
import type { InvoiceResult, InvoiceStatus } from '../../workflows/messages.ts';
import type { Pace } from '../../workflows/pace.ts';
import { eventually } from '../support/eventually.ts';
import { PARTNER_ID } from './invoice-builders.ts';
import { backfillActivitiesOf, ledgerStatusesOf } from './scripted-survey.ts';
import { activitiesOf, aWorld, type World } from './scripted-world.ts';

export interface InvoiceUnderTest {
  readonly invoiceId: string;
  readonly world: World;
  send(...events: readonly InvoiceEvent[]): Promise<void>;
  /** Sends an event and waits until the run has processed it, which delays the event of a draft by itself. */
  begin(event: InvoiceEvent): Promise<void>;
  retry(): Promise<void>;
  lookUp(): Promise<void>;
  watch(): Promise<void>;
  result(): Promise<InvoiceResult>;
  status(): Promise<InvoiceStatus>;
  handle(): WorkflowHandle;
  until(state: InvoiceStatus['state']): Promise<unknown>;
}

export function aFinalizedWorld(): World {
  return aWorld({ lookUpInvoice: async () => ({ outcome: 'found', status: 'finalized', header: {} }) });
}

/** The run of a draft begins when it is overdue or receives another signal; until then no query is possible. */
function notBegun(error: unknown): InvoiceStatus {
  const isScheduled = !(error instanceof ServiceError && /not scheduled yet/.test(`${error.cause}`));
  if (isScheduled) throw error;
  return { state: 'draft', seen: 0, attention: null };
}

export type Scene = (underTest: InvoiceUnderTest) => Promise<void>;

const quietWarehouse = {
  forwardInbox: async () => ({ forwarded: 0, waiting: 0 }),
  ingestArchive: async () => ({ events: 0 }),
  confirmAnnounced: async () => {},
  findOverdue: async () => ({ unwatched: [], toRecheck: [], toRetry: [], needAttention: 0, quarantined: 0 }),
  reconcileInvoices: async () => {},
  findGaps: async () => ({ gaps: 0, findings: [], reported: '' }),
  verifyWarehouse: async () => ({ invoices: 0, shipments: 0, filesRead: 0, drift: [], discrepancies: 0 }),
  publishSnapshot: async () => ({
    ...{ sequence: 1, publishedAt: '2026-03-09T10:00:00Z', path: '/nowhere', invoices: 0, shipments: 0 },
  }),
};

export function createScenes() {
  const worlds = new Map<string, World>();
  let fixture: { readonly client: Client; readonly route: InvoiceRoute } | undefined;

  /** Plays one invoice in its world, and ends its run if that is still open. @returns the workflow's id */
  async function play(world: World, scene: Scene, pace: Partial<Pace> = {}): Promise<string> {
    if (fixture === undefined) throw new Error('The scenes are not open.');
    const { client } = fixture;
    const invoiceId = crypto.randomUUID();
    worlds.set(invoiceId, world);
    const route = { ...fixture.route, pace: { ...fixture.route.pace, ...pace } };
    const address = { partnerId: PARTNER_ID, invoiceId };
    const handle = () => client.workflow.getHandle(invoiceWorkflowId({ environment: 'test', ...address }));
    const status = () => handle().query<InvoiceStatus, []>('status').catch(notBegun);
    const underTest: InvoiceUnderTest = {
      ...{ invoiceId, world, handle, status },
      async send(...events) {
        for (const event of events) {
          await sendInvoiceEvent(client, route, { ...event, invoice: { ...event.invoice, invoiceId } });
        }
      },
      async begin(event) {
        // The repeated signal starts the delayed run.
        await underTest.send(event, event);
        await eventually(async () => (await status()).seen === 1);
      },
      retry: () => retryInvoice(client, route, address),
      lookUp: () => lookUpInvoice(client, route, address),
      watch: () => watchInvoice(client, route, address),
      result: () => handle().result() as Promise<InvoiceResult>,
      until: (state) => eventually(async () => (await status()).state === state),
    };
    try {
      await scene(underTest);
      return handle().workflowId;
    } finally {
      await handle()
        .terminate()
        .catch(() => {});
    }
  }

  /** Each call acts in the world of its invoice; an invoice without a world of its own is finalized and plain. */
  const worldOf = (invoiceId: string): World => {
    const world = worlds.get(invoiceId) ?? aFinalizedWorld();
    worlds.set(invoiceId, world);
    return world;
  };
  const activities = activitiesOf(worldOf);
  return {
    play,
    worlds,
    billing: { ...activities, ...backfillActivitiesOf(worldOf) },
    warehouse: { ...activities, ...quietWarehouse, ...ledgerStatusesOf(worldOf) },
    open(client: Client, route: InvoiceRoute) {
      fixture = { client, route };
    },
  };
}
