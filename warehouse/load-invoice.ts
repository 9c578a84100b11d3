import { appendFileSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Archive } from '../archive/archive.ts';
import { dataFolder } from '../lib/files/data-folder.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import type { LoadOutcome, LoadRequest, Rejection } from '../lib/warehouse-requests.ts';
import type { ArchivedFile, CsvTolerance } from '../lib/wire/csv-file.ts';
import { isWarehouseError, WarehouseError } from './errors.ts';
import type { StoredRecord } from './ledger/archive-diff.ts';
import type { LoadFact } from './ledger/ingest.ts';
import { knownLoads } from './load/commit-load.ts';
import { isSmall } from './load/load-files.ts';
import { CRASH_RULE, rejectedFor } from './load/rejections.ts';
import type { Store } from './store.ts';

export interface InvoiceLoadsOptions {
  readonly store: Store;
  readonly archive: Archive;
  readonly dataDir: string;
  readonly tolerances: readonly CsvTolerance[];
  readonly recordsPerCut: number | undefined;
  readonly at: () => string;
}

interface FoundFile {
  readonly file: ArchivedFile;
  readonly csvPath: string;
}

export class InvoiceLoads {
  readonly #options: InvoiceLoadsOptions;
  readonly #attempts: LoadAttempts;
  readonly #known = new GroupCommit((requests: readonly LoadRequest[]) =>
    knownLoads(this.#options.store.ledgers, requests),
  );
  readonly #loading = new Set<string>();
  /**
   * By invoice, a load id below that of its load, which is numbered before it is committed. It stays after an error, which may
   * have come after the commit: the next start then looks for the fact.
   */
  readonly #below = new Map<string, number>();
  readonly #unrecorded = new Map<string, LoadFact>();

  constructor(options: InvoiceLoadsOptions) {
    this.#options = options;
    this.#attempts = new LoadAttempts(options.dataDir);
  }

  async find(sha256: string): Promise<FoundFile> {
    const { archive } = this.#options;
    const file = await archive.file(sha256);
    if (file === null) throw new WarehouseError('file-not-archived', [sha256, 'it is missing']);
    return { file, csvPath: await archive.localPath(sha256) };
  }

  /** @param request its invoice id in lower case */
  load(request: LoadRequest, found: FoundFile): Promise<LoadOutcome> {
    const { invoiceId } = request;
    return this.#options.store.aroundLoad({ invoiceId, sizeBytes: found.file.sizeBytes }, () =>
      this.#loadLocked(request, found),
    );
  }

  resetAttempts(invoiceId: string): void {
    this.#attempts.reset(invoiceId);
  }

  /** Up to this load id no load is in progress and the archive has all facts; null: neither is any other. */
  recordedTo(): number | null {
    const unrecorded = [...this.#unrecorded.values()].map(({ loadId }) => loadId - 1);
    const open = [...this.#below.values(), ...unrecorded];
    return open.length === 0 ? null : Math.min(...open);
  }

  async pendingLoads(): Promise<(load: StoredRecord) => boolean> {
    const loading = new Set(this.#loading);
    const unrecorded = await this.#options.store.unrecordedLoads?.();
    return ({ loadId, invoiceId }) =>
      loading.has(invoiceId ?? '') || unrecorded?.has(Number(loadId)) === true;
  }

  async #loadLocked(request: LoadRequest, found: FoundFile): Promise<LoadOutcome> {
    const unrecorded = this.#unrecorded.get(request.invoiceId);
    if (unrecorded !== undefined) await this.#record(unrecorded);
    // The batch of a small file checks all its members with one statement.
    const known = isSmall(found) ? null : await this.#known.do(request);
    if (known !== null) return known;
    const { invoiceId } = request;
    if (!this.#below.has(invoiceId)) this.#below.set(invoiceId, this.#options.store.lastLoadId ?? 0);
    this.#loading.add(invoiceId);
    try {
      const outcome = await this.#loadNew(request, found);
      this.#below.delete(invoiceId);
      return outcome;
    } finally {
      this.#loading.delete(invoiceId);
    }
  }

  async #loadNew(request: LoadRequest, found: FoundFile): Promise<LoadOutcome> {
    const { store, tolerances, recordsPerCut } = this.#options;
    const at = this.#options.at();
    const { sha256, acceptsSpreadsheet = false, ...origin } = request;
    const load = {
      ...{ ...origin, ...found, acceptsSpreadsheet, tolerances, recordsPerCut },
      ...{ version: null, loadedAt: at, isRepeated: false },
    };
    const attempt = this.#attempts.run(request, async (isAlone) => {
      const known = isAlone ? await this.#known.do(request) : null;
      return known ?? store.loader.load(load, isAlone);
    });
    const outcome = await attempt.catch(async (error: unknown) => {
      const known = isWarehouseError(error, 'loaded-meanwhile') ? await this.#known.do(request) : null;
      if (known === null) throw error;
      return known;
    });
    if (outcome.outcome !== 'loaded') return outcome;
    const { loadId, version, shipments, billingCost, isDenied, isDamaged } = outcome;
    await this.#record({
      ...{ kind: 'load', at, ...origin, sha256, loadId, version, shipments, billingCost },
      ...(isDenied ? { isDenied } : {}),
      ...(isDamaged ? { isDamaged } : {}),
    });
    return outcome;
  }

  /** The fact is kept until it is written, because a repeated request finds the file loaded and would not write it. */
  async #record(fact: LoadFact): Promise<void> {
    const { archive, store } = this.#options;
    this.#unrecorded.set(fact.invoiceId, fact);
    await archive.putFact(fact);
    this.#unrecorded.delete(fact.invoiceId);
    await store.loadRecorded?.(fact.loadId);
  }
}

export const MAX_CRASHES = 3;

interface AttemptedFile {
  readonly invoiceId: string;
  readonly sha256: string;
}

/**
 * A file whose load ended the process several times would block all loads. A counter file, one byte per attempt, exists until
 * the attempt returns or throws. It is not flushed, since a power cut is not the fault of a file.
 */
export class LoadAttempts {
  readonly #folder: string;
  /** All files in progress at a crash are counted; loaded one at a time, only the one at fault crashes again. */
  readonly #afterCrash = createSemaphore(1);

  constructor(dataDir: string) {
    this.#folder = dataFolder(dataDir).loadAttempts;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** @param work must not share its attempt with another file if `isAlone` */
  async run<T>(
    { invoiceId, sha256 }: AttemptedFile,
    work: (isAlone: boolean) => Promise<T>,
  ): Promise<T | Rejection> {
    const counter = join(this.#folder, `${invoiceId}.${sha256}`);
    const crashes = statSync(counter, { throwIfNoEntry: false })?.size ?? 0;
    if (crashes >= MAX_CRASHES) {
      return rejectedFor(CRASH_RULE, `billsync ended ${crashes} times while it loaded the file`);
    }
    const attempt = async (): Promise<T> => {
      appendFileSync(counter, '.', { mode: 0o600 });
      try {
        return await work(crashes > 0);
      } finally {
        rmSync(counter, { force: true });
      }
    };
    return crashes === 0 ? attempt() : this.#afterCrash(attempt);
  }

  reset(invoiceId: string): void {
    for (const name of readdirSync(this.#folder)) {
      if (name.startsWith(`${invoiceId.toLowerCase()}.`)) rmSync(join(this.#folder, name), { force: true });
    }
  }
}
