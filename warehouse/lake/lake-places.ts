/** Where a load into a lake becomes final: rows first, on the disk, where nobody counts them, then the ledger. */

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Session } from '../duckdb/session.ts';
import type { Params } from '../duckdb/statements.ts';
import { spanOf } from '../load/commit-load.ts';
import type { LoadTransactions } from '../load/file-load.ts';
import type { Ledger, LedgerTransaction } from './ledger.ts';

/** For loads that are committed together. Holds their invoices, and tells by a lock of each that it is in flight. */
export function lakeTransactions(
  ledger: Ledger,
  loads: readonly { readonly invoiceId: string; readonly loadId: number }[],
): LoadTransactions {
  let held: LedgerTransaction | null = null;
  return {
    ledger: (_session, work) =>
      ledger.onInvoices(
        loads.map(({ invoiceId }) => invoiceId),
        async (transaction) => {
          for (const { loadId } of loads) await transaction.lock('load', loadId);
          held = transaction;
          return work(transaction);
        },
      ),
    rows: (session, work) =>
      session.transaction(async () => {
        const result = await work();
        await flushFiles(session, spanOf(loads));
        // The lake's commits follow each other; whoever meets another one would wait longer and try again.
        await held?.lock('commit', ledger.generation);
        return result;
      }),
  };
}

/**
 * DuckLake leaves its files to the operating system, which writes them within half a minute (seen with strace): after
 * a power cut the catalogue would tell of rows that are gone. So they are on the disk before the catalogue commits.
 */
async function flushFiles(session: Session, span: Params): Promise<void> {
  const written = await session.all('written-files', span);
  const paths = written.map(({ path }) => String(path)).filter((path) => !path.includes('://'));
  const folders = new Set(paths.flatMap((path) => [dirname(path), dirname(dirname(path))]));
  for (const path of [...paths, ...folders]) await flush(path);
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
