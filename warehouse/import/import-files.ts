/**
 * Takes many files that a person exported: all that wait together are archived, told of and loaded together, since the
 * archive shares its flushes and the warehouse its transactions among those who come at once.
 *
 * Files of one invoice are loaded in the order in which they are named: of two that nothing else announces the last one counts.
 */

import { statSync } from 'node:fs';
import { createTurns } from '../../ops/turns.js';
import { KeyedMutex } from '../duckdb/read-write-lock.js';
import {
  type ImportDeps,
  type Imported,
  type ImportRequest,
  importCopy,
  invoiceOf,
  nameCopy,
} from './import-file.js';
import { type CopyBegun, THREAD_FROM_BYTES, takeCopy } from './take-copy.js';

export interface ImportManyDeps extends ImportDeps {
  /** Files done, refused ones too. */
  readonly onDone?: (done: number) => void;
}

/** Files at work at once: as many as two batches, so that one is read while the other is loaded. */
const AT_ONCE = 400;
/** Of large ones: one is read by a thread of its own while the other is loaded. */
const LARGE_AT_ONCE = 2;
/** Questions to the service. */
const LOOK_UPS_AT_ONCE = 8;

/**
 * @param begun copies that were begun before there was a warehouse, by number of request; discarded here when it gets to them
 * @returns in the order of the requests
 * @throws what went wrong first; what is at work by then is done before
 */
export async function importFiles(
  asked: ImportManyDeps,
  requests: readonly ImportRequest[],
  begun: readonly (CopyBegun | undefined)[] = [],
): Promise<readonly Imported[]> {
  const deps = askingInTurn(asked);
  const results: Imported[] = [];
  const running = { all: 0, large: 0, done: 0 };
  let oneEnded: () => void = () => undefined;
  let failure: { readonly error: unknown } | null = null;
  const queue = new InOrder(deps);
  const isFull = (isLarge: boolean): boolean =>
    running.all >= AT_ONCE || (isLarge && running.large >= LARGE_AT_ONCE);

  const run = async (index: number, request: ImportRequest, isLarge: boolean): Promise<void> => {
    running.all += 1;
    running.large += isLarge ? 1 : 0;
    try {
      results[index] = await queue.import(request, begun[index] ?? takeCopy(deps.dataDir, request.path));
      running.done += 1;
      deps.onDone?.(running.done);
    } catch (error) {
      failure ??= { error };
    }
    running.all -= 1;
    running.large -= isLarge ? 1 : 0;
    oneEnded();
  };
  const end = (): Promise<void> =>
    new Promise((resolve) => {
      oneEnded = resolve;
    });

  for (const [index, request] of requests.entries()) {
    const size = statSync(request.path, { throwIfNoEntry: false })?.size ?? 0;
    const isLarge = size >= THREAD_FROM_BYTES;
    while (isFull(isLarge)) await end();
    if (failure !== null) break;
    void run(index, request, isLarge);
  }
  while (running.all > 0) await end();
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
  return results;
}

/** Has each file imported elsewhere, so many at once, and those of an invoice one after the other. */
export async function inOrderOfInvoices<T>(
  requests: readonly ImportRequest[],
  atOnce: number,
  ask: (request: ImportRequest) => Promise<T>,
): Promise<readonly T[]> {
  const keys: string[] = [];
  for (const { invoiceId, path } of requests) keys.push(invoiceId ?? (await invoiceOf(path)) ?? path);
  const [inTurn, invoices] = [createTurns(atOnce), new KeyedMutex()];
  return Promise.all(
    requests.map((request, index) =>
      inTurn(() => invoices.run((keys[index] ?? '').toLowerCase(), () => ask(request))),
    ),
  );
}

function askingInTurn(deps: ImportManyDeps): ImportManyDeps {
  const { lookUp } = deps;
  if (lookUp === undefined) return deps;
  const inTurn = createTurns(LOOK_UPS_AT_ONCE);
  return { ...deps, lookUp: (invoiceId) => inTurn(() => lookUp(invoiceId)) };
}

/** One file after the other finds out whose it is; then only those of an invoice wait for each other. */
class InOrder {
  readonly #deps: ImportDeps;
  readonly #naming = createTurns(1);
  readonly #invoices = new KeyedMutex();

  constructor(deps: ImportDeps) {
    this.#deps = deps;
  }

  async import(request: ImportRequest, begun: CopyBegun): Promise<Imported> {
    try {
      const { imported } = await this.#naming(async () => {
        const named = await nameCopy(request, await begun.taken);
        const key = named.invoiceId ?? request.path;
        return { imported: this.#invoices.run(key, () => importCopy(this.#deps, request, named)) };
      });
      return await imported;
    } finally {
      await begun.discard();
    }
  }
}
