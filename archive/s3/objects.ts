/** Single requests to S3 about one object, without words for what fails; `bucket.ts` adds those. */

import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { statusOf } from './errors.ts';
import { type Upload, uploadFile } from './upload.ts';

export interface ObjectPlace {
  readonly client: S3Client;
  readonly at: { readonly Bucket: string; readonly Key: string };
}

/** What S3 says of an object without giving its bytes. */
export interface ObjectHead {
  readonly sizeBytes: number;
  /** Lower-case hex; null when S3 has no SHA-256 of the whole, as of what went up in parts. */
  readonly sha256: string | null;
}

export async function putText(
  { client, at }: ObjectPlace,
  text: string,
  condition: { IfNoneMatch?: '*' } = {},
): Promise<void> {
  await client.send(
    new PutObjectCommand({
      ...at,
      Body: text,
      ContentLength: Buffer.byteLength(text),
      ContentType: 'application/json',
      ...condition,
    }),
  );
}

/** @returns false when something is there; a server without conditional writes is asked before */
export async function putTextIfAbsent(place: ObjectPlace, text: string): Promise<boolean> {
  try {
    await putText(place, text, { IfNoneMatch: '*' });
  } catch (error) {
    if (statusOf(error) === 412) return false;
    if (statusOf(error) !== 501) throw error;
    if ((await headOf(place)) !== null) return false;
    await putText(place, text);
  }
  return true;
}

export async function putUpload(upload: Upload): Promise<void> {
  try {
    await uploadFile(upload);
  } catch (error) {
    // Somebody was first (412), or is at the same moment (409), or an answer of ours was lost and asked for again (404).
    const isThere = !upload.replaces && [404, 409, 412].includes(statusOf(error) ?? 0);
    if (!isThere || (await headOf(upload))?.sizeBytes !== upload.file.sizeBytes) throw error;
  }
}

export async function removeObject({ client, at }: ObjectPlace): Promise<void> {
  await client.send(new DeleteObjectCommand(at));
}

export async function headOf({ client, at }: ObjectPlace): Promise<ObjectHead | null> {
  const found = await unlessMissing(client.send(new HeadObjectCommand({ ...at, ChecksumMode: 'ENABLED' })));
  if (found === null) return null;
  const { ContentLength = 0, ChecksumSHA256 = '' } = found;
  const digest = Buffer.from(ChecksumSHA256, 'base64');
  // Of what went up in parts it is the hash of their hashes, and ends with their number.
  const isOfWhole = digest.length === 32 && !ChecksumSHA256.includes('-');
  return { sizeBytes: ContentLength, sha256: isOfWhole ? digest.toString('hex') : null };
}

export async function bytesOf({ client, at }: ObjectPlace): Promise<Uint8Array | null> {
  const found = await unlessMissing(client.send(new GetObjectCommand(at)));
  return (await found?.Body?.transformToByteArray()) ?? null;
}

/** @returns the SHA-256 of the bytes that arrived, in lower-case hex */
export async function downloadTo({ client, at }: ObjectPlace, path: string): Promise<string | null> {
  const found = await unlessMissing(client.send(new GetObjectCommand(at)));
  if (found === null) return null;
  if (!(found.Body instanceof Readable)) throw new Error(`S3 answered without a body for ${at.Key}.`);
  const hash = createHash('sha256');
  await pipeline(
    found.Body,
    async function* hashed(bytes: AsyncIterable<Buffer>) {
      for await (const chunk of bytes) {
        hash.update(chunk);
        yield chunk;
      }
    },
    createWriteStream(path, { flags: 'wx', mode: 0o600 }),
  );
  return hash.digest('hex');
}

/** A page of the keys that begin with that of the place; `next` asks for the page behind it. */
export async function keysBelow(
  { client, at, after }: ObjectPlace & { readonly after?: string },
  token: string | undefined,
): Promise<{ readonly keys: readonly string[]; readonly next: string | undefined }> {
  const page = await client.send(
    new ListObjectsV2Command({
      Bucket: at.Bucket,
      Prefix: at.Key,
      ...(after === undefined ? {} : { StartAfter: after }),
      ...(token === undefined ? {} : { ContinuationToken: token }),
    }),
  );
  const keys = (page.Contents ?? []).flatMap(({ Key }) => Key ?? []);
  return { keys, next: page.NextContinuationToken };
}

/** null when S3 has no such key; that it has no such bucket is an error. */
async function unlessMissing<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket') return null;
    throw error;
  }
}
