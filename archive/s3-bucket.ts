/** The few things the archive asks of S3, or of anything that speaks it, under one prefix of one bucket. */

import { createReadStream, createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';

export interface S3Bucket {
  /** Atomic: of many writers of one key exactly one is told true. */
  putIfAbsent(key: string, text: string): Promise<boolean>;
  /** Uploads a local file; S3 is told its hash and may refuse other bytes. Writing the same key again is harmless. */
  putFile(
    key: string,
    path: string,
    file: { readonly sha256: string; readonly sizeBytes: number },
  ): Promise<void>;
  has(key: string): Promise<boolean>;
  /** null when there is no such key. */
  getText(key: string): Promise<string | null>;
  download(key: string, path: string): Promise<void>;
  /** Keys below a folder in order, without the prefix; `after` is a key too, and not given again. */
  list(folder: string, after?: string): AsyncIterable<string>;
  close(): void;
}

/**
 * Opens `s3://bucket/prefix`. Region, credentials and endpoint come from AWS's own variables and files; with an
 * endpoint of one's own (`AWS_ENDPOINT_URL`) the bucket stands in the path, as such services expect.
 */
export function openS3Bucket(url: string, options: { readonly hasOwnEndpoint: boolean }): S3Bucket {
  const { hostname: bucket, pathname } = new URL(url);
  const prefix = pathname.replace(/^\/+|\/+$/g, '');
  const client = new S3Client({
    forcePathStyle: options.hasOwnEndpoint,
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 60_000 },
  });
  const at = (key: string): { Bucket: string; Key: string } => ({
    Bucket: bucket,
    Key: prefix === '' ? key : `${prefix}/${key}`,
  });

  async function* list(folder: string, after?: string): AsyncGenerator<string> {
    const { Key: Prefix } = at(`${folder}/`);
    let token: string | undefined;
    do {
      const page = await client.send(
        new ListObjectsV2Command({
          Bucket: bucket,
          Prefix,
          ...(after === undefined ? {} : { StartAfter: at(after).Key }),
          ...(token === undefined ? {} : { ContinuationToken: token }),
        }),
      );
      for (const { Key } of page.Contents ?? []) {
        if (Key !== undefined) yield prefix === '' ? Key : Key.slice(prefix.length + 1);
      }
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  return {
    async putIfAbsent(key, text) {
      try {
        await client.send(
          new PutObjectCommand({
            ...at(key),
            Body: text,
            ContentLength: Buffer.byteLength(text),
            ContentType: 'application/json',
            IfNoneMatch: '*',
          }),
        );
        return true;
      } catch (error) {
        if (statusOf(error) === 412) return false;
        throw error;
      }
    },
    async putFile(key, path, { sha256, sizeBytes }) {
      await client.send(
        new PutObjectCommand({
          ...at(key),
          Body: createReadStream(path),
          ContentLength: sizeBytes,
          ContentType: 'text/csv',
          ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
        }),
      );
    },
    async has(key) {
      try {
        await client.send(new HeadObjectCommand(at(key)));
        return true;
      } catch (error) {
        if (statusOf(error) === 404) return false;
        throw error;
      }
    },
    async getText(key) {
      try {
        const { Body } = await client.send(new GetObjectCommand(at(key)));
        return (await Body?.transformToString('utf-8')) ?? null;
      } catch (error) {
        if (statusOf(error) === 404) return null;
        throw error;
      }
    },
    async download(key, path) {
      const { Body } = await client.send(new GetObjectCommand(at(key)));
      if (!(Body instanceof Readable)) throw new Error(`S3 answered without a body for ${key}.`);
      await pipeline(Body, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    },
    list,
    close: () => client.destroy(),
  };
}

function statusOf(error: unknown): number | null {
  return error instanceof S3ServiceException ? (error.$metadata.httpStatusCode ?? null) : null;
}
