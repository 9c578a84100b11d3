/** Finds out before anything is asked for that no file can be as announced: waiting for such a one would never end. */

import { statfsSync } from 'node:fs';
import { makeFolder } from '../lib/files/durable-files.ts';
import type { ExportLocation } from '../lib/wire/names.ts';
import { ImpossibleAnnouncementError } from './errors.ts';

const SHA256_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/**
 * A disk that is merely full is not checked here: room can be made.
 *
 * @param folder where the file would be written first
 * @throws ImpossibleAnnouncementError
 */
export async function checkAnnouncement(
  invoiceId: string,
  { presignedUrl, fileHashSha256, fileSizeBytes }: ExportLocation,
  folder: string,
): Promise<void> {
  const refuse = (problem: string): never => {
    throw new ImpossibleAnnouncementError(invoiceId, problem);
  };
  if (!URL.canParse(presignedUrl)) refuse('its address is not a URL');
  if (!/^[0-9a-f]{64}$/.test(fileHashSha256)) refuse('its hash is not a SHA-256');
  if (fileHashSha256 === SHA256_OF_NOTHING) refuse('its hash is that of an empty file');
  if (!Number.isSafeInteger(fileSizeBytes) || fileSizeBytes < 1) refuse(`a size of ${fileSizeBytes} bytes`);
  await makeFolder(folder);
  const { blocks, bsize } = statfsSync(folder);
  if (fileSizeBytes > blocks * bsize) {
    refuse(`${fileSizeBytes} bytes are more than the whole disk of ${folder} holds, ${blocks * bsize}`);
  }
}
