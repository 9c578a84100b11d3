/**
 * What lies in the bucket of a file, brought into a folder of this machine, because DuckDB reads from there. That folder
 * may be removed at any time.
 */

import { makeFolder, removeIfThere } from '../../lib/files/durable-files.ts';
import { sweepLeftBehind, temporaryName } from '../../lib/files/files.ts';
import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import type { StoredFile } from '../archive.ts';
import { describeFile } from '../describe-file.ts';
import { type FileFolder, openFileFolder } from '../file-folder.ts';
import { readDescription } from '../read-record.ts';
import type { S3Bucket } from './bucket.ts';

export interface S3Copies {
  readonly folder: FileFolder;
  /** As the bucket has it, or made again from the bytes where it is damaged; null when there is none. */
  description(sha256: string): Promise<ArchivedFile | null>;
  /** Over the copy that is there; bytes of another hash never become one. null when the bucket has no bytes. */
  bring(file: ArchivedFile): Promise<StoredFile | null>;
}

/** @param root folder of the copies, made when it is missing */
export async function openS3Copies(bucket: S3Bucket, root: string): Promise<S3Copies> {
  await makeFolder(root);
  await sweepLeftBehind(root);
  const folder = await openFileFolder(root);

  /** The bytes as the bucket has them now, and their hash; they are gone afterwards, unless `work` keeps them. */
  async function downloaded<T>(
    sha256: string,
    work: (found: string | null, path: string) => Promise<T>,
  ): Promise<T> {
    const part = temporaryName(root);
    try {
      return await work(await bucket.download(csvKey(sha256), part), part);
    } finally {
      await removeIfThere(part);
    }
  }

  /** The bucket's own description stays damaged: the one that is made again lies beside the copy. */
  const describeAgain = async (sha256: string): Promise<ArchivedFile | null> =>
    (await folder.get(sha256)) ??
    downloaded(sha256, async (found, path) => {
      if (found !== sha256) return null;
      const described = await describeFile(path);
      await folder.replace(path, described);
      return described;
    });

  return {
    folder,
    async description(sha256) {
      const bytes = await bucket.getBytes(scanKey(sha256));
      if (bytes === null) return null;
      const reading = readDescription(bytes);
      return reading.ok && reading.value.sha256 === sha256 ? reading.value : describeAgain(sha256);
    },
    bring: (file) =>
      downloaded(file.sha256, async (found, path) => {
        if (found === null) return null;
        if (found !== file.sha256) return { sha256: found, path: null };
        await folder.replace(path, file);
        return { sha256: found, path: folder.path(file.sha256) };
      }),
  };
}

/** @throws RangeError what is asked for is no hash */
export function csvKey(sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new RangeError('A SHA-256 is 64 lower-case hex digits.');
  return `files/${sha256.slice(0, 2)}/${sha256}.csv`;
}

export const scanKey = (sha256: string): string => csvKey(sha256).replace(/\.csv$/, '.json');
