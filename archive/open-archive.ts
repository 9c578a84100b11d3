/** Opens the archive that the settings name, so that nobody else needs to know what kinds there are. */

import { join } from 'node:path';
import type { Settings } from '../config/settings.js';
import type { Archive } from './archive.js';
import { openFolderArchive } from './folder-archive.js';

/**
 * @param env AWS's own variables decide where S3 is and who asks (BILLSYNC_ARCHIVE=s3://bucket/prefix)
 * @throws Error the place cannot be reached or made
 */
export async function openArchive(
  settings: Pick<Settings, 'archive' | 'dataDir'>,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Archive> {
  if (settings.archive.kind === 'folder') return openFolderArchive(settings.archive.path);
  // Loaded only for an archive on S3: its client takes long to import.
  const [{ openS3Bucket }, { openS3Archive }, { ownEndpoint }] = await Promise.all([
    import('./s3/bucket.js'),
    import('./s3/archive.js'),
    import('./s3/client.js'),
  ]);
  const bucket = openS3Bucket(settings.archive.url, { endpoint: ownEndpoint(env) });
  return openS3Archive(bucket, join(settings.dataDir, 'archive-cache'));
}
