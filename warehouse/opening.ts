/** What a warehouse is opened and made again with, and what is said of it: the same for a DuckDB file and a lake. */

import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Publication } from './warehouse.ts';

export interface OpenWarehouseOptions {
  readonly settings: Pick<
    Settings,
    'dataDir' | 'environment' | 'warehouse' | 'warehouseMemoryLimit' | 'archive'
  > &
    Partial<Pick<Settings, 'csvTolerate'>>;
  readonly archive: Archive;
  readonly log: Logger;
  readonly metrics?: Metrics;
  readonly now?: () => Date;
  /** Stands in the lock file; a refusal names it. */
  readonly role?: string;
  /** Of a lake: no other writer beside this one, as a file never has one; later ones wait until it is closed. */
  readonly isAlone?: boolean;
  /** How long a living owner of the lock is waited for; 0 by default. */
  readonly lockPatienceMs?: number;
  /** How long loads and events that come while others are written, or after several were, wait for more company; 0 by default (ADR 15). */
  readonly lingerMs?: number;
  /** Other than usual for tests, whose files are small: from how many records on a file is read in chunks (ADR 16). */
  readonly recordsPerCut?: number;
  /** Of the disk, left to the inbox; 32 MiB by default. */
  readonly reservedBytes?: number;
  /** DuckDB cannot go on (disk full at a checkpoint, damage; a WarehouseCorruptError): every later call fails; end the process. */
  readonly onFatal?: (error: Error) => void;
  /** Records of the archive could not be taken in: `verify` lists them, a person has to look. */
  readonly onSetAside?: OnSetAside;
  readonly onCatchUp?: (progress: CatchUpProgress) => void;
}

export interface CatchUpProgress {
  readonly events: number;
  readonly facts: number;
  readonly loadsDone: number;
  readonly loadsOf: number;
}

export interface SetAside {
  /** Where in the archive, or which record. */
  readonly place: string;
  readonly why: string;
}

/** Is told of each once; there is always one at least. */
export type OnSetAside = (records: readonly SetAside[]) => void;

export interface RebuildOptions {
  readonly settings: OpenWarehouseOptions['settings'];
  readonly archive: Archive;
  readonly log: Logger;
  readonly now?: () => Date;
  readonly onProgress?: (progress: CatchUpProgress) => void;
  /** Puts it in place also when it holds less than what it replaces. */
  readonly acceptLoss?: boolean;
}

/** Something that the archive tells of and that could not be made of it. */
export interface LostRecord {
  /** null when nobody can say whose it was. */
  readonly invoiceId: string | null;
  readonly loadId: number | null;
  readonly sha256: string | null;
  readonly why: string;
}

/** What could be made of the archive. */
export interface RebuildOutcome {
  readonly events: number;
  readonly loads: number;
  readonly invoices: number;
  /** That readers see. */
  readonly shipments: number;
  readonly losses: readonly LostRecord[];
  /** Whether it holds less than the warehouse that it would replace, as far as that can be read. */
  readonly holdsLess: boolean;
  /** Loads that were left out because their file was purged (ADR 20); none when it is missing. */
  readonly purgedLoads?: number;
  /** Of `loads`, those that a rebuild had made which was interrupted; missing: it began anew. */
  readonly loadsBefore?: number;
}

export interface CompletedRebuild extends RebuildOutcome {
  readonly publication: Publication;
  /** Where the old warehouse lies now; null when there was none. */
  readonly movedAside: string | null;
}
