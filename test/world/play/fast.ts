/** Plays a history in this process, on a real archive and a real warehouse, through the functions that the processes use. */

import { createHash } from 'node:crypto';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withoutUrlQuery } from '../../../lib/wire/invoice-event.ts';
import { parseDelivery } from '../../../lib/wire/parse-delivery.ts';
import { importFile } from '../../../warehouse/import/import-files.ts';
import { openQuarantine } from '../../../webhook/inbox/quarantine.ts';
import { type LakeTestSettings, publishedPath as registerLake } from '../../warehouse/lake/support.ts';
import { archiveCsv, aWarehouse, type TestWarehouse } from '../../warehouse/support.ts';
import { csvOf, type Event, type History, type Invoice, type Step, stepsOf, type Timed } from '../history.ts';
import { instantOf, World } from '../model/truth.ts';

export interface Played {
  readonly world: World;
  readonly test: TestWarehouse;
  /** At which anything happened, by our clock. */
  readonly instants: readonly string[];
  /** The publications before the last one, as they were; path null: a lake keeps none. */
  readonly earlier: readonly { readonly at: string; readonly path: string | null }[];
  readonly publishedAt: string;
  readonly path: string;
}

/** What the product answered a step, and what the model expects. */
export class Difference extends Error {
  override readonly name = 'Difference';
}

/** @param lake instead of a file @returns the installation after the last publication; to be closed by the caller */
export async function play(history: History, lake: LakeTestSettings | null = null): Promise<Played> {
  const world = new World();
  let at = instantOf(history, { atMs: 0 });
  const now = (): Date => new Date(at);
  const test = await aWarehouse(lake === null ? { now } : { now, settings: lake });
  try {
    const earlier: Played['earlier'][number][] = [];
    const steps = stepsOf(history);
    for (const step of steps) {
      at = instantOf(history, step);
      const expected = world.take(step, at);
      const outcome = expected === 'impossible' ? expected : await takeStep(test, step, { at, now });
      if (outcome !== expected)
        throw new Difference(
          `${JSON.stringify({ ...step, invoice: 'invoice' in step ? step.invoice.id : null })}: expected ${expected}, was ${outcome}`,
        );
      if (step.do === 'act' && step.act === 'publish') {
        const { path: made } = await test.warehouse.publish();
        const copy = lake === null ? join(test.dataDir, `earlier-${earlier.length}.duckdb`) : null;
        if (copy !== null) copyFileSync(made, copy);
        earlier.push({ at, path: copy });
      }
    }
    at = instantOf(history, { atMs: Math.max(0, ...steps.map(({ atMs }) => atMs)) });
    const { path } = await test.warehouse.publish();
    if (lake !== null) registerLake(lake);
    // A lake is read in its current state, so its publication has the time of the reader.
    const publishedAt = lake === null ? at : new Date().toISOString();
    const instants = [...new Set(steps.map((step) => instantOf(history, step)))];
    return { world, test, instants, earlier, publishedAt, path };
  } catch (error) {
    await test.close();
    throw error;
  }
}

interface Moment {
  readonly at: string;
  readonly now: () => Date;
}

async function takeStep(test: TestWarehouse, step: Step, { at, now }: Moment): Promise<string> {
  if (step.do === 'act') return act(test, step.act);
  const { invoice } = step;
  const { id: invoiceId } = invoice;
  const { warehouse } = test;
  switch (step.do) {
    case 'event':
      return receive(test, invoice, step, at);
    case 'fetch': {
      const file = await archiveCsv(test, bytesOf(invoice, step.file));
      const { sha256, sizeBytes } = file;
      await test.archive.putFact({
        kind: 'file',
        at,
        invoiceId,
        sha256,
        sizeBytes,
        source: step.by,
        from: null,
      });
      const announcedSha256 = step.by === 'export' ? null : sha256;
      const load = {
        invoiceId,
        sha256,
        source: step.by,
        announcedSha256,
        eventId: null,
        workflowRunId: null,
      };
      if (step.by === 'regenerate') await warehouse.recordHash({ invoiceId, sha256, sizeBytes });
      return (await warehouse.load(load)).outcome;
    }
    case 'import': {
      const path = join(test.dataDir, 'by-hand.csv');
      writeFileSync(path, bytesOf(invoice, step.file));
      const quarantine = await openQuarantine(join(test.dataDir, 'quarantine'));
      const deps = { warehouse, archive: test.archive, quarantine, dataDir: test.dataDir, now };
      return (await importFile(deps, { path, invoiceId: null })).outcome.outcome;
    }
    case 'details': {
      const { status, header } = step;
      const { invoiceTotalAmount, totalTransactionCount, ...rest } = header;
      const read = Object.fromEntries(
        Object.entries({ ...rest, invoiceTotalAmount, totalTransactionCount }).filter(
          ([name, value]) => value !== undefined && (value !== null || name === 'tenantId'),
        ),
      );
      await warehouse.recordDetails({ invoiceId, status, partnerId: step.partnerId, header: read });
      return 'recorded';
    }
    case 'name': {
      const bytes = bytesOf(invoice, step.file);
      await warehouse.recordHash({ invoiceId, sha256: hashOf(bytes), sizeBytes: bytes.length });
      return 'recorded';
    }
    case 'exclude':
      await warehouse.recordAnswers([
        { kind: 'excluded', invoiceId, code: step.code, reason: 'It is not ours.' },
      ]);
      return 'done';
    case 'include':
      await warehouse.recordAnswers([{ kind: 'included', invoiceId }]);
      return 'done';
    case 'restore':
      return (await warehouse.decide({ kind: 'restore', invoiceId, ...BY })).outcome;
    case 'choose':
      return (await warehouse.decide({ kind: 'use-version', invoiceId, version: step.version, ...BY }))
        .outcome;
    case 'attention':
      await warehouse.markNeedsAttention({ invoiceId, code: 'csv-rejected', reason: 'A file is rejected.' });
      return 'recorded';
    case 'resolve': {
      const before = (await warehouse.invoice(invoiceId))?.state;
      await warehouse.clearNeedsAttention(invoiceId);
      return before === 'needs_attention' ? 'recorded' : 'nothing';
    }
  }
}

const BY = { by: 'tester', reason: 'by the history', isDryRun: false } as const;

async function act(test: TestWarehouse, what: string): Promise<string> {
  if (what === 'reopen') await test.reopen();
  if (what === 'rebuild') await test.rebuild();
  if (what === 'verify') {
    const drift = await test.drift();
    if (drift.length > 0) return `drift ${JSON.stringify(drift)}`;
  }
  return 'done';
}

/** As the endpoint and the forwarder do. */
async function receive(
  test: TestWarehouse,
  invoice: Invoice,
  event: Event & Timed,
  at: string,
): Promise<string> {
  const body = Buffer.from(deliveryOf(invoice, event, at));
  const parsed = parseDelivery(body, { wirePrefix: 'auto', partnerIds: [event.partnerId] });
  if (parsed.kind !== 'event' && parsed.kind !== 'test') return parsed.kind;
  const isTest = parsed.kind === 'test';
  const read = parsed.event === null ? null : withoutUrlQuery(parsed.event);
  const { envelope } = parsed;
  const verdict = isTest ? 'test' : 'accepted';
  await test.archive.putEvent({
    eventId: event.eventId,
    receivedAt: at,
    verdict,
    reason: null,
    event: read,
    envelope,
  });
  await test.warehouse.ingestArchive();
  return verdict;
}

const STATUS = {
  invoice_created: 'draft',
  invoice_finalized: 'finalized',
  invoice_voided: 'voided',
} as const;

/** The delivery of spec 2.4 to 2.7; amounts as JSON numbers with their own digits. */
function deliveryOf({ id, files }: Invoice, { clockMs = 0, ...event }: Event & Timed, at: string): string {
  const { tenantId, invoiceTotalAmount: total, ...header } = event.header;
  const bytes = event.file === null ? null : Buffer.from(csvOf(files[event.file] ?? [], id));
  const payload = {
    serviceInvoiceId: id,
    ...(tenantId === undefined ? {} : { serviceTenantId: tenantId }),
    ...{ ...header, invoiceStatus: STATUS[event.type] },
    ...(bytes === null
      ? {}
      : {
          presignedUrl: `https://storage.example/${id}.csv?signature=s`,
          presignedUrlExpiresAt: new Date(Date.parse(at) + 86_400_000).toISOString(),
          ...{ fileHashSha256: hashOf(bytes), fileSizeBytes: bytes.length },
        }),
  };
  const { eventId, type, partnerId, isTest } = event;
  const metadata = {
    ...{
      eventId,
      eventTimestamp: new Date(Date.parse(at) - clockMs + event.sentMs).toISOString(),
      eventType: type,
    },
    ...{ partnerId, payloadSchemaVersion: 'v1', testEvent: isTest },
  };
  const text = JSON.stringify({ metadata, payload });
  return total === undefined ? text : text.replace(/\}\}$/, `,"invoiceTotalAmount":${total}}}`);
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const bytesOf = ({ id, files }: Invoice, file: number): Buffer => Buffer.from(csvOf(files[file] ?? [], id));
