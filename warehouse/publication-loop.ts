/**
 * Publishes within 2 s when the writer is idle and within 10 s when it is busy. Pauses grow with the duration of the last
 * publication, so that publishing takes a tenth of the time; after a copy of a large file they are as long as its bytes need.
 */

import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Publication } from '../lib/warehouse-requests.ts';
import type { Warehouse } from './warehouse.ts';

export type PublishedWarehouse = Pick<Warehouse, 'ingestArchive' | 'publish' | 'onChange'>;

export interface PublisherOptions {
  readonly log: Logger;
  readonly metrics?: Metrics;
  readonly quietMs?: number;
  /** The longest time that a change waits under load. */
  readonly maxDelayMs?: number;
  /** Copies write at most so many bytes a second on average; a shared copy writes none. */
  readonly bytesPerSecond?: number;
  readonly onPublished?: (publication: Publication) => void;
  /** For records without a load (test events, duplicates); 0: never. */
  readonly ingestEveryMs?: number;
}

const PAUSE_FACTOR = 10;
/** A change is published within this multiple of `maxDelayMs`. */
const MAX_WAIT_FACTOR = 2.5;
const MAX_RETRY_MS = 30_000;
const LOG_EVERY_MS = 60_000;

export function publicationGauges(metrics: Metrics): (publication: Publication) => void {
  const number = metrics.gauge('publication_sequence');
  const madeAt = metrics.gauge('publication_timestamp_seconds');
  return ({ sequence, publishedAt }) => {
    number.set(sequence);
    madeAt.set(Date.parse(publishedAt) / 1_000);
  };
}

export function startPublisher(warehouse: PublishedWarehouse, options: PublisherOptions) {
  const { log, metrics, quietMs = 400, maxDelayMs = 4_000, ingestEveryMs = 1_000 } = options;
  const { bytesPerSecond = Number.POSITIVE_INFINITY } = options;
  const updateGauges = metrics && publicationGauges(metrics);
  const seconds = metrics?.histogram('publication_seconds');
  const failed = metrics?.counter('publication_failures_total');
  const pending = metrics?.gauge('publication_pending_seconds');
  let unseenSince: number | null = null;
  metrics?.beforeRead(() => pending?.set(unseenSince === null ? 0 : (Date.now() - unseenSince) / 1_000));
  let firstChange: number | null = null;
  let earliest = 0;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let isClosed = false;

  const plan = (): void => {
    if (isClosed || running !== null || firstChange === null) return;
    const at = Math.max(Math.min(Date.now() + quietMs, firstChange + maxDelayMs), earliest);
    clearTimeout(timer);
    timer = setTimeout(run, Math.max(0, at - Date.now()));
  };

  const run = (): void => {
    running ??= publishOnce().finally(() => {
      running = null;
      plan();
    });
  };

  const publishOnce = async (): Promise<void> => {
    const began = performance.now();
    try {
      // A failure does not prevent the publication of what is in the warehouse.
      await warehouse.ingestArchive().catch(logIngestError);
      firstChange = null;
      const publication = await warehouse.publish();
      const took = performance.now() - began;
      failures = 0;
      // A change right now waits for the pause and the next publication.
      const maxPauseMs = Math.max(maxDelayMs, maxDelayMs * MAX_WAIT_FACTOR - 2 * took);
      const copyMs = (1_000 * (publication.copiedBytes ?? 0)) / bytesPerSecond - took;
      earliest = Date.now() + Math.max(Math.min(took * PAUSE_FACTOR, maxPauseMs), copyMs);
      if (firstChange === null) unseenSince = null;
      updateGauges?.(publication);
      seconds?.observe(took / 1000);
      if (typeof publication.removedWal === 'string') {
        log.warn({ removed: publication.removedWal }, 'removed a write-ahead log beside the published file');
      }
      log.debug({ sequence: publication.sequence, tookMs: Math.round(took) }, 'published');
      options.onPublished?.(publication);
    } catch (error) {
      failures += 1;
      failed?.inc();
      firstChange = Date.now();
      earliest = Date.now() + Math.min(1_000 * 2 ** failures, MAX_RETRY_MS);
      log.error({ err: error, failures }, 'publishing failed; readers keep the previous copy');
    }
  };

  const changed = (): void => {
    firstChange ??= Date.now();
    unseenSince ??= firstChange;
    plan();
  };
  warehouse.onChange(changed);
  // An earlier process may have been killed between commit and publication.
  changed();
  const ingesting = ingestEveryMs > 0 ? setInterval(ingest, ingestEveryMs) : undefined;
  let isIngesting = false;
  let loggedAt = 0;
  function ingest(): void {
    if (isIngesting || running !== null) return;
    isIngesting = true;
    warehouse
      .ingestArchive()
      .catch(logIngestError)
      .finally(() => {
        isIngesting = false;
      });
  }

  function logIngestError(error: unknown): void {
    if (Date.now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = Date.now();
    log.error({ err: error }, 'the archive could not be ingested');
  }

  return {
    async close(): Promise<void> {
      isClosed = true;
      clearTimeout(timer);
      clearInterval(ingesting);
      await running;
      if (firstChange !== null) await publishOnce();
    },
  };
}
