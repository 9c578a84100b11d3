/** A file is loaded once: what is there already is known, a load that counts is told to the archive, and nothing in between is forgotten. */

import { appendFileSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Archive, Fact } from '../archive/archive.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { ArchivedFile, CsvTolerance } from '../lib/wire/csv-file.ts';
import { KeyedMutex } from './duckdb/locks.ts';
import { isWarehouseError, WarehouseError } from './errors.ts';
import type { HeldRecord } from './ledger/archive-diff.ts';
import { knownLoads } from './load/commit-load.ts';
import { isSmall } from './load/load-files.ts';
import type { Store } from './store.ts';
import type { LoadOutcome, LoadRequest, Rejection } from './warehouse.ts';

export interface InvoiceLoadsParts {
  readonly store: Store;
  readonly archive: Archive;
  /** Of this machine, for the marks of attempts. */
  readonly dataDir: string;
  /** What the partner accepts besides the specified form of a CSV. */
  readonly tolerances: readonly CsvTolerance[];
  readonly recordsPerCut: number | undefined;
  /** ISO 8601 UTC. */
  readonly at: () => string;
}

interface FoundFile {
  readonly file: ArchivedFile;
  readonly csvPath: string;
}

type ToldLoad = Fact & { readonly kind: 'load' };

export class InvoiceLoads {
  readonly #parts: InvoiceLoadsParts;
  readonly #attempts: LoadAttempts;
  readonly #knowing = new GroupCommit((requests: readonly LoadRequest[]) =>
    knownLoads(this.#parts.store.ledgers, requests),
  );
  /** Invoices with a load at work here, from before its commit until its fact is in the archive. */
  readonly #loading = new Set<string>();
  /** By invoice: facts of loads that were committed and that the archive did not take. */
  readonly #unrecorded = new Map<string, ToldLoad>();

  constructor(parts: InvoiceLoadsParts) {
    this.#parts = parts;
    this.#attempts = new LoadAttempts(parts.dataDir);
  }

  /** @throws file-not-archived before anything is held for it */
  async find(sha256: string): Promise<FoundFile> {
    const { archive } = this.#parts;
    const file = await archive.file(sha256);
    if (file === null) throw new WarehouseError('file-not-archived', [sha256, 'it is not there']);
    return { file, csvPath: await archive.localPath(sha256) };
  }

  /** @param request its invoice id in lower case */
  load(request: LoadRequest, found: FoundFile): Promise<LoadOutcome> {
    const { invoiceId } = request;
    return this.#parts.store.aroundLoad({ invoiceId, sizeBytes: found.file.sizeBytes }, () =>
      this.#loadHeld(request, found),
    );
  }

  /** Somebody wants the invoice's files tried again. */
  tryAgain(invoiceId: string): void {
    this.#attempts.forget(invoiceId);
  }

  /** Whether the archive is yet to be told of a load, as seen at this moment. */
  async pendingLoads(): Promise<(load: HeldRecord) => boolean> {
    const loading = new Set(this.#loading);
    const unrecorded = await this.#parts.store.unrecordedLoads?.();
    return ({ subject, invoiceId }) =>
      loading.has(invoiceId ?? '') || unrecorded?.has(Number(subject)) === true;
  }

  async #loadHeld(request: LoadRequest, found: FoundFile): Promise<LoadOutcome> {
    const unrecorded = this.#unrecorded.get(request.invoiceId);
    if (unrecorded !== undefined) await this.#tell(unrecorded);
    // The group of a small file asks for all its members at once: a statement costs the same for sixteen.
    const known = isSmall(found) ? null : await this.#knowing.do(request);
    if (known !== null) return known;
    this.#loading.add(request.invoiceId);
    try {
      return await this.#loadNew(request, found);
    } finally {
      this.#loading.delete(request.invoiceId);
    }
  }

  async #loadNew(request: LoadRequest, found: FoundFile): Promise<LoadOutcome> {
    const { store, tolerances, recordsPerCut } = this.#parts;
    const at = this.#parts.at();
    const { sha256, acceptsSpreadsheet = false, ...asked } = request;
    const form = { tolerances, recordsPerCut };
    const load = {
      ...asked,
      acceptsSpreadsheet,
      ...found,
      version: null,
      loadedAt: at,
      isRepeated: false,
      ...form,
    };
    const attempt = this.#attempts.around(request, async (isSuspected) => {
      const known = isSuspected ? await this.#knowing.do(request) : null;
      return known ?? store.loadFile(load, isSuspected);
    });
    const outcome = await attempt.catch(async (error: unknown) => {
      const meanwhile = isWarehouseError(error, 'loaded-meanwhile') ? await this.#knowing.do(request) : null;
      if (meanwhile === null) throw error;
      return meanwhile;
    });
    if (outcome.outcome !== 'loaded') return outcome;
    const { loadId, version, shipments, billingCost, isDenied, isDamaged } = outcome;
    const doubts = { ...(isDenied ? { isDenied } : {}), ...(isDamaged ? { isDamaged } : {}) };
    await this.#tell({
      kind: 'load',
      at,
      ...asked,
      ...doubts,
      sha256,
      loadId,
      version,
      shipments,
      billingCost,
    });
    return outcome;
  }

  /** Kept until the archive has it: who asks for the file again is told that it is loaded, and nobody would tell. */
  async #tell(fact: ToldLoad): Promise<void> {
    const { archive, store } = this.#parts;
    this.#unrecorded.set(fact.invoiceId, fact);
    await archive.putFact(fact);
    this.#unrecorded.delete(fact.invoiceId);
    await store.loadRecorded?.(fact.loadId);
  }
}

/*  * Counts the attempts to load a file that ended with the process: one whose reading or writing kills it would kill it
 * again after every restart, and with it everybody else's loads.
 *
 * A mark lies beside the warehouse from before an attempt until there is an answer, an error too: what is left there was cut
 * short. It is a byte more per attempt in a file of its own, which a kill -9 cannot take back; it is not flushed, since
 * after a power cut nobody suspects a file.
 */

/** Attempts that may end with the process before the file is left alone. */
export const MAX_CRASHES = 3;

/** The rule that stands in the finding of a file that is left alone. */
export const CRASH_RULE = 'ends-the-process';

interface Attempted {
  /** In lower case. */
  readonly invoiceId: string;
  readonly sha256: string;
}

const SUSPECTS = 'suspects';

export class LoadAttempts {
  readonly #folder: string;
  /** When a process ends, whatever it loaded is suspected; one at a time they show which of them it was. */
  readonly #oneAtATime = new KeyedMutex();

  /** @param dataDir of this machine; where several load, each counts its own crashes */
  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'load-attempts');
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  /**
   * Does the work, or answers why it is not tried again.
   *
   * @param work is told whether the file is suspected: then it shares its attempt with no other
   * @throws what the work throws, or the system's error
   */
  async around<T>(attempted: Attempted, work: (isSuspected: boolean) => Promise<T>): Promise<T | Rejection> {
    const mark = join(this.#folder, `${attempted.invoiceId}.${attempted.sha256}`);
    const crashes = statSync(mark, { throwIfNoEntry: false })?.size ?? 0;
    if (crashes >= MAX_CRASHES) return leftAlone(crashes);
    const attempt = async (): Promise<T> => {
      appendFileSync(mark, '.', { mode: 0o600 });
      try {
        return await work(crashes > 0);
      } finally {
        rmSync(mark, { force: true });
      }
    };
    return crashes === 0 ? attempt() : this.#oneAtATime.run(SUSPECTS, attempt);
  }

  /** Somebody wants the invoice's files tried again. */
  forget(invoiceId: string): void {
    for (const name of readdirSync(this.#folder)) {
      if (name.startsWith(`${invoiceId.toLowerCase()}.`)) rmSync(join(this.#folder, name), { force: true });
    }
  }
}

function leftAlone(crashes: number): Rejection {
  const value = `billsync ended ${crashes} times while it loaded the file`;
  const finding = { line: null, row: null, column: null, rule: CRASH_RULE, value };
  return { outcome: 'rejected', findings: [finding], findingCount: 1 };
}
