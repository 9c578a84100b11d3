import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import { BillsyncError, EXIT } from '../../lib/errors.ts';
import { makeFolder } from '../../lib/files/durable-files.ts';

export class UploadError extends BillsyncError {
  readonly code = 'upload';
  override readonly exitCode = EXIT.usage;
}

/** `name` is as the browser sent it, never a path. @throws UploadError the temporary file is then removed */
export async function receiveUpload(
  body: Readable,
  contentType: string,
  { folder, maxBytes }: { readonly folder: string; readonly maxBytes: number },
) {
  await makeFolder(folder);
  const path = join(folder, `${randomUUID()}.csv`);
  let name: string | null = null;
  let writing: Promise<void> = Promise.resolve();
  let isCut = false;
  try {
    const form = new Busboy({
      headers: { 'content-type': contentType },
      limits: { files: 1, fields: 4, fileSize: maxBytes, parts: 8, headerPairs: 20 },
    });
    form.on('file', (_field, file, filename) => {
      name = filename ?? '';
      file.once('limit', () => {
        isCut = true;
      });
      writing = pipeline(file, createWriteStream(path, { mode: 0o600, flags: 'wx' }));
      writing.catch(() => undefined);
    });
    await pipeline(body, form);
    await writing;
  } catch (error) {
    await rm(path, { force: true });
    throw new UploadError('The form could not be read', { cause: error, hint: 'choose the file once more' });
  }
  if (isCut || name === null || name === '') {
    await rm(path, { force: true });
    const problem = isCut ? `The file has more than ${maxBytes} bytes` : 'No file was chosen';
    throw new UploadError(problem, { hint: isCut ? 'use the command for it' : 'choose one' });
  }
  return { path, name };
}
