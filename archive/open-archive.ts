/** Opens the archive that the settings name, so that nobody else needs to know what kinds there are. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../lib/config/settings.ts';
import { namesIn } from '../lib/files/files.ts';
import type { Archive } from './archive.ts';
import { ArchiveAwayError, openFolderArchive } from './folder-archive.ts';
import type { S3Bucket } from './s3/bucket.ts';

type Places = Pick<Settings, 'archive' | 'dataDir' | 'warehouse'>;

/**
 * @param env AWS's own variables decide where S3 is and who asks (BILLSYNC_ARCHIVE=s3://bucket/prefix)
 * @throws ArchiveAwayError (exit 5) there is a warehouse, but no archive that it was made from; Error the place cannot be
 * reached or made
 */
export async function openArchive(
  settings: Places,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Archive> {
  if (settings.archive.kind === 'folder') {
    await requireMounted(settings.archive.path, settings);
    return openFolderArchive(settings.archive.path);
  }
  const bucket = await openArchiveBucket(settings.archive.url, env);
  const { openS3Archive } = await import('./s3/archive.ts');
  return openS3Archive(bucket, join(settings.dataDir, 'archive-cache'));
}

export async function openArchiveBucket(
  url: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<S3Bucket> {
  // Loaded only for an archive on S3: its client takes long to import.
  const [{ openS3Bucket }, { ownEndpoint }] = await Promise.all([
    import('./s3/bucket.ts'),
    import('./s3/client.ts'),
  ]);
  return openS3Bucket(url, { endpoint: ownEndpoint(env) });
}

/** A new archive would begin below a volume that is not mounted, and be hidden with all that was acknowledged once it is. */
async function requireMounted(root: string, { warehouse, dataDir }: Places): Promise<void> {
  const made = warehouse.kind === 'duckdb' ? warehouse.path : join(dataDir, 'reports.duckdb');
  if (!existsSync(made)) return;
  // What cannot be listed, opening tells.
  const names = await namesIn(root).catch(() => [root]);
  if (names.some((name) => name !== 'lost+found')) return;
  throw new ArchiveAwayError(
    root,
    `mount its volume again, or restore it; to begin with an empty archive, move ${made} away`,
  );
}
