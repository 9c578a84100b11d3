/** Where each invoice stands in a published file, for those who wait for it: a file is opened once, however often it is asked. */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

export type PublishedStates = ReadonlyMap<string, string>;

const known = new Map<string, { readonly file: string; readonly states: PublishedStates }>();

/** Invoice id to state; empty while nothing was published. A publication is another file, so one that was read is not read again. */
export async function publishedStates(dataDir: string): Promise<PublishedStates> {
  const path = join(dataDir, 'reports.duckdb');
  try {
    const { ino, mtimeNs, size } = await stat(path, { bigint: true });
    const file = `${ino} ${mtimeNs} ${size}`;
    const last = known.get(path);
    if (last?.file === file) return last.states;
    const states = await readStates(path);
    known.set(path, { file, states });
    return states;
  } catch {
    return new Map();
  }
}

async function readStates(path: string): Promise<PublishedStates> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  try {
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll('select invoice_id::varchar, state from invoices');
    connection.closeSync();
    return new Map(reader.getRows().map(([invoiceId, state]) => [String(invoiceId), String(state)]));
  } finally {
    instance.closeSync();
  }
}
