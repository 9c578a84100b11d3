/** The few things the archive asks of S3, or of anything that speaks it, under one prefix of one bucket. */

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
} from '@aws-sdk/client-s3';
import { openS3Client } from './s3-client.js';
import { explainS3Error, type S3Place, statusOf } from './s3-errors.js';
import { PART_BYTES, uploadFile } from './s3-upload.js';

/** What S3 says of an object without giving its bytes. */
export interface ObjectHead {
  readonly sizeBytes: number;
  /** Lower-case hex; null when S3 has no SHA-256 of the whole, as of what went up in parts. */
  readonly sha256: string | null;
}

/** All of them throw the errors of `s3-errors.ts`. */
export interface S3Bucket {
  /**
   * Atomic: of many writers of one key exactly one is told true. Where the server knows no conditional writes, two that
   * come at the same instant may both be told so.
   */
  putIfAbsent(key: string, text: string): Promise<boolean>;
  /**
   * Uploads a local file; S3 is told the hashes of its bytes and may refuse others. What another writer put there
   * meanwhile stays, unless this `replaces` what is there.
   */
  putFile(
    key: string,
    path: string,
    file: { readonly sha256: string; readonly sizeBytes: number; readonly replaces: boolean },
  ): Promise<void>;
  /** Over what is there. */
  replace(key: string, text: string): Promise<void>;
  /** In a bucket with versions the older ones stay, for as long as its rules say. */
  remove(key: string): Promise<void>;
  has(key: string): Promise<boolean>;
  /** null when there is no such key. */
  head(key: string): Promise<ObjectHead | null>;
  /** null when there is no such key. */
  getBytes(key: string): Promise<Uint8Array | null>;
  /** The SHA-256 of the bytes that arrived, in lower-case hex; null when there is no such key. */
  download(key: string, path: string): Promise<string | null>;
  /** Keys below a folder in order, without the prefix; `after` is a key too, and not given again. */
  list(folder: string, after?: string): AsyncIterable<string>;
  close(): void;
}

export interface S3BucketOptions {
  /** null: AWS itself. */
  readonly endpoint: string | null;
  /** Of files that are larger, each part of an upload; S3 wants 5 MiB at least. */
  readonly partBytes?: number;
}

/** Opens `s3://bucket/prefix`. */
export function openS3Bucket(url: string, options: S3BucketOptions): S3Bucket {
  const { endpoint, partBytes = PART_BYTES } = options;
  const { hostname: bucket, pathname } = new URL(url);
  const prefix = pathname.replace(/^\/+|\/+$/g, '');
  const place: S3Place = { bucket, url, endpoint };
  const config = { requestHandler: { connectionTimeout: 5_000, requestTimeout: 60_000 } };
  const client = openS3Client(config, endpoint);
  // Files are hashed as they arrive: a check inside the client would hide what is there.
  const files = openS3Client({ ...config, responseChecksumValidation: 'WHEN_REQUIRED' }, endpoint);
  const at = (key: string): { Bucket: string; Key: string } => ({
    Bucket: bucket,
    Key: prefix === '' ? key : `${prefix}/${key}`,
  });

  async function explained<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw explainS3Error(error, place);
    }
  }

  async function* list(folder: string, after?: string): AsyncGenerator<string> {
    const { Key: Prefix } = at(`${folder}/`);
    let token: string | undefined;
    do {
      const page = await explained(
        client.send(
          new ListObjectsV2Command({
            Bucket: bucket,
            Prefix,
            ...(after === undefined ? {} : { StartAfter: at(after).Key }),
            ...(token === undefined ? {} : { ContinuationToken: token }),
          }),
        ),
      );
      for (const { Key } of page.Contents ?? []) {
        if (Key !== undefined) yield prefix === '' ? Key : Key.slice(prefix.length + 1);
      }
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  const put = (key: string, text: string, condition: { IfNoneMatch?: '*' } = {}): Promise<unknown> =>
    client.send(
      new PutObjectCommand({
        ...at(key),
        Body: text,
        ContentLength: Buffer.byteLength(text),
        ContentType: 'application/json',
        ...condition,
      }),
    );

  async function putIfAbsent(key: string, text: string): Promise<boolean> {
    try {
      await put(key, text, { IfNoneMatch: '*' });
    } catch (error) {
      if (statusOf(error) === 412) return false;
      if (statusOf(error) !== 501) throw error;
      if ((await head(key)) !== null) return false;
      await put(key, text);
    }
    return true;
  }

  async function putFile(
    key: string,
    path: string,
    { replaces, ...file }: { sha256: string; sizeBytes: number; replaces: boolean },
  ): Promise<void> {
    try {
      await uploadFile({ client, at: at(key), path, file, replaces, partBytes });
    } catch (error) {
      // Somebody was first (412), or is at the same moment (409), or an answer of ours was lost and asked for again (404).
      const isThere = !replaces && [404, 409, 412].includes(statusOf(error) ?? 0);
      if (!isThere || (await head(key))?.sizeBytes !== file.sizeBytes) throw error;
    }
  }

  async function head(key: string): Promise<ObjectHead | null> {
    const found = await unlessMissing(
      client.send(new HeadObjectCommand({ ...at(key), ChecksumMode: 'ENABLED' })),
    );
    if (found === null) return null;
    const { ContentLength = 0, ChecksumSHA256 = '' } = found;
    const digest = Buffer.from(ChecksumSHA256, 'base64');
    // Of what went up in parts it is the hash of their hashes, and ends with their number.
    const isOfWhole = digest.length === 32 && !ChecksumSHA256.includes('-');
    return { sizeBytes: ContentLength, sha256: isOfWhole ? digest.toString('hex') : null };
  }

  async function getBytes(key: string): Promise<Uint8Array | null> {
    const found = await unlessMissing(client.send(new GetObjectCommand(at(key))));
    return (await found?.Body?.transformToByteArray()) ?? null;
  }

  async function download(key: string, path: string): Promise<string | null> {
    const found = await unlessMissing(files.send(new GetObjectCommand(at(key))));
    if (found === null) return null;
    if (!(found.Body instanceof Readable)) throw new Error(`S3 answered without a body for ${key}.`);
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

  return {
    putIfAbsent: (key, text) => explained(putIfAbsent(key, text)),
    putFile: (key, path, file) => explained(putFile(key, path, file)),
    async replace(key, text) {
      await explained(put(key, text));
    },
    async remove(key) {
      await explained(client.send(new DeleteObjectCommand(at(key))));
    },
    has: async (key) => (await explained(head(key))) !== null,
    head: (key) => explained(head(key)),
    getBytes: (key) => explained(getBytes(key)),
    download: (key, path) => explained(download(key, path)),
    list,
    close() {
      client.destroy();
      files.destroy();
    },
  };
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
