/** The few things the archive asks of S3, or of anything that speaks it, under one prefix of one bucket. */

import type { ComparedClock } from '../../lib/health/clocks.ts';
import { openS3Client } from './client.ts';
import { explainS3Error, type S3Place, S3SettingsError } from './errors.ts';
import {
  bytesOf,
  downloadTo,
  headOf,
  keysBelow,
  type ObjectHead,
  type ObjectPlace,
  putText,
  putTextIfAbsent,
  putUpload,
  removeObject,
} from './objects.ts';
import { followServerClock } from './server-clock.ts';
import { PART_BYTES } from './upload.ts';

/** All of them throw the errors of `errors.ts`. */
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
  /** Milliseconds since 1970 by the server's clock, counted on from its newest answer: never ahead of it, a little behind. */
  serverNow(): Promise<number>;
  readonly clock: ComparedClock;
  close(): void;
}

export interface S3BucketOptions {
  /** null: AWS itself. */
  readonly endpoint: string | null;
  /** Of files that are larger, each part of an upload; S3 wants 5 MiB at least. */
  readonly partBytes?: number;
  /** After which a request on whose connection nothing happens is given up; see client.ts. */
  readonly idleMs?: number;
}

/** Opens `s3://bucket/prefix`. */
export function openS3Bucket(url: string, options: S3BucketOptions): S3Bucket {
  const { endpoint, partBytes = PART_BYTES, idleMs } = options;
  const { hostname: bucket, pathname } = new URL(url);
  const prefix = pathname.replace(/^\/+|\/+$/g, '');
  const place: S3Place = { bucket, url, endpoint };
  const config = idleMs === undefined ? {} : { requestHandler: { socketTimeout: idleMs } };
  const client = openS3Client(config, endpoint);
  // Files are hashed as they arrive: a check inside the client would hide what is there.
  const files = openS3Client({ ...config, responseChecksumValidation: 'WHEN_REQUIRED' }, endpoint);
  const clock = followServerClock([client, files]);
  const keyed = (key: string): string => (prefix === '' ? key : `${prefix}/${key}`);
  const at = (key: string): ObjectPlace => ({ client, at: { Bucket: bucket, Key: keyed(key) } });

  async function explained<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw explainS3Error(error, place);
    }
  }

  return {
    putIfAbsent: (key, text) => explained(putTextIfAbsent(at(key), text)),
    putFile: (key, path, { replaces, ...file }) =>
      explained(putUpload({ ...at(key), path, file, replaces, partBytes })),
    replace: (key, text) => explained(putText(at(key), text)),
    remove: (key) => explained(removeObject(at(key))),
    has: async (key) => (await explained(headOf(at(key)))) !== null,
    head: (key) => explained(headOf(at(key))),
    getBytes: (key) => explained(bytesOf(at(key))),
    download: (key, path) => explained(downloadTo({ ...at(key), client: files }, path)),
    async *list(folder, after) {
      const below = { ...at(`${folder}/`), ...(after === undefined ? {} : { after: keyed(after) }) };
      let token: string | undefined;
      do {
        const page = await explained(keysBelow(below, token));
        for (const key of page.keys) yield prefix === '' ? key : key.slice(prefix.length + 1);
        token = page.next;
      } while (token !== undefined);
    },
    async serverNow() {
      if (clock.now() === null) await explained(bytesOf(at('clock')));
      const now = clock.now();
      if (now !== null) return now;
      throw new S3SettingsError(`the archive's S3 at ${endpoint ?? 'AWS'} answers without a Date header`, {
        subject: url,
        hint: 'let what lies between (a proxy) pass the header: by it new keys are ordered',
      });
    },
    clock: { name: `the archive's S3`, aheadMs: clock.aheadMs, ask: () => bytesOf(at('clock')) },
    close() {
      client.destroy();
      files.destroy();
    },
  };
}
