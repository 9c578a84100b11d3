/**
 * The archive in a bucket, for more than one machine: the same keys as the folder has files, `events/`, `files/`,
 * `facts/`, and a log of keys where the folder has a journal.
 */

import type { Archive } from '../archive.ts';
import { archiveOf } from '../stores.ts';
import type { S3Bucket } from './bucket.ts';
import { openS3Events } from './events.ts';
import { openS3Facts } from './facts.ts';
import { openS3Files } from './files.ts';

/** @param cacheFolder on this machine, for files that DuckDB is to read */
export async function openS3Archive(bucket: S3Bucket, cacheFolder: string): Promise<Archive> {
  return archiveOf({
    events: openS3Events(bucket),
    files: await openS3Files(bucket, cacheFolder),
    facts: openS3Facts(bucket),
    clock: bucket.clock,
    close: async () => bucket.close(),
  });
}
