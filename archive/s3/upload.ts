/** Parts are read into memory, because the client can repeat a request with bytes, but not with a stream. */

import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
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
import { createSemaphore } from '../../lib/semaphore.ts';
import { statusOf } from './errors.ts';

export const PART_BYTES = 16 << 20;
const CONCURRENT_PARTS = 4;
/** S3's own limit; the parts of files beyond 160 GB are larger. */
const MAX_PARTS = 10_000;

export interface Upload {
  readonly client: S3Client;
  readonly at: { readonly Bucket: string; readonly Key: string };
  readonly path: string;
  readonly file: { readonly sha256: string; readonly sizeBytes: number };
  /** True overwrites an object; otherwise S3 answers 412 when there is one. */
  readonly replaces: boolean;
  readonly partBytes: number;
}

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
    // The error of the upload is reported, also when its abort fails.
    await client.send(new AbortMultipartUploadCommand({ ...at, UploadId })).catch(() => undefined);
    throw error;
  }
}

/** Repeats the request without its condition when the server has no conditional writes. */
async function unlessThere<T>(send: (condition: { IfNoneMatch?: '*' }) => Promise<T>): Promise<T> {
  try {
    return await send({ IfNoneMatch: '*' });
  } catch (error) {
    if (statusOf(error) !== 501) throw error;
    return await send({});
  }
}

/** Settles only when no request is in progress: a part that arrives after the abort of the upload would stay. */
async function sendParts(
  { client, at, file, partBytes }: Upload,
  handle: FileHandle,
  UploadId: string | undefined,
): Promise<CompletedPart[]> {
  const size = Math.max(partBytes, Math.ceil(file.sizeBytes / MAX_PARTS));
  const count = Math.ceil(file.sizeBytes / size);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const inTurn = createSemaphore(CONCURRENT_PARTS);

  async function send(index: number): Promise<CompletedPart> {
    const from = index * size;
    const PartNumber = index + 1;
    const Body = await read(handle, { from, count: Math.min(size, file.sizeBytes - from) });
    const ChecksumSHA256 = createHash('sha256').update(Body).digest('base64');
    const part = { ...at, UploadId, PartNumber, Body, ContentLength: Body.length };
    const checksum = { ChecksumAlgorithm: 'SHA256', ChecksumSHA256 } as const;
    const command = new UploadPartCommand({ ...part, ...checksum });
    const { ETag } = await client.send(command, { abortSignal: stop.signal });
    return { PartNumber, ETag, ChecksumSHA256 };
  }

  const sending = Array.from({ length: count }, (_, index) => inTurn(() => send(index), stop.signal));
  for (const part of sending) part.catch((error: unknown) => stop.abort(error));
  await Promise.allSettled(sending);
  stop.signal.throwIfAborted();
  return Promise.all(sending);
}

async function read(
  handle: FileHandle,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(count), 0, count, from);
  if (bytesRead !== count)
    throw new RangeError(`The file ends at ${from + bytesRead} bytes, earlier than expected.`);
  return buffer;
}
