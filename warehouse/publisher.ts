/**
 * Publishes after changes: soon when the writer is quiet, in between when it never is (at most 2 s idle, 10 s busy).
 *
 * A large warehouse takes longer to copy, so pauses grow with what the last publication took: publications take a tenth of the
 * time as long as one takes up to 0.8 s. Above that the 10 s are kept, and they take more: a fifth where one takes 1.5 s, a
 * quarter where it takes 2 s.
 */

import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Publication, Warehouse } from './warehouse.ts';

/** The part of a warehouse that it needs. */
export type PublishedWarehouse = Pick<Warehouse, 'ingestArchive' | 'publish' | 'onChange'>;

export interface PublisherOptions {
  readonly log: Logger;
  readonly metrics?: Metrics;
  /** Quiet time after the last change before a publication. */
  readonly quietMs?: number;
  /** The longest a change waits under load. */
  readonly longestMs?: number;
  readonly onPublished?: (publication: Publication) => void;
  /** How often the archive is asked for what no load reported: test events, duplicates. 0: never by itself. */
  readonly ingestEveryMs?: number;
}

export interface Publisher {
  /** Publishes what is not published yet and stops. */
  close(): Promise<void>;
}

/** A tenth of the time, as long as a change is still published within so many times the longest wait. */
const LEAST_PAUSE_FACTOR = 10;
const MOST_WAITS = 2.5;
const LONGEST_RETRY_MS = 30_000;
const COMPLAIN_EVERY_MS = 60_000;

/** @returns says which publication readers see now, whoever made it */
export function publicationGauges(metrics: Metrics): (publication: Publication) => void {
  const number = metrics.gauge('publication_sequence');
  const madeAt = metrics.gauge('publication_timestamp_seconds');
  return ({ sequence, publishedAt }) => {
    number.set(sequence);
    madeAt.set(Date.parse(publishedAt) / 1_000);
  };
}

/** Starts at once and publishes until it is closed; a failure is tried again and shows in the metrics. */
export function startPublisher(warehouse: PublishedWarehouse, options: PublisherOptions): Publisher {
  const { log, quietMs = 400, longestMs = 4_000, ingestEveryMs = 1_000 } = options;
  const { metrics } = options;
  const tell = metrics && publicationGauges(metrics);
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

  /** Every change pushes the publication back a little, but never beyond `longestMs` after the first. */
  const plan = (): void => {
    if (isClosed || running !== null || firstChange === null) return;
    const at = Math.max(Math.min(Date.now() + quietMs, firstChange + longestMs), earliest);
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
      // What cannot be read on keeps nobody from what is there.
      await warehouse.ingestArchive().catch(complain);
      firstChange = null;
      const publication = await warehouse.publish();
      const took = performance.now() - began;
      failures = 0;
      // A change of this moment waits for the pause and the publication behind it.
      const longestPauseMs = Math.max(longestMs, longestMs * MOST_WAITS - 2 * took);
      earliest = Date.now() + Math.min(took * LEAST_PAUSE_FACTOR, longestPauseMs);
      if (firstChange === null) unseenSince = null;
      tell?.(publication);
      seconds?.observe(took / 1000);
      if (publication.removedWals !== undefined && publication.removedWals.length > 0) {
        log.warn({ removed: publication.removedWals }, 'removed a write-ahead log beside the published file');
      }
      log.debug({ sequence: publication.sequence, tookMs: Math.round(took) }, 'published');
      options.onPublished?.(publication);
    } catch (error) {
      failures += 1;
      failed?.inc();
      firstChange = Date.now();
      earliest = Date.now() + Math.min(1_000 * 2 ** failures, LONGEST_RETRY_MS);
      log.error({ err: error, failures }, 'readers keep the previous copy, publishing failed');
    }
  };

  const changed = (): void => {
    firstChange ??= Date.now();
    unseenSince ??= firstChange;
    plan();
  };
  warehouse.onChange(changed);
  // What an earlier process committed and was killed before it could publish is no change of ours to hear of.
  changed();
  const ingesting = ingestEveryMs > 0 ? setInterval(ingest, ingestEveryMs) : undefined;
  let isIngesting = false;
  let complainedAt = 0;
  function ingest(): void {
    if (isIngesting || running !== null) return;
    isIngesting = true;
    warehouse
      .ingestArchive()
      .catch(complain)
      .finally(() => {
        isIngesting = false;
      });
  }

  /** Asked every second: what goes on for long, as a full disk does, is said once a minute. */
  function complain(error: unknown): void {
    if (Date.now() - complainedAt < COMPLAIN_EVERY_MS) return;
    complainedAt = Date.now();
    log.error({ err: error }, 'the archive could not be read on');
  }

  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      clearInterval(ingesting);
      await running;
      if (firstChange !== null) await publishOnce();
    },
  };
}
