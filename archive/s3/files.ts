/** Files in a bucket: `files/ab/<sha256>.csv`, and beside it what its scan said. */

import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import type { StoredFile } from '../archive.ts';
import { hashFile } from '../hash-file.ts';
import type { FileStore } from '../stores.ts';
import type { S3Bucket } from './bucket.ts';
import { csvKey, openS3Copies, type S3Copies, scanKey } from './copies.ts';
import { ArchivedFileDamagedError } from './errors.ts';

/** @param cacheFolder on this machine, for files that DuckDB is to read */
export async function openS3Files(bucket: S3Bucket, cacheFolder: string): Promise<FileStore> {
  const copies = await openS3Copies(bucket, cacheFolder);

  async function get(sha256: string): Promise<ArchivedFile | null> {
    const file = await copies.description(sha256);
    return file !== null && (await bucket.has(csvKey(sha256))) ? file : null;
  }

  async function reread(sha256: string): Promise<StoredFile | null> {
    const file = await copies.description(sha256);
    return file === null ? null : copies.bring(file);
  }

  return {
    put: (path, file) => putFile(bucket, copies, { path, file }),
    get,
    reread,
    async localPath(sha256) {
      if ((await copies.folder.get(sha256)) !== null) return copies.folder.path(sha256);
      const stored = await reread(sha256);
      if (stored === null) throw new Error(`The archive has no file ${sha256}.`);
      if (stored.path === null) throw new ArchivedFileDamagedError(sha256, stored.sha256);
      return stored.path;
    },
    async *list() {
      for await (const key of bucket.list('files')) {
        const sha256 = /\/([0-9a-f]{64})\.json$/.exec(key)?.[1];
        const file = sha256 === undefined ? null : await get(sha256);
        if (file !== null) yield file;
      }
    },
    async remove(sha256) {
      await bucket.remove(csvKey(sha256));
      await bucket.remove(scanKey(sha256));
      await copies.folder.remove(sha256);
    },
  };
}

/** What is lost or damaged in the bucket is put there again, so that bringing a file once more heals it. */
async function putFile(
  bucket: S3Bucket,
  copies: S3Copies,
  { path, file: { sha256, sizeBytes, scan } }: { readonly path: string; readonly file: ArchivedFile },
): Promise<ArchivedFile> {
  const brought = { sha256, sizeBytes, scan };
  const [known, csv] = await Promise.all([copies.description(sha256), lookAtCsv(bucket, copies, brought)]);
  if (known === null || csv !== 'sound') {
    const actual = await hashFile(path);
    if (actual !== sha256) throw new RangeError(`A file ${actual} was to be archived as ${sha256}.`);
  }
  if (csv !== 'sound') {
    await bucket.putFile(csvKey(sha256), path, { sha256, sizeBytes, replaces: csv === 'damaged' });
  }
  // The scan comes last: a file counts as archived only with it.
  if (known === null) await bucket.putIfAbsent(scanKey(sha256), JSON.stringify(brought));
  await copies.folder.put(path, known ?? brought);
  return known ?? brought;
}

/** By what S3 says of the object; it is read unless S3 says that its hash is the file's. */
async function lookAtCsv(
  bucket: S3Bucket,
  copies: S3Copies,
  file: ArchivedFile,
): Promise<'sound' | 'damaged' | 'missing'> {
  const head = await bucket.head(csvKey(file.sha256));
  if (head === null) return 'missing';
  if (head.sizeBytes !== file.sizeBytes) return 'damaged';
  if (head.sha256 === file.sha256) return 'sound';
  return (await copies.bring(file))?.sha256 === file.sha256 ? 'sound' : 'damaged';
}
