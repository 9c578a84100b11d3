/** A download of any size, in any encoding and in any pieces, that ends whole, early, late or with an error. */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { HttpStream } from '../../billing/http.ts';
import { DOWNLOAD_LIMITS, receiveFile } from '../../billing/receive-file.ts';
import { CSV_HEADERS } from '../../lib/wire/csv-file.ts';
import { testFolder } from '../support/folders.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const MAX_UNANNOUNCED = 1_200_000;
const MIB = 1024 * 1024;
const ENCODINGS: Readonly<Record<string, readonly [string | null, (bytes: Buffer) => Buffer]>> = {
  none: [null, (bytes) => bytes],
  gzip: ['gzip', zlib.gzipSync],
  'gzip without a header': [null, zlib.gzipSync],
  brotli: ['br', zlib.brotliCompressSync],
  deflate: ['deflate', zlib.deflateSync],
  twice: ['gzip, br', (bytes) => zlib.brotliCompressSync(zlib.gzipSync(bytes))],
};
const drawn = fc.record({
  rows: fc.constantFrom(0, 1, 50, 20_000, 60_000),
  encoding: fc.constantFrom(...Object.keys(ENCODINGS)),
  announced: fc.constantFrom('file', 'wire', 'wire less one', 'wire less much', 'nothing'),
  piece: fc.constantFrom(1_000, 16_384, 700_000),
  end: fc.constantFrom('whole', 'whole', 'whole', 'early', 'with an error'),
  /** Where it ends, as a share of its bytes. */
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
});

test('is kept with the hash of its bytes if it is whole and not larger than announced, and leaves nothing behind', async () => {
  const folder = join(testFolder(), 'tmp');
  await fc.assert(
    fc.asyncProperty(drawn, async ({ rows, encoding, announced, piece, end, at }) => {
      const row = `Acme,2026-03-01,${'0'.repeat(20)}\r\n`;
      const plain = Buffer.from(`${CSV_HEADERS.join(',')}\r\n${row.repeat(rows)}`);
      const [header, encode] = ENCODINGS[encoding] ?? [null, (bytes: Buffer) => bytes];
      const wire = encode(plain);
      const expectedBytes = {
        ...{ file: plain.length, wire: wire.length, 'wire less one': wire.length - 1, nothing: null },
        'wire less much': Math.max(1, wire.length - 2_000),
      }[announced] as number | null;
      const sent = end === 'whole' ? wire : wire.subarray(0, Math.floor(at * wire.length));
      // By fewer bytes no encoding is told from clear text.
      fc.pre(end === 'whole' || sent.length > 2);
      async function* chunks() {
        for (let from = 0; from < sent.length; from += piece) yield sent.subarray(from, from + piece);
        if (end === 'with an error') throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
      }
      const headers = header === null ? {} : { 'content-encoding': header };
      const body = Readable.from(chunks(), { objectMode: false });
      const result = await receiveFile(
        {
          ...{ url: 'https://storage.example/a.csv', endpoint: 'storage.example', folder, signal: undefined },
          ...{ expectedBytes, limits: { ...DOWNLOAD_LIMITS, maxUnannouncedBytes: MAX_UNANNOUNCED } },
          open: async () => ({ status: 200, headers, body }) as unknown as HttpStream,
          tooLong: () => new Error('too long'),
        },
        async (path, file) => ({ ...file, bytes: await readFile(path) }),
      ).catch((error: unknown) => error as Error & { readonly code?: string });
      expect(await readdir(folder)).toEqual([]);
      const isEncoded = encoding !== 'none';
      const mostSent = (expectedBytes ?? MAX_UNANNOUNCED) + (isEncoded ? 1_024 : 0);
      const mostDecoded = expectedBytes === null ? MAX_UNANNOUNCED : Math.max(100 * expectedBytes, MIB);
      if (result instanceof Error) {
        if (end === 'with an error' && sent.length < 1_000 && sent.length > 0 && !isEncoded)
          expect(result.code).toBe('unreachable');
        if (end === 'whole')
          expect(sent.length > mostSent || (isEncoded && plain.length > mostDecoded), String(result)).toBe(
            true,
          );
        return;
      }
      // A body that ends early in clear text is told by its size and hash alone.
      expect(end === 'whole' || (end === 'early' && !isEncoded)).toBe(true);
      expect(sent.length).toBeLessThanOrEqual(mostSent);
      if (isEncoded) expect(plain.length).toBeLessThanOrEqual(mostDecoded);
      const content = isEncoded ? plain : sent;
      expect(result.bytes.equals(content)).toBe(true);
      expect(result).toMatchObject({ sha256: sha256(content), sizeBytes: content.length });
      expect(result.onTheWire).toEqual({ sha256: sha256(sent), sizeBytes: sent.length });
      expect(result.scan.records).toBe(end === 'whole' ? rows : result.scan.records);
    }),
    { numRuns: 80 },
  );
});
