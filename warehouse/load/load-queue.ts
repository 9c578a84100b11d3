import { GroupCommit } from '../../lib/group-commit.ts';
import type { Metrics } from '../../lib/metrics.ts';
import type { FileLoadOutcome, LoadOutcome } from '../../lib/warehouse-requests.ts';
import type { Database } from '../duckdb/database.ts';
import type { Ledgers } from '../duckdb/statements.ts';
import { knownLoads } from './commit-load.ts';
import { BATCH_FILES, BATCH_RECORDS, isSmall, loadBatch, loadFile } from './load-files.ts';
import type { FileLoad, LoadTransactions, NewLoad } from './rejections.ts';

export interface LoaderOptions<Load> {
  readonly database: Database;
  readonly numbered: (load: Load) => FileLoad | Promise<FileLoad>;
  readonly transactionsOf: (loads: readonly FileLoad[]) => LoadTransactions;
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly ledgers?: Ledgers;
  readonly metrics?: Metrics | undefined;
  readonly lingerMs?: number | undefined;
}

export class BatchingLoader<Load extends NewLoad> {
  readonly #options: LoaderOptions<Load>;
  readonly #batches: GroupCommit<Load, LoadOutcome | null>;
  readonly #measure: (files: number) => void;

  constructor(options: LoaderOptions<Load>) {
    this.#options = options;
    const sizes = options.metrics?.histogram('load_batch_files');
    this.#measure = (files) => sizes?.observe(files);
    this.#batches = new GroupCommit((loads: readonly Load[]) => this.#loadGroup(loads), {
      maxItems: BATCH_FILES,
      weigh: ({ file }) => file.scan.records,
      maxWeight: BATCH_RECORDS,
      lingerMs: options.lingerMs ?? 0,
    });
  }

  /** The caller has checked whether a file that is not small or has to be alone is already loaded. */
  async load(load: Load, isAlone = false): Promise<LoadOutcome> {
    const outcome = isAlone || !isSmall(load) ? null : await this.#batches.do(load);
    return outcome ?? this.#loadAlone(load);
  }

  async #loadGroup(loads: readonly Load[]): Promise<readonly (LoadOutcome | null)[]> {
    const { ledgers } = this.#options;
    const files = loads.map(({ invoiceId, file }) => ({ invoiceId, sha256: file.sha256 }));
    const known = ledgers === undefined ? [] : await knownLoads(ledgers, files);
    const rest = await this.#loadNew(loads.filter((_, index) => (known[index] ?? null) === null));
    const next = rest.values();
    return loads.map((_, index) => known[index] ?? next.next().value ?? null);
  }

  async #loadNew(loads: readonly Load[]): Promise<readonly (FileLoadOutcome | null)[]> {
    if (loads.length <= 1) return Promise.all(loads.map((load) => this.#loadAlone(load)));
    this.#measure(loads.length);
    const { database, numbered, transactionsOf, inTurn } = this.#options;
    return inTurn(async () => {
      const batch: FileLoad[] = [];
      for (const load of loads) batch.push(await numbered(load));
      return loadBatch(database, batch, transactionsOf(batch));
    });
  }

  #loadAlone(load: Load): Promise<FileLoadOutcome> {
    this.#measure(1);
    const { database, numbered, transactionsOf, inTurn } = this.#options;
    return inTurn(async () => {
      const one = await numbered(load);
      return loadFile(database, one, transactionsOf([one]));
    });
  }
}
