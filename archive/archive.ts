/** The interface of an archive: events, files and facts, written once; everything else can be rebuilt from it. */

import type { ComparedClock } from '../lib/health/clocks.ts';
import type { ArchivedFile, CsvScan } from '../lib/wire/csv-file.ts';
import { printable } from '../lib/wire/text.ts';
import type { ArchivedEvent, Fact, OnUnreadable } from './records.ts';

export type { ArchivedEvent, DeliveryVerdict, Fact, OnUnreadable, UnreadableRecord } from './records.ts';

export interface StoredFile {
  /** SHA-256 of the archived bytes. */
  readonly sha256: string;
  /** For DuckDB; null when the bytes do not have the requested hash. */
  readonly path: string | null;
}

/** A cursor of another archive, or of a journal that was rebuilt; its holder has to read from the beginning. */
export class CursorError extends RangeError {
  override readonly name = 'CursorError';

  constructor(cursor: string) {
    super(`Not a cursor of this archive: ${printable(cursor, 80)}`);
  }
}

export interface Archive {
  /**
   * Resolves when the event is durable. `known`: an event with that id is archived already, nothing is written. A better
   * verdict outranks the archived one (test < quarantined < accepted): a requeued delivery is `new` again, returned once more by
   * `events`, and from then on the only event with its id.
   */
  putEvent(event: ArchivedEvent): Promise<'new' | 'known'>;
  /** null also for a damaged record, which `events` reports. */
  event(eventId: string): Promise<ArchivedEvent | null>;
  /**
   * Events in order of `receivedAt`, then eventId, within parts of the journal, which is in order of arrival. An event that is put
   * again later may be returned again. With `after`, only events archived since the call that returned that cursor.
   *
   * @throws CursorError
   */
  events(options?: {
    readonly after?: string;
    readonly onUnreadable?: OnUnreadable;
  }): AsyncIterable<{ readonly event: ArchivedEvent; readonly cursor: string }>;
  /** Names (`eventName`) of the events that `events` would return, each once, without reading them. */
  eventNames(): AsyncIterable<string>;

  /** Moves a local file into the archive, durably. Idempotent; restores a file that was lost or damaged. */
  putFile(
    path: string,
    file: { readonly sha256: string; readonly sizeBytes: number; readonly scan: CsvScan },
  ): Promise<ArchivedFile>;
  /** Creates a damaged description again from the bytes, if these have the file's hash. */
  file(sha256: string): Promise<ArchivedFile | null>;
  /** A path on this machine for DuckDB; an S3 archive copies the file to a local cache. */
  localPath(sha256: string): Promise<string>;
  /** Reads the archive itself, not a local copy, for `verify`; null when the file is missing. */
  reread(sha256: string): Promise<StoredFile | null>;
  files(): AsyncIterable<ArchivedFile>;

  /** Removes a file and its description, for a purge, which archives the fact `purged` before. Idempotent. */
  removeFile(sha256: string): Promise<void>;
  /** Replaces the body of an event by its hash, for a purge; the event still counts. @returns false: no body */
  trimEvent(eventId: string, at: string): Promise<boolean>;

  putFact(fact: Fact): Promise<void>;
  /** In order of `at`, then of writing. */
  facts(onUnreadable?: OnUnreadable): AsyncIterable<Fact>;
  /** In order of writing, since the call that returned that cursor (null: all). @throws CursorError */
  factsAfter(
    cursor: string | null,
    onUnreadable?: OnUnreadable,
  ): AsyncIterable<{ readonly fact: Fact; readonly cursor: string }>;
  /** Missing unless the archive is on a server. */
  readonly clock?: ComparedClock;
  close(): Promise<void>;
}
