/** The checkpoint comes first, since a copy would lack the contents of the WAL. */

import { constants } from 'node:fs';
import { chmod, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { leftWal, refuseLeftWal } from '../lib/files/damaged-database.ts';
import { exists } from '../lib/files/durable-files.ts';
import { copyOrShare } from '../lib/files/files.ts';
import { messageOf } from '../lib/system-errors.ts';
import type { Publication } from '../lib/warehouse-requests.ts';
import { Database } from './duckdb/database.ts';
import type { Row } from './duckdb/statements.ts';
import { WarehouseError } from './errors.ts';

export interface PublishRequest {
  readonly database: Database;
  readonly publishedPath: string;
  readonly temporaryFolder: string;
  readonly now: Date;
  /** Up to this load id no load is in progress and the archive has all facts; null: neither is any other. */
  readonly recordedTo: () => number | null;
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>;
}

/** @throws publication-failed the copy differs; the previous one remains */
export async function publish(request: PublishRequest): Promise<Publication> {
  const { publishedPath } = request;
  const copyPath = `${publishedPath}.${process.pid}.tmp`;
  try {
    const { proof, publication } = await request.alone(() => copyAlone(request, copyPath));
    await chmod(copyPath, 0o400);
    await flush(copyPath);
    await prove(copyPath, proof, request.temporaryFolder);
    const removedWal = await leftWal(publishedPath);
    // Every reader would apply a write-ahead log beside its file.
    if (removedWal !== null) await rm(removedWal, { force: true });
    await rename(copyPath, publishedPath);
    await flush(dirname(publishedPath));
    return { ...publication, path: publishedPath, removedWal };
  } catch (error) {
    await rm(copyPath, { force: true });
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') {
      throw new WarehouseError('publication-failed', [messageOf(error)], {
        cause: error,
      });
    }
    throw error;
  }
}

async function copyAlone(
  { database, now, recordedTo, publishedPath, temporaryFolder }: PublishRequest,
  copyPath: string,
): Promise<{ proof: Row; publication: Omit<Publication, 'path' | 'removedWal'> }> {
  await rm(copyPath, { force: true });
  // A new warehouse continues the numbers of the published copy.
  const isFirst = (await database.all('last-publication')).length === 0;
  const above = isFirst ? await publishedSequence(publishedPath, temporaryFolder) : 0;
  return database.use(async (session) => {
    await session.transaction(async () => {
      await session.all('insert-publication', {
        ...{ published_at: now.toISOString(), above, recorded_to: recordedTo() },
      });
      await session.all('trim-publications');
    });
    await session.checkpoint();
    const proof = await session.first('publication-proof');
    const last = await session.first('last-publication');
    const copiedBytes = await copyOrShare(database.path, copyPath);
    return {
      proof,
      publication: {
        sequence: Number(last.sequence),
        publishedAt: String(last.published_at),
        invoices: Number(last.invoices),
        shipments: Number(last.shipments),
        copiedBytes,
      },
    };
  });
}

/** 0: there is no copy, or it cannot be read; the new one replaces it. */
async function publishedSequence(path: string, temporaryFolder: string): Promise<number> {
  if (!exists(path)) return 0;
  try {
    await refuseLeftWal(path);
    return Number((await readCopy(path, temporaryFolder, 'last-publication')).sequence);
  } catch {
    return 0;
  }
}

async function readCopy(path: string, temporaryFolder: string, statement: string): Promise<Row> {
  const reading = { path, folders: [], temporaryFolder, memoryLimit: null, readOnly: true };
  const copy = await Database.open(reading);
  try {
    return await copy.use((session) => session.first(statement));
  } finally {
    copy.close();
  }
}

async function prove(copyPath: string, expected: Row, temporaryFolder: string): Promise<void> {
  let found: Row;
  try {
    found = await readCopy(copyPath, temporaryFolder, 'publication-proof');
  } catch (error) {
    throw new WarehouseError('publication-failed', ['the copy cannot be opened'], { cause: error });
  }
  const differing = Object.keys(expected).filter((key) => String(expected[key]) !== String(found[key]));
  if (differing.length > 0) {
    const problem = differing.map((key) => `${key} ${expected[key]} became ${found[key]}`).join(', ');
    throw new WarehouseError('publication-failed', [`the copy differs: ${problem}`]);
  }
  if (String(found.stored_rows) !== String(found.recorded_rows)) {
    throw new WarehouseError('publication-failed', [
      `${found.stored_rows} rows are stored, loads recorded ${found.recorded_rows}; run verify`,
    ]);
  }
}

/** A file or a folder. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
