/**
 * Takes many files that a person exported: all that wait together are archived, told of and loaded together, since the
 * archive shares its flushes and the warehouse its transactions among those who come at once.
 *
 * Files of one invoice are loaded in the order in which they are named: of two that nothing else announces the last one counts.
 */

import { statSync } from 'node:fs';
import { createSemaphore } from '../../lib/semaphore.ts';
import { KeyedMutex } from '../duckdb/read-write-lock.ts';
import { inWaves } from '../load/waves.ts';
import {
  archiveCopy,
  type ImportDeps,
  type Imported,
  type ImportRequest,
  invoiceOf,
  loadCopy,
  nameCopy,
} from './import-file.ts';
import { type Copy, type CopyBegun, THREAD_FROM_BYTES, takeCopy } from './take-copy.ts';

export interface ImportManyDeps extends ImportDeps {
  /** Files done, refused ones too. */
  readonly onDone?: (done: number) => void;
}

/** Large files that are read at once, each by a thread of its own. */
const LARGE_AT_ONCE = 2;
/** Questions to the service. */
const LOOK_UPS_AT_ONCE = 8;

/**
 * @param begun the first file's copy, when it was begun before there was a warehouse; discarded here
 * @returns in the order of the requests
 * @throws what went wrong first; what is at work by then is done before
 */
export async function importFiles(
  asked: ImportManyDeps,
  requests: readonly ImportRequest[],
  begun?: CopyBegun,
): Promise<readonly Imported[]> {
  const deps = askingInTurn(asked);
  const [invoices, largeInTurn] = [new KeyedMutex(), createSemaphore(LARGE_AT_ONCE)];
  const results: Imported[] = [];
  const copies: (CopyBegun | undefined)[] = [begun];
  const copyOf = (index: number, path: string): Promise<Copy> => {
    const copy = copies[index] ?? takeCopy(deps.dataDir, path);
    copies[index] = copy;
    return copy.taken;
  };
  const discard = async (index: number): Promise<void> => {
    await copies[index]?.discard();
    delete copies[index];
  };
  let done = 0;
  try {
    await inWaves(requests.entries(), {
      sizeOf: ([, { path }]) => sizeOf(path),
      async prepare([index, request]) {
        const read = (): Promise<Copy> => copyOf(index, request.path);
        const copy = await (sizeOf(request.path) < THREAD_FROM_BYTES ? read() : largeInTurn(read));
        return archiveCopy(deps, request, nameCopy(request, copy));
      },
      async finish([index, request], archived) {
        const key = archived.invoiceId ?? request.path;
        results[index] = await invoices.run(key, () => loadCopy(deps, request, archived));
        await discard(index);
        done += 1;
        deps.onDone?.(done);
      },
    });
  } finally {
    for (const index of copies.keys()) await discard(index);
  }
  return results;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Has each file imported elsewhere, so many at once, and those of an invoice one after the other. */
export async function inOrderOfInvoices<T>(
  requests: readonly ImportRequest[],
  atOnce: number,
  ask: (request: ImportRequest) => Promise<T>,
): Promise<readonly T[]> {
  const keys = requests.map(({ invoiceId, path }) => invoiceId ?? invoiceOf(path) ?? path);
  const [inTurn, invoices] = [createSemaphore(atOnce), new KeyedMutex()];
  return Promise.all(
    requests.map((request, index) =>
      inTurn(() => invoices.run((keys[index] ?? '').toLowerCase(), () => ask(request))),
    ),
  );
}

function askingInTurn(deps: ImportManyDeps): ImportManyDeps {
  const { lookUp } = deps;
  if (lookUp === undefined) return deps;
  const inTurn = createSemaphore(LOOK_UPS_AT_ONCE);
  return { ...deps, lookUp: (invoiceId) => inTurn(() => lookUp(invoiceId)) };
}
