/**
 * The archive in a bucket, for more than one machine: the same keys as the folder has files, `events/`, `files/`,
 * `facts/`, and a log of keys where the folder has a journal.
 */

import type { Archive } from '../archive.js';
import { archiveOf } from '../stores.js';
import type { S3Bucket } from './bucket.js';
import { openS3Events } from './events.js';
import { openS3Facts } from './facts.js';
import { openS3Files } from './files.js';

/** @param cacheFolder on this machine, for files that DuckDB is to read */
export async function openS3Archive(
  bucket: S3Bucket,
  cacheFolder: string,
  now: () => Date = () => new Date(),
): Promise<Archive> {
  return archiveOf({
    events: openS3Events(bucket, now),
    files: await openS3Files(bucket, cacheFolder),
    facts: openS3Facts(bucket, now),
    close: async () => bucket.close(),
  });
}
