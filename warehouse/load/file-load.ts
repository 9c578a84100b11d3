/** A file that is to be loaded, and where its rows go. */

import type { ArchivedFile, CsvTolerance } from '../../lib/wire/csv-file.ts';
import type { FileSource } from '../../lib/wire/names.ts';
import type { Session } from '../duckdb/session.ts';
import type { Statements } from '../duckdb/statements.ts';

export interface FileLoad {
  readonly invoiceId: string;
  readonly file: ArchivedFile;
  /** Of the file on this machine. */
  readonly csvPath: string;
  readonly source: FileSource;
  readonly announcedSha256: string | null;
  readonly encodedSha256?: string | null;
  /** As it was decided when it was loaded first; of a repeated load only. */
  readonly isDenied?: boolean;
  readonly isDamaged?: boolean;
  /** See `LoadRequest`. */
  readonly acceptsSpreadsheet?: boolean;
  readonly eventId: string | null;
  readonly workflowRunId: string | null;
  readonly loadId: number;
  /** null: the next one. A rebuild says which it was. */
  readonly version: number | null;
  /** ISO 8601 UTC. */
  readonly loadedAt: string;
  /** A rebuild repeats what was decided then: neither a later void nor a header refuses the rows. */
  readonly isRepeated: boolean;
  /** What the partner accepts besides the specified form. */
  readonly tolerances: readonly CsvTolerance[];
  /** As the file's scan has it; `RECORDS_PER_CUT` unless told. */
  readonly recordsPerCut?: number | undefined;
}

/** Where a load's rows and its line in the ledger lie, and what makes either final. */
export interface LoadPlaces {
  /** Around everything that makes the load count. */
  ledger<T>(session: Session, work: (ledger: Statements) => Promise<T>): Promise<T>;
  /** Around the rows alone, inside the above. */
  rows<T>(session: Session, work: () => Promise<T>): Promise<T>;
}
