/** Drawn histories of an invoice between a service, which loses and repeats events, and the ledger of a real warehouse. */

import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { WarehouseDependencies } from '../../../activities/dependencies.ts';
import { createInvoiceActivities } from '../../../activities/invoice-records.ts';
import { createLoadActivities } from '../../../activities/load.ts';
import type { ExportLocation, InvoiceEvent } from '../../../lib/wire/invoice-event.ts';
import { EVENTS, type EventType, type WebhookStatus } from '../../../lib/wire/names.ts';
import type { LookUpInvoiceResult } from '../../../workflows/activities.ts';
import type { InvoiceResult } from '../../../workflows/messages.ts';
import { memoryAlerts } from '../../support/memory-alerts.ts';
import { aCsv, archiveCsv, aWarehouse, sha256, silent, type TestWarehouse } from '../../warehouse/support.ts';
import { aHeader, aLocation, anEvent } from '../invoice-builders.ts';
import { lifeIn, simulate } from './invoice-life.ts';

vi.mock('@temporalio/workflow', async (original) => ({
  ...(await original<object>()),
  ...(await import('./simulation.ts')).workflowModule,
}));

type Delivery = 'at once' | 'late' | 'twice' | 'lost';
type Act =
  | { readonly kind: 'create' | 'void' | 'false void'; readonly delivery: Delivery }
  | {
      readonly kind: 'finalize';
      readonly file: number;
      readonly delivery: Delivery;
      readonly sentAhead: number;
    }
  | { readonly kind: 'restore' | 'retry' | 'recheck' | 'outage' | 'repair' };

const DAY = 86_400_000;
const delivery = fc.constantFrom<Delivery>('at once', 'at once', 'late', 'twice', 'lost');
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constantFrom('create', 'void', 'false void'), delivery }),
  fc.record({
    ...{ kind: fc.constant('finalize' as const), file: fc.integer({ min: 0, max: 2 }), delivery },
    sentAhead: fc.constantFrom(0, 0, -DAY, 400 * DAY),
  }),
  fc.record({ kind: fc.constantFrom('restore', 'retry', 'recheck', 'outage', 'repair') }),
);
const history = fc.record({
  steps: fc.array(fc.record({ act, seconds: fc.constantFrom(0, 0, 20, 7_200, 200_000) }), {
    ...{ minLength: 1, maxLength: 9 },
  }),
  /** Seconds that a download takes. */
  download: fc.constantFrom(0, 30),
  continueAfter: fc.constantFrom(8, Number.POSITIVE_INFINITY),
});

let t: TestWarehouse;
beforeAll(async () => {
  t = await aWarehouse({ now: () => new Date() });
});
afterAll(() => t.close());

/** The billing service: what is true, and what it announces. */
function aService(invoiceId: string) {
  const files = [0, 1, 2].map((n) => {
    const bytes = aCsv([{ 'Billing Cost': `${n + 1}.25` }], invoiceId);
    return { bytes, total: `${n + 1}.25`, fileHashSha256: sha256(bytes), fileSizeBytes: bytes.length };
  });
  const state = { status: 'draft' as WebhookStatus, file: null as number | null, isAway: false };
  const location = (file: number): ExportLocation => {
    const { fileHashSha256, fileSizeBytes } = files[file] as (typeof files)[number];
    return aLocation({ fileHashSha256, fileSizeBytes });
  };
  const headerOf = (file: number | null) =>
    aHeader({ invoiceId, invoiceTotalAmount: files[file ?? 0]?.total ?? '', totalTransactionCount: 1 });
  const event = (type: EventType, file: number | null, sentAhead = 0): InvoiceEvent => ({
    ...anEvent(type, { at: new Date(Date.now() + sentAhead).toISOString() }),
    invoice: { ...headerOf(file), invoiceStatus: EVENTS[type].status },
    export: file === null || type !== 'invoice_finalized' ? null : location(file),
  });
  const unlessAway = <T>(answer: () => T) => {
    if (state.isAway) throw new Error('The service is away.');
    return answer();
  };
  const activities = {
    fetchToken: async () => ({ secondsLeft: 3_600 }),
    lookUpInvoice: async (): Promise<LookUpInvoiceResult> =>
      unlessAway(() => ({ outcome: 'found', status: state.status, header: headerOf(state.file) })),
    regenerateUrl: async () =>
      unlessAway(() =>
        state.file === null
          ? { outcome: 'not-exported' }
          : { outcome: 'location', location: location(state.file) },
      ),
    async exportCsv() {
      const { file } = state;
      return unlessAway(() => (file === null ? { outcome: 'not-found' } : fetched(files[file]?.bytes)));
    },
  };
  return { files, state, event, activities };
}

async function fetched(bytes: Buffer = Buffer.of()) {
  const { sha256: hash, sizeBytes } = await archiveCsv(t, bytes);
  return { outcome: 'fetched', sha256: hash, sizeBytes };
}

async function play({
  steps,
  download,
  continueAfter,
}: typeof history extends fc.Arbitrary<infer H> ? H : never) {
  const invoiceId = randomUUID();
  const service = aService(invoiceId);
  const { alerts, open } = memoryAlerts();
  const dependencies = {
    ...{
      warehouse: t.warehouse,
      archive: t.archive,
      alerts,
      log: silent,
      settings: t.settings,
      now: () => new Date(),
    },
    metrics: {
      counter: () => ({ inc() {} }),
      histogram: () => ({ startTimer: () => () => {} }),
      gauge: () => ({ setToCurrentTime() {} }),
    },
    quarantine: { put: async () => '', list: async () => [] },
  } as unknown as WarehouseDependencies;
  const ledger = { ...createInvoiceActivities(dependencies), ...createLoadActivities(dependencies) };
  const simulation = simulate({
    ...Object.fromEntries(
      Object.entries(ledger).map(([name, call]) => [
        name,
        (request: never) => simulation.real(() => (call as (request: never) => Promise<unknown>)(request)),
      ]),
    ),
    ...service.activities,
    async downloadCsv({ location }: { readonly location: ExportLocation }) {
      if (download > 0) await simulation.take(download * 1_000);
      const file = service.files.find(({ fileHashSha256 }) => fileHashSha256 === location.fileHashSha256);
      return simulation.real(() => fetched(file?.bytes));
    },
  });
  simulation.continueAfter = continueAfter;
  const life = lifeIn(simulation, {}, invoiceId);
  const deliver = async (event: InvoiceEvent) => {
    const archived = {
      eventId: event.eventId,
      receivedAt: new Date().toISOString(),
      verdict: 'accepted',
      reason: null,
    } as const;
    await t.archive.putEvent({ ...archived, event, envelope: '{}' });
    await life.send(event);
  };
  const late: InvoiceEvent[] = [];
  const send = async (event: InvoiceEvent, how: Delivery) => {
    if (how === 'late') late.push(event);
    if (how === 'at once' || how === 'twice') await deliver(event);
    if (how === 'twice') await deliver(event);
  };
  const restore = () =>
    ledger.decideInvoice({ kind: 'restore', invoiceId, by: 'ada', reason: 'why', isDryRun: false });
  async function perform(step: Act): Promise<void> {
    const { state, event } = service;
    switch (step.kind) {
      case 'create':
        return send(event('invoice_created', state.file), step.delivery);
      case 'finalize':
        if (state.status === 'voided') return;
        Object.assign(state, { status: 'finalized', file: step.file });
        return send(event('invoice_finalized', step.file, step.sentAhead), step.delivery);
      case 'void':
        state.status = 'voided';
        return send(event('invoice_voided', state.file), step.delivery);
      case 'false void':
        return send(event('invoice_voided', state.file), step.delivery);
      case 'restore':
        if ((await restore()).outcome === 'done') await life.lookUp();
        return;
      case 'retry':
        return life.retry();
      case 'recheck':
        return life.lookUp();
      case 'outage':
      case 'repair':
        state.isAway = step.kind === 'outage';
    }
  }
  for (const { act: step, seconds } of steps) {
    await perform(step);
    await simulation.pass(seconds * 1_000);
  }
  service.state.isAway = false;
  for (const event of late) await deliver(event);
  await simulation.pass('9 d');
  // The reconciliation.
  await life.lookUp();
  await simulation.pass('9 d');
  await t.warehouse.ingestArchive();
  const invoice = await t.warehouse.invoice(invoiceId);
  const { state } = await life.status();
  const result = (await life.isOpen()) ? null : ((await life.result()) as InvoiceResult);
  return { state, result, invoice, service: service.state, files: service.files, open, invoiceId, life };
}

test('the workflow, the ledger and the service agree in the end, whatever was lost, late, repeated or denied', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (drawn) => {
      const { state, result, invoice, service, files, open, invoiceId, life } = await play(drawn);
      const ledger = { state: invoice?.state, sha256: invoice?.loadedSha256 };
      if (result?.state === 'unknown' && invoice === null) return;
      expect({ state, sha256: result?.sha256 ?? ledger.sha256 }).toEqual(ledger);
      expect(life.shownState()).toBe(state);
      expect(open.has(`attention/${invoiceId}`)).toBe(state === 'needs_attention');
      expect(open.has(`voided-after-load/${invoiceId}`)).toBe(
        invoice?.voidBasis !== null && ledger.sha256 !== null,
      );
      // A void that the service did not answer for a day stays (ADR 19).
      if (service.status === 'voided' || invoice?.voidBasis === 'unanswered') expect(state).toBe('voided');
      else if (state === 'needs_attention') expect(invoice?.voidBasis).toBe('contradicted');
      else expect(state).toBe(service.status === 'finalized' ? 'loaded' : 'draft');
      if (state === 'loaded') expect(ledger.sha256).toBe(files[service.file ?? 0]?.fileHashSha256);
    }),
    { numRuns: 25 },
  );
});
