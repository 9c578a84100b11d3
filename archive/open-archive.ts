import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../lib/config/settings.ts';
import { dataFolder } from '../lib/files/data-folder.ts';
import { namesIn } from '../lib/files/files.ts';
import type { Archive } from './archive.ts';
import { ArchiveError } from './errors.ts';
import { openFolderArchive } from './folder-archive.ts';
import type { S3Bucket } from './s3/bucket.ts';

type Places = Pick<Settings, 'archive' | 'dataDir' | 'warehouse'>;

/** @throws ArchiveError `archive-away`: there is a warehouse, but not the archive that it was built from */
export async function openArchive(settings: Places): Promise<Archive> {
  if (settings.archive.kind === 'folder') {
    await requireMounted(settings.archive.path, settings);
    return openFolderArchive(settings.archive.path);
  }
  const bucket = await openArchiveBucket(settings.archive.url);
  const { openS3Archive } = await import('./s3/archive.ts');
  return openS3Archive(bucket, dataFolder(settings.dataDir).archiveCache);
}

export async function openArchiveBucket(url: string): Promise<S3Bucket> {
  // The client of S3 is imported on demand, because it is large.
  const { openS3Bucket } = await import('./s3/bucket.ts');
  return openS3Bucket(url);
}

/** A new archive below an unmounted volume would be hidden once the volume is mounted. */
async function requireMounted(root: string, { warehouse, dataDir }: Places): Promise<void> {
  const warehousePath = warehouse.kind === 'duckdb' ? warehouse.path : join(dataDir, 'reports.duckdb');
  if (!existsSync(warehousePath)) return;
  // A folder that cannot be listed counts as not empty here, and the archive fails when it is opened.
  const names = await namesIn(root).catch(() => [root]);
  if (names.some((name) => name !== 'lost+found')) return;
  throw new ArchiveError('archive-away', [], {
    subject: root,
    hint: `mount its volume again, or restore it; to begin with an empty archive, move ${warehousePath} away`,
  });
}
