/** The archive's contract: events, files and facts, written once, never changed; everything else can be rebuilt from it. */

import type { ComparedClock } from '../lib/health/clocks.ts';
import type { ArchivedFile, CsvScan } from '../lib/wire/csv-file.ts';
import type { FileSource, InvoiceEvent, InvoiceHeader, WebhookStatus } from '../lib/wire/names.ts';
import { printable } from '../lib/wire/text.ts';

/** What the endpoint decided about a delivery. Only `accepted` ones reach Temporal. */
export type DeliveryVerdict = 'accepted' | 'test' | 'quarantined';

/** A delivery as it is kept permanently. */
export interface ArchivedEvent {
  readonly eventId: string;
  /** ISO 8601 UTC, our clock. */
  readonly receivedAt: string;
  readonly verdict: DeliveryVerdict;
  /** Why a quarantined delivery was not acted on, e.g. `unknown-event-type`; null otherwise. */
  readonly reason: string | null;
  /** The parsed event, its presigned URL without query; null when the delivery could not be parsed that far. */
  readonly event: InvoiceEvent | null;
  /** The envelope as received (exact digits, unknown fields kept), presigned URL without query, as JSON text. */
  readonly envelope: string;
  /** Of an event whose body was purged, `envelope` then being empty: when, and what the body was. */
  readonly trimmed?: { readonly at: string; readonly sha256: string; readonly sizeBytes: number };
}

/**
 * A small record of something that no event reports. `at` is ISO 8601 UTC. Together with the events these are
 * enough for `rebuild` to make every instant and `--as-known-on` answer again.
 */
export type Fact =
  | { readonly kind: 'duplicate'; readonly at: string; readonly eventId: string }
  | {
      readonly kind: 'file';
      readonly at: string;
      readonly invoiceId: string;
      readonly sha256: string;
      readonly sizeBytes: number;
      readonly source: FileSource;
      /** The URL the bytes came from without its query; for source `file` the base name; null for export-csv. */
      readonly from: string | null;
    }
  | {
      readonly kind: 'load';
      readonly at: string;
      readonly invoiceId: string;
      readonly sha256: string;
      readonly source: FileSource;
      readonly announcedSha256: string | null;
      /** What was announced where that was the hash of the file as HTTP encoded it; missing: it was not. */
      readonly encodedSha256?: string | null;
      /** The service had named the hash of another file: it counts only if a person chooses it; missing: no. */
      readonly isDenied?: boolean;
      /** A spreadsheet seems to have changed its cells, and the person accepted that; missing: no. */
      readonly isDamaged?: boolean;
      readonly version: number;
      readonly loadId: number;
      /** What was loaded, so that `verify` can compare with a source outside the warehouse; exact decimal text. */
      readonly shipments?: number;
      readonly billingCost?: string;
      /** Which event and which workflow run asked for it (`explain`). */
      readonly eventId?: string | null;
      readonly workflowRunId?: string | null;
    }
  | {
      readonly kind: 'details';
      readonly at: string;
      readonly invoiceId: string;
      readonly status: WebhookStatus | null;
      /** The status as the service wrote it, when it is not a known one. */
      readonly unknownStatus?: string | null;
      readonly header: Partial<InvoiceHeader>;
    }
  | {
      readonly kind: 'attention';
      readonly at: string;
      readonly invoiceId: string;
      /** Stable code, e.g. `hash-mismatch`, `csv-rejected`, `not-exported`. */
      readonly code: string;
      /** What a person reads: what happened, what was tried, what to do. */
      readonly reason: string;
    }
  | { readonly kind: 'resolved'; readonly at: string; readonly invoiceId: string }
  | {
      /** A problem of an invoice on which work continues. */
      readonly kind: 'failure';
      readonly at: string;
      readonly invoiceId: string;
      readonly code: string;
      readonly reason: string;
    }
  | { readonly kind: 'recovered'; readonly at: string; readonly invoiceId: string }
  | {
      /** A person undid a void. */
      readonly kind: 'restored';
      readonly at: string;
      readonly invoiceId: string;
      /** The operating system's user name of the person, and the reason in their own words. */
      readonly by: string;
      readonly reason: string;
    }
  | {
      /** A person made an older file the one that counts. */
      readonly kind: 'version-chosen';
      readonly at: string;
      readonly invoiceId: string;
      readonly sha256: string;
      readonly version: number;
      /** The file ranks as if it was announced at this instant: as newer than everything announced before, by any clock. */
      readonly countsFrom: string;
      readonly by: string;
      readonly reason: string;
    }
  | {
      /** The service was asked for the hash of the invoice's file (spec 4.3), and this was its answer. */
      readonly kind: 'hash-asked';
      readonly at: string;
      readonly invoiceId: string;
      readonly sha256: string;
      readonly sizeBytes: number;
    }
  | { readonly kind: 'discard'; readonly at: string; readonly quarantineId: string; readonly note: string }
  | {
      /** A file is about to be removed for its age (ADR 20). It may come again, and then lies here like any other. */
      readonly kind: 'purged';
      readonly at: string;
      readonly invoiceId: string;
      readonly sha256: string;
      readonly sizeBytes: number;
      readonly by: string;
      readonly reason: string;
    }
  | {
      /** Nothing of what it names may be purged until it is lifted. */
      readonly kind: 'hold';
      readonly at: string;
      readonly holdId: string;
      /** `tenant`: `subject` is an id of it, the service's or the partner's; `all`: it is empty. */
      readonly scope: 'all' | 'tenant' | 'invoice';
      readonly subject: string;
      readonly by: string;
      readonly reason: string;
    }
  | {
      readonly kind: 'hold-lifted';
      readonly at: string;
      readonly holdId: string;
      readonly by: string;
      readonly reason: string;
    };

/** A place of the archive that should hold an event, a fact or a file's description and holds none that can be read. */
export interface UnreadableRecord {
  /** Inside the archive: file, file and line, or key. */
  readonly where: string;
  /** Names fields, never values. */
  readonly why: string;
}

/** Called for each record that was skipped as damaged; not for a line torn by a crash, which was never confirmed to anybody. */
export type OnUnreadable = (record: UnreadableRecord) => void;

/** What lies in the archive as a file. */
export interface StoredFile {
  /** Of the bytes that are there. */
  readonly sha256: string;
  /** Where DuckDB can read them; null when they are not the file's. */
  readonly path: string | null;
}

/** A cursor that this archive never issued; its holder has to read from the beginning. */
export class CursorError extends RangeError {
  override readonly name = 'CursorError';

  constructor(cursor: string) {
    super(`Not a cursor of this archive: ${printable(cursor, 80)}`);
  }
}

export interface Archive {
  /**
   * Durable before it answers. `known` when an event of that id is there already (nothing is written then). One
   * exception: what can be acted on outranks what was kept before (test < quarantined < accepted), so a requeued
   * delivery is `new` again, given once more by `events`, and from then on the only event of its id.
   */
  putEvent(event: ArchivedEvent): Promise<'new' | 'known'>;
  /** null also when the record is damaged; `events` reports those. */
  event(eventId: string): Promise<ArchivedEvent | null>;
  /**
   * Events in order of `receivedAt`, then eventId, within a part of the journal, which is in order of arrival: of millions only
   * a part is held in memory. One that was put again much later may be given again. With `after`, only what was archived since the call that
   * returned that cursor, however late its `receivedAt`; ask again with the last cursor yielded to go on.
   *
   * @throws CursorError `after` is none of this archive: its journal is another one, or was rebuilt
   */
  events(options?: {
    readonly after?: string;
    readonly onUnreadable?: OnUnreadable;
  }): AsyncIterable<{ readonly event: ArchivedEvent; readonly cursor: string }>;

  /** Names (`event-name.ts`) of the events that `events` would give, each once; none of them is read. */
  eventNames(): AsyncIterable<string>;

  /**
   * Moves a finished local file in under its hash (fsync, rename, folder fsync). Idempotent; bytes that were lost or
   * damaged since are put there again.
   */
  putFile(
    path: string,
    file: { readonly sha256: string; readonly sizeBytes: number; readonly scan: CsvScan },
  ): Promise<ArchivedFile>;
  /** A damaged description is rebuilt from the bytes, if these have the file's hash. */
  file(sha256: string): Promise<ArchivedFile | null>;
  /** A path on this machine that DuckDB can read; an S3 archive brings the file to a local cache first. */
  localPath(sha256: string): Promise<string>;
  /**
   * Reads what the archive itself holds now, never a copy that was kept on this machine: `verify` proves that. null when
   * the file is not there.
   */
  reread(sha256: string): Promise<StoredFile | null>;
  /** Every file, for `verify` and clean-up. */
  files(): AsyncIterable<ArchivedFile>;

  /**
   * Removes a file and its description, for a purge alone: whoever calls has archived the fact `purged` before. Idempotent.
   */
  removeFile(sha256: string): Promise<void>;
  /**
   * Puts the hash of an event's body in the place of the body, for a purge alone; what was understood of it stays, so that
   * the event is known and counts as before. @returns whether there was a body
   */
  trimEvent(eventId: string, at: string): Promise<boolean>;

  putFact(fact: Fact): Promise<void>;
  /** All facts in order of `at`, then of writing; `onUnreadable` is called for each damaged one that is left out. */
  facts(onUnreadable?: OnUnreadable): AsyncIterable<Fact>;
  /**
   * Facts that were archived since the call that yielded that cursor (null: all), in order of writing; ask again
   * with the last cursor yielded to go on. The warehouse takes duplicates and files into its ledger this way.
   *
   * @throws CursorError as of `events`
   */
  factsAfter(
    cursor: string | null,
    onUnreadable?: OnUnreadable,
  ): AsyncIterable<{ readonly fact: Fact; readonly cursor: string }>;
  /** Missing where the archive is no server. */
  readonly clock?: ComparedClock;
  close(): Promise<void>;
}
