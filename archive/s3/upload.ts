/**
 * Uploads a local file into a bucket: whole when it is small, else in parts that each carry their SHA-256.
 *
 * Parts are read into memory, a few at once: the client sends bytes again after a failure, a stream it cannot.
 */

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { statusOf } from './errors.ts';

/** Files up to this size go up whole. Four parts in memory are little, and each is done within a request's time. */
export const PART_BYTES = 16 << 20;
const PARTS_AT_ONCE = 4;
/** S3's own limit; the parts of files beyond 160 GB are larger. */
const MOST_PARTS = 10_000;

export interface Upload {
  readonly client: S3Client;
  readonly at: { readonly Bucket: string; readonly Key: string };
  readonly path: string;
  readonly file: { readonly sha256: string; readonly sizeBytes: number };
  /** Writes over what is there. Otherwise S3 answers 412 when anything is. */
  readonly replaces: boolean;
  readonly partBytes: number;
}

/** The object is there as a whole or not at all, and no part of a failed upload stays. */
export async function uploadFile(upload: Upload): Promise<void> {
  const handle = await open(upload.path, 'r');
  try {
    if (upload.file.sizeBytes <= upload.partBytes) await putWhole(upload, handle);
    else await putInParts(upload, handle);
  } finally {
    await handle.close();
  }
}

async function putWhole({ client, at, file, replaces }: Upload, handle: FileHandle): Promise<void> {
  const Body = await read(handle, { from: 0, count: file.sizeBytes });
  const put = (condition: { IfNoneMatch?: '*' }) =>
    client.send(
      new PutObjectCommand({
        ...at,
        Body,
        ContentLength: Body.length,
        ContentType: 'text/csv',
        ChecksumAlgorithm: 'SHA256',
        ChecksumSHA256: Buffer.from(file.sha256, 'hex').toString('base64'),
        ...condition,
      }),
    );
  await (replaces ? put({}) : unlessThere(put));
}

async function putInParts(upload: Upload, handle: FileHandle): Promise<void> {
  const { client, at, replaces } = upload;
  const { UploadId } = await client.send(
    new CreateMultipartUploadCommand({
      ...at,
      ContentType: 'text/csv',
      ChecksumAlgorithm: 'SHA256',
      ChecksumType: 'COMPOSITE',
    }),
  );
  try {
    const MultipartUpload = { Parts: await sendParts(upload, handle, UploadId) };
    const complete = (condition: { IfNoneMatch?: '*' }) =>
      client.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload, ...condition }));
    await (replaces ? complete({}) : unlessThere(complete));
  } catch (error) {
    // What failed first is what is told, also when this fails as well.
    await client.send(new AbortMultipartUploadCommand({ ...at, UploadId })).catch(() => undefined);
    throw error;
  }
}

/** Asks to write only where nothing is; a server that does not know such conditions is asked without. */
async function unlessThere<T>(send: (condition: { IfNoneMatch?: '*' }) => Promise<T>): Promise<T> {
  try {
    return await send({ IfNoneMatch: '*' });
  } catch (error) {
    if (statusOf(error) !== 501) throw error;
    return await send({});
  }
}

/** Resolves or rejects only when no part is under way any more: one that arrives behind an abort would stay. */
async function sendParts(
  { client, at, file, partBytes }: Upload,
  handle: FileHandle,
  UploadId: string | undefined,
): Promise<CompletedPart[]> {
  const size = Math.max(partBytes, Math.ceil(file.sizeBytes / MOST_PARTS));
  const count = Math.ceil(file.sizeBytes / size);
  const parts: CompletedPart[] = [];
  const failures: unknown[] = [];
  const stop = new AbortController();
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < count && failures.length === 0) {
      sent += 1;
      const PartNumber = sent;
      const from = (PartNumber - 1) * size;
      const Body = await read(handle, { from, count: Math.min(size, file.sizeBytes - from) });
      const ChecksumSHA256 = createHash('sha256').update(Body).digest('base64');
      const { ETag } = await client.send(
        new UploadPartCommand({
          ...{ ...at, UploadId, PartNumber, Body, ContentLength: Body.length },
          ...{ ChecksumAlgorithm: 'SHA256', ChecksumSHA256 },
        }),
        { abortSignal: stop.signal },
      );
      parts[PartNumber - 1] = { PartNumber, ETag, ChecksumSHA256 };
    }
  };
  const guarded = (): Promise<void> =>
    worker().catch((error: unknown) => {
      failures.push(error);
      stop.abort();
    });
  await Promise.all(Array.from({ length: PARTS_AT_ONCE }, guarded));
  if (failures.length > 0) throw failures[0];
  return parts;
}

async function read(
  handle: FileHandle,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(count);
  let filled = 0;
  while (filled < count) {
    const { bytesRead } = await handle.read(bytes, filled, count - filled, from + filled);
    if (bytesRead === 0) throw new RangeError(`${from + filled} bytes lie there, more were counted.`);
    filled += bytesRead;
  }
  return bytes;
}
