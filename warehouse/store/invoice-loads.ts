/** A file is loaded once: what is there already is known, a load that counts is told to the archive, and nothing in between is forgotten. */

import type { Archive, Fact } from '../../archive/archive.ts';
import { GroupCommit } from '../../lib/group-commit.ts';
import type { ArchivedFile, CsvTolerance } from '../../lib/wire/csv-file.ts';
import { FileNotArchivedError, LoadedMeanwhileError } from '../errors.ts';
import type { HeldRecord } from '../ledger/archive-diff.ts';
import { knownLoads } from '../load/known-load.ts';
import { LoadAttempts } from '../load/load-attempts.ts';
import { isSmall } from '../load/load-batch.ts';
import type { LoadOutcome, LoadRequest } from '../warehouse.ts';
import type { Store } from './store.ts';

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

  /** @throws FileNotArchivedError before anything is held for it */
  async find(sha256: string): Promise<FoundFile> {
    const { archive } = this.#parts;
    const file = await archive.file(sha256);
    if (file === null) throw new FileNotArchivedError(sha256, 'it is not there');
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
      const meanwhile = error instanceof LoadedMeanwhileError ? await this.#knowing.do(request) : null;
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
