import * as zlib from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { decoded } from '../../billing/decode-body.ts';
import { notCsvReason } from '../../billing/receive-file.ts';
import { CSV_HEADERS } from '../../lib/wire/csv-file.ts';

const PLAIN = Buffer.from('Tenant,Origin\r\nNordwind,00501\r\n'.repeat(500));

async function read(body: Uint8Array, encoding: string | undefined, { maxBytes = 1e6, pieces = 7 } = {}) {
  async function* bytes() {
    for (let at = 0; at < body.length; at += pieces) yield body.subarray(at, at + pieces);
  }
  const headers = encoding === undefined ? {} : { 'content-encoding': encoding };
  return Buffer.concat(
    await Array.fromAsync(decoded(bytes(), headers, { endpoint: 'storage.test', maxBytes })),
  );
}

describe('decoded', () => {
  test.each([
    ['nothing', PLAIN, undefined],
    ['identity', PLAIN, 'identity'],
    ['a charset in the wrong place', PLAIN, 'UTF-8'],
    ['gzip', zlib.gzipSync(PLAIN), 'gzip'],
    ['x-gzip', zlib.gzipSync(PLAIN), 'X-GZIP'],
    [
      'gzip in two members',
      Buffer.concat([zlib.gzipSync(PLAIN.subarray(0, 99)), zlib.gzipSync(PLAIN.subarray(99))]),
      'gzip',
    ],
    ['deflate in its envelope', zlib.deflateSync(PLAIN), 'deflate'],
    ['deflate bare', zlib.deflateRawSync(PLAIN), 'deflate'],
    ['brotli', zlib.brotliCompressSync(PLAIN), 'br'],
    ['two layers', zlib.brotliCompressSync(zlib.gzipSync(PLAIN)), 'gzip, br'],
    ['gzip without a header', zlib.gzipSync(PLAIN), undefined],
    ['a header that outlived its gzip', PLAIN, 'gzip'],
  ])('undoes %s', async (_, body, encoding) => {
    expect((await read(body, encoding, { pieces: 1 })).equals(PLAIN)).toBe(true);
    expect((await read(body, encoding, { pieces: 1e6 })).equals(PLAIN)).toBe(true);
  });

  test.each([
    ['a torn stream', zlib.gzipSync(PLAIN).subarray(0, 40), 'gzip', 'not the gzip'],
    ['a broken one', zlib.brotliCompressSync(PLAIN).fill(255, 4), 'br', 'not the br'],
    ['an unknown encoding', PLAIN, 'compress', 'compress'],
    ['too many layers', PLAIN, 'gzip,gzip,gzip,gzip', '4 times'],
    ['a bomb', zlib.gzipSync(Buffer.alloc(50e6)), 'gzip', 'over 1000000 bytes'],
    [
      'a bomb within a bomb',
      zlib.gzipSync(zlib.gzipSync(Buffer.alloc(50e6))),
      'gzip,gzip',
      'over 1000000 bytes',
    ],
  ])('refuses %s', async (_, body, encoding, problem) => {
    await expect(read(body, encoding)).rejects.toMatchObject({
      code: 'unexpected-answer',
      message: expect.stringContaining(problem),
    });
  });
});

describe('notCsvReason', () => {
  const header = CSV_HEADERS.join(',');
  test.each([
    ['the header', header, 'text/csv'],
    ['the header under a lie', `${header}\r\n`, 'text/html'],
    ['a byte order mark', `\ufeff${header}`, undefined],
    ['quoted names', CSV_HEADERS.map((name) => `"${name}"`).join(','), 'application/json'],
    ['another order with semicolons', CSV_HEADERS.toReversed().join(';'), undefined],
    ['a header of other names, which the scanner refuses', 'a,b,c\r\n1,2,3', 'application/octet-stream'],
  ])('lets %s pass', (_, text, type) => {
    expect(notCsvReason(Buffer.from(text), type)).toBeNull();
  });

  test.each([
    ['nothing', '', 'text/csv', /empty/],
    ['blanks', ' \r\n ', 'text/csv', /blank/],
    ['a page', ' <!doctype html><p>Tenant, Origin, Carrier', 'text/csv', /<!doctype html>/],
    ['a notice', '{"status":"processing"}', 'text/csv', /processing/],
    ['a list', '[]', undefined, /\[\]/],
    ['an archive', 'PK\u0003\u0004', 'text/csv', /is a ZIP archive$/],
    ['bytes', 'a\u0000b', 'text/csv', /is no text$/],
    ['a document', '%PDF-1.7', 'text/csv', /%PDF/],
    ['text that is called a page', 'Please wait', 'text/html; charset=utf-8', /text\/html/],
    ['text that is called JSON', 'null', 'application/problem+json', /problem/],
  ])('refuses %s', (_, text, type, problem) => {
    expect(notCsvReason(Buffer.from(text), type)).toMatch(problem);
  });
});

describe('a body of suspicious compression', () => {
  const MIB = 1024 * 1024;
  const spaces = Buffer.concat([Buffer.alloc(20 * MIB, ' '), Buffer.from('{}')]);
  const unbounded = { maxBytes: 1e9, pieces: 16_384 };

  test.each([
    ['gzip', zlib.gzipSync(spaces)],
    ['gzip, gzip', zlib.gzipSync(zlib.gzipSync(spaces))],
    [undefined, zlib.gzipSync(spaces)],
    // Many members of nothing: large between the layers, and small at the end.
    ['gzip, gzip', zlib.gzipSync(Buffer.concat(Array<Buffer>(MIB).fill(zlib.gzipSync(''))))],
  ])('is refused, also where it would be an answer in the end (%s, %#)', async (encoding, bytes) => {
    await expect(read(bytes, encoding, unbounded)).rejects.toThrow(
      /unpacks to more than 200 times the \d+ bytes/,
    );
  });

  test('is not what the dullest file is', async () => {
    const row = 'Tenant,2026-03-01,00000000-0000-4000-8000-000000000000,2026-03-01,94107,USD,10.00,2.0,LB,';
    const rows = Array.from({ length: 220_000 }, (_, at) => `${row}1Z${at},ups,5,2026-03-06,Ground\r\n`);
    const text = rows.join('');
    expect(text.length).toBeGreaterThan(16 * MIB);
    expect(await read(zlib.gzipSync(text), 'gzip', unbounded)).toHaveLength(text.length);
  });
});
