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
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { type ComparedClock, createServerClock } from '../../lib/health/clocks.ts';
import { ArchiveError } from '../errors.ts';
import { explainS3Error, type S3Place, statusOf } from './errors.ts';
import { PART_BYTES, uploadFile } from './upload.ts';

/** Callers name keys without the archive's prefix. All methods throw ArchiveError. */
export type S3Bucket = ReturnType<typeof openS3Bucket>;

export interface S3BucketOptions {
  /** Larger files are uploaded in parts of this size; S3 requires 5 MiB at least. */
  readonly partBytes?: number;
  readonly idleMs?: number;
}

export function ownEndpoint(): string | null {
  return process.env.AWS_ENDPOINT_URL_S3 || process.env.AWS_ENDPOINT_URL || null;
}

/** The client's `requestTimeout` only logs a warning; an idle socket ends the request. */
const TIME_LIMITS = { connectionTimeout: 5_000, socketTimeout: 30_000 };

export function openS3Client(config: Omit<S3ClientConfig, 'forcePathStyle'> = {}): S3Client {
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  // Other services than AWS expect the bucket in the path.
  const forcePathStyle = (config.endpoint ?? ownEndpoint()) !== null;
  return new S3Client({ requestHandler: TIME_LIMITS, ...config, forcePathStyle });
}

export function openS3Bucket(url: string, { partBytes = PART_BYTES, idleMs }: S3BucketOptions = {}) {
  const endpoint = ownEndpoint();
  const { hostname: Bucket, pathname } = new URL(url);
  const prefix = pathname.replace(/^\/+|\/+$/g, '');
  const place: S3Place = { bucket: Bucket, url, endpoint };
  const config = idleMs === undefined ? {} : { requestHandler: { socketTimeout: idleMs } };
  const client = openS3Client(config);
  // Downloads are hashed here; the client's own check would hide damaged bytes.
  const downloads = openS3Client({ ...config, responseChecksumValidation: 'WHEN_REQUIRED' });
  const clock = createServerClock();
  for (const each of [client, downloads]) {
    each.middlewareStack.add(
      (next) => async (args) => {
        const sentAt = performance.now();
        const result = await next(args);
        const { headers = {} } = result.response as { headers?: Record<string, string | undefined> };
        clock.answered(headers.date, sentAt);
        return result;
      },
      // The clock is read inside the retries, before a status becomes an error.
      { step: 'deserialize', priority: 'low', name: 'billsyncServerClock' },
    );
  }
  const keyed = (key: string): string => (prefix === '' ? key : `${prefix}/${key}`);
  const at = (key: string) => ({ Bucket, Key: keyed(key) });

  async function explained<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw explainS3Error(error, place);
    }
  }

  async function putText(key: string, text: string, condition: { IfNoneMatch?: '*' } = {}): Promise<void> {
    const body = { Body: text, ContentLength: Buffer.byteLength(text), ContentType: 'application/json' };
    await client.send(new PutObjectCommand({ ...at(key), ...body, ...condition }));
  }

  /** Creates an object atomically, except with a server that has no conditional writes. */
  async function putIfAbsent(key: string, text: string): Promise<boolean> {
    try {
      await putText(key, text, { IfNoneMatch: '*' });
    } catch (error) {
      if (statusOf(error) === 412) return false;
      if (statusOf(error) !== 501) throw error;
      if ((await head(key)) !== null) return false;
      await putText(key, text);
    }
    return true;
  }

  /** An object of another writer stays, unless this `replaces` it. */
  async function putFile(
    key: string,
    path: string,
    file: { readonly sha256: string; readonly sizeBytes: number; readonly replaces: boolean },
  ): Promise<void> {
    try {
      await uploadFile({ client, at: at(key), path, file, replaces: file.replaces, partBytes });
    } catch (error) {
      // Another writer was first (412) or is writing (409), or a lost answer was requested again (404).
      const mayExist = !file.replaces && [404, 409, 412].includes(statusOf(error) ?? 0);
      if (!mayExist || (await head(key))?.sizeBytes !== file.sizeBytes) throw error;
    }
  }

  /** Returns null when there is no such key; the SHA-256 is null when S3 has no hash of the whole object. */
  async function head(key: string) {
    const command = new HeadObjectCommand({ ...at(key), ChecksumMode: 'ENABLED' });
    const found = await unlessMissing(client.send(command));
    if (found === null) return null;
    const { ContentLength = 0, ChecksumSHA256 = '' } = found;
    const digest = Buffer.from(ChecksumSHA256, 'base64');
    // After an upload in parts it is the hash of their hashes, and ends with their number.
    const isOfWhole = digest.length === 32 && !ChecksumSHA256.includes('-');
    return { sizeBytes: ContentLength, sha256: isOfWhole ? digest.toString('hex') : null };
  }

  async function getBytes(key: string): Promise<Uint8Array | null> {
    const found = await unlessMissing(client.send(new GetObjectCommand(at(key))));
    return (await found?.Body?.transformToByteArray()) ?? null;
  }

  /** Returns the SHA-256 in lower-case hex; null when there is no such key. */
  async function download(key: string, path: string): Promise<string | null> {
    const found = await unlessMissing(downloads.send(new GetObjectCommand(at(key))));
    if (found === null) return null;
    if (!(found.Body instanceof Readable)) throw new Error(`S3 answered without a body for ${key}.`);
    const hash = createHash('sha256');
    found.Body.on('data', (chunk: Buffer) => hash.update(chunk));
    await pipeline(found.Body, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    return hash.digest('hex');
  }

  async function* list(folder: string, after?: string): AsyncGenerator<string> {
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket,
        Prefix: keyed(`${folder}/`),
        ...(after === undefined ? {} : { StartAfter: keyed(after) }),
        ...(token === undefined ? {} : { ContinuationToken: token }),
      });
      const page = await explained(client.send(command));
      for (const { Key } of page.Contents ?? []) {
        if (Key !== undefined) yield prefix === '' ? Key : Key.slice(prefix.length + 1);
      }
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  return {
    putIfAbsent: (...args: Parameters<typeof putIfAbsent>) => explained(putIfAbsent(...args)),
    putFile: (...args: Parameters<typeof putFile>) => explained(putFile(...args)),
    replace: (key: string, text: string) => explained(putText(key, text)),
    remove: async (key: string) => void (await explained(client.send(new DeleteObjectCommand(at(key))))),
    has: async (key: string) => (await explained(head(key))) !== null,
    head: (key: string) => explained(head(key)),
    getBytes: (key: string) => explained(getBytes(key)),
    download: (key: string, path: string) => explained(download(key, path)),
    list,
    /** The time of the server's clock in milliseconds since 1970, never ahead of it. */
    async serverNow(): Promise<number> {
      if (clock.now() === null) await explained(getBytes('clock'));
      const now = clock.now();
      if (now !== null) return now;
      throw new ArchiveError(
        's3-settings',
        [`the archive's S3 at ${endpoint ?? 'AWS'} answers without a Date header`],
        { subject: url, hint: 'let a proxy in between pass the header: it orders new keys' },
      );
    },
    clock: {
      name: `the archive's S3`,
      aheadMs: clock.aheadMs,
      request: () => getBytes('clock'),
    } satisfies ComparedClock,
    close(): void {
      client.destroy();
      downloads.destroy();
    },
  };
}

async function unlessMissing<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket') return null;
    throw error;
  }
}
