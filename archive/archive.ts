import type { ComparedClock } from '../lib/health/clocks.ts';
import { printable } from '../lib/text.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import type { ArchivedEvent, Fact, OnUnreadable } from './records.ts';

export type { ArchivedEvent, DeliveryVerdict, Fact, OnUnreadable, UnreadableRecord } from './records.ts';

export interface StoredFile {
  readonly sha256: string;
  /** The path that DuckDB reads; null when the bytes do not have the requested hash. */
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
   * Resolves when the event is durable; with `known`, nothing was written. A better verdict outranks the archived one (test <
   * quarantined < accepted): the event is `new` again, and `events` returns it once more.
   */
  putEvent(event: ArchivedEvent): Promise<'new' | 'known'>;
  /** Returns null also for a damaged record, which `events` reports instead. */
  event(eventId: string): Promise<ArchivedEvent | null>;
  /**
   * Events are in order of `receivedAt`, then eventId, within parts in order of arrival; an event may be returned again. With
   * `after`, only events are returned that were archived since the call that returned that cursor. @throws CursorError
   */
  events(options?: {
    readonly after?: string;
    readonly onUnreadable?: OnUnreadable;
  }): AsyncIterable<{ readonly event: ArchivedEvent; readonly cursor: string }>;
  /** The names (`eventName`) of the events that `events` would return. */
  eventNames(): AsyncIterable<string>;

  /** Moves a local file into the archive, durably. A repeated call changes nothing, or restores a lost or damaged file. */
  putFile(path: string, file: ArchivedFile): Promise<ArchivedFile>;
  /** Creates a damaged description again from the bytes, if these have the file's hash. */
  file(sha256: string): Promise<ArchivedFile | null>;
  localPath(sha256: string): Promise<string>;
  /** Reads the archive itself, not a local copy, for `verify`; null when the file is missing. */
  reread(sha256: string): Promise<StoredFile | null>;
  files(): AsyncIterable<ArchivedFile>;

  removeFile(sha256: string): Promise<void>;
  /** Replaces the body of an event by its hash, for a purge; the event still counts. @returns false: no body */
  trimEvent(eventId: string, at: string): Promise<boolean>;

  putFact(fact: Fact): Promise<void>;
  facts(onUnreadable?: OnUnreadable): AsyncIterable<Fact>;
  /**
   * Returns facts in the order in which they were written, after the cursor of an earlier call; a cursor of null returns all.
   * @throws CursorError
   */
  factsAfter(
    cursor: string | null,
    onUnreadable?: OnUnreadable,
  ): AsyncIterable<{ readonly fact: Fact; readonly cursor: string }>;
  readonly clock?: ComparedClock;
  close(): Promise<void>;
}
