import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { notCsvReason } from '../../../billing/receive-file.ts';
import { CsvScanner } from '../../../lib/wire/csv-scanner.ts';
import { aCsv } from '../../warehouse/support.ts';

const CSV = aCsv();
const zipped = (name: string): Buffer =>
  Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(26, 1), Buffer.from(name), gzipSync(CSV)]);

describe('a file of another kind', () => {
  test.each<[string, Buffer]>([
    ['a gzip file', gzipSync(CSV)],
    ['a ZIP archive', zipped('invoice.csv')],
    ['an Excel workbook (XLSX)', zipped('[Content_Types].xml')],
    ['an Excel workbook (XLSX)', zipped('docProps/app.xml')],
    ['an OpenDocument file', zipped('mimetypeapplication/vnd.oasis.opendocument.spreadsheet')],
    ['an Excel workbook (XLS)', Buffer.from('d0cf11e0a1b11ae1000000', 'hex')],
    ['a Zstandard file', zstdCompressSync(CSV)],
    ['text in UTF-16', Buffer.from(`\uFEFF${CSV}`, 'utf16le')],
    ['text in UTF-16', Buffer.from(`${CSV}`, 'utf16le')],
    ['text in UTF-16', Buffer.from(`\uFEFF${CSV}`, 'utf16le').swap16()],
  ])('is %s and nothing else', (name, bytes) => {
    const scanner = new CsvScanner();
    for (let at = 0; at < bytes.length; at += 7) scanner.push(bytes.subarray(at, at + 7));
    const { findings, findingCount } = scanner.end();
    expect(findings).toMatchObject([
      { rule: 'format', value: expect.stringContaining(`this is ${name}, not a CSV`) },
    ]);
    expect(findingCount).toBe(1);
    expect(notCsvReason(bytes.subarray(0, 1_024), 'text/csv')).toBe(`the answer is ${name}`);
  });

  test('is not what an honest file is, also behind a byte order mark', () => {
    for (const bytes of [CSV, Buffer.concat([Buffer.from('\uFEFF'), CSV])]) {
      const scanner = new CsvScanner();
      scanner.push(bytes);
      expect(scanner.end().findings).toEqual([]);
    }
  });
});
