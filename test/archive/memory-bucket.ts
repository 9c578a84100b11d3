/** A bucket in memory, whose clock and pauses a test chooses; the protocol with a real server is tested in the slow tests. */

import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { S3Bucket } from '../../archive/s3/bucket.ts';

export interface MemoryBucket extends S3Bucket {
  nowMs: number;
  /** Between the request and the write. */
  onPut: (key: string) => Promise<void>;
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export function openMemoryBucket(skewMs = (): number => 0): MemoryBucket {
  const objects = new Map<string, Uint8Array>();
  const bucket: MemoryBucket = {
    nowMs: Date.parse('2026-03-01T00:00:00.000Z'),
    onPut: async () => {},
    async putIfAbsent(key, text) {
      await bucket.onPut(key);
      if (objects.has(key)) return false;
      objects.set(key, Buffer.from(text));
      return true;
    },
    async putFile(key, path, { replaces }) {
      if (replaces || !objects.has(key)) objects.set(key, await readFile(path));
    },
    replace: async (key, text) => void objects.set(key, Buffer.from(text)),
    remove: async (key) => void objects.delete(key),
    has: async (key) => objects.has(key),
    async head(key) {
      const bytes = objects.get(key);
      return bytes === undefined ? null : { sizeBytes: bytes.length, sha256: hashOf(bytes) };
    },
    getBytes: async (key) => objects.get(key) ?? null,
    async download(key, path) {
      const bytes = objects.get(key);
      if (bytes === undefined) return null;
      await writeFile(path, bytes, { mode: 0o600 });
      return hashOf(bytes);
    },
    async *list(folder, after = '') {
      yield* [...objects.keys()].filter((key) => key.startsWith(`${folder}/`) && key > after).sort();
    },
    serverNow: async () => bucket.nowMs + skewMs(),
    clock: { name: 'memory', aheadMs: () => null, request: async () => null },
    close() {},
  };
  return bucket;
}
