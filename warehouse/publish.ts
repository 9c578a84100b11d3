/**
 * The checkpoint comes first, since a copy would lack the contents of the WAL. The last three copies are kept as hard links
 * under their sequence numbers, so that a report can be repeated.
 */

import { constants } from 'node:fs';
import { chmod, copyFile, link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dataFolder } from '../lib/files/data-folder.ts';
import { namesIn } from '../lib/files/files.ts';
import { leftWals } from '../lib/files/published-file.ts';
import type { Publication } from '../lib/wire/warehouse-requests.ts';
import { Database } from './duckdb/database.ts';
import type { Row } from './duckdb/statements.ts';
import { WarehouseError } from './errors.ts';

export interface PublishRequest {
  readonly database: Database;
  readonly publishedPath: string;
  readonly temporaryFolder: string;
  readonly now: Date;
  /** Invoices with a load whose fact the archive may not have yet. */
  readonly unrecorded: () => readonly string[];
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>;
}

const KEPT = 3;

/** @throws publication-failed the copy differs; the previous one remains */
export async function publish(request: PublishRequest): Promise<Publication> {
  const { database, publishedPath } = request;
  const copyPath = `${publishedPath}.${process.pid}.tmp`;
  try {
    const { proof, publication } = await request.alone(() => copyAlone(request, copyPath));
    await chmod(copyPath, 0o400);
    await flush(copyPath);
    await prove(copyPath, proof, request.temporaryFolder);
    await keep(copyPath, publishedPath, publication.sequence);
    const removedWals = await leftWals(publishedPath);
    // Every reader would apply a write-ahead log beside its file.
    for (const path of removedWals) await rm(path, { force: true });
    await rename(copyPath, publishedPath);
    await flush(dirname(publishedPath));
    return { ...publication, path: publishedPath, removedWals };
  } catch (error) {
    await rm(copyPath, { force: true });
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') {
      throw new WarehouseError('publication-failed', [`the disk is full at ${database.path}`], {
        cause: error,
      });
    }
    throw error;
  }
}

async function copyAlone(
  { database, now, unrecorded, publishedPath }: PublishRequest,
  copyPath: string,
): Promise<{ proof: Row; publication: Omit<Publication, 'path' | 'removedWals'> }> {
  await rm(copyPath, { force: true });
  // A rebuilt warehouse may not know the last sequence number.
  const above = numberOf((await keptCopies(publishedPath)).at(-1));
  return database.use(async (session) => {
    await session.transaction(async () => {
      await session.all('insert-publication', {
        ...{ published_at: now.toISOString(), above, unrecorded: JSON.stringify(unrecorded()) },
      });
      await session.all('trim-publications');
    });
    await session.checkpoint();
    const proof = await session.first('publication-proof');
    const last = await session.first('last-publication');
    await copyFile(database.path, copyPath, constants.COPYFILE_FICLONE);
    return {
      proof,
      publication: {
        sequence: Number(last.sequence),
        publishedAt: String(last.published_at),
        invoices: Number(last.invoices),
        shipments: Number(last.shipments),
      },
    };
  });
}

async function prove(copyPath: string, expected: Row, temporaryFolder: string): Promise<void> {
  let found: Row;
  try {
    const copy = await Database.open({
      path: copyPath,
      folders: [],
      temporaryFolder,
      memoryLimit: null,
      readOnly: true,
    });
    try {
      found = await copy.use((session) => session.first('publication-proof'));
    } finally {
      copy.close();
    }
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

async function keep(copyPath: string, publishedPath: string, sequence: number): Promise<void> {
  const folder = keptFolder(publishedPath);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const kept = join(folder, `reports-${`${sequence}`.padStart(8, '0')}.duckdb`);
  await rm(kept, { force: true });
  await link(copyPath, kept).catch(async (error: NodeJS.ErrnoException) => {
    // Without hard links in the file system no copies are kept.
    if (error.code !== 'EPERM' && error.code !== 'ENOTSUP') throw error;
  });
  const all = await keptCopies(publishedPath);
  for (const old of all.slice(0, Math.max(0, all.length - KEPT)))
    await rm(join(folder, old), { force: true });
}

function keptFolder(publishedPath: string): string {
  return dataFolder(dirname(publishedPath)).snapshots;
}

async function keptCopies(publishedPath: string): Promise<readonly string[]> {
  const entries = await namesIn(keptFolder(publishedPath));
  return entries.filter((entry) => KEPT_NAME.test(entry)).sort((a, b) => numberOf(a) - numberOf(b));
}

function numberOf(name: string | undefined): number {
  return Number(KEPT_NAME.exec(name ?? '')?.[1] ?? 0);
}

const KEPT_NAME = /^reports-(\d+)\.duckdb$/;

/** A file or a folder. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
