export interface FileFormat {
  readonly name: string;
  readonly advice: string;
}

const UNPACK = 'unpack it and take the CSV in it';
const EXPORT = "take the service's own CSV, not one made from this";
const AS_UTF8 = 'convert it to UTF-8, or take it as it was downloaded';

const SIGNATURES: readonly (readonly [RegExp, FileFormat])[] = [
  [/^\x1f\x8b/, { name: 'a gzip file', advice: UNPACK }],
  [/^PK\x03\x04.{26}mimetypeapplication\/vnd\.oasis/s, { name: 'an OpenDocument file', advice: EXPORT }],
  [
    /^PK\x03\x04.{26}(\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/)/s,
    { name: 'an Excel workbook (XLSX)', advice: EXPORT },
  ],
  [/^PK(\x03\x04|\x05\x06)/, { name: 'a ZIP archive', advice: UNPACK }],
  [/^\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1/, { name: 'an Excel workbook (XLS)', advice: EXPORT }],
  [/^\x28\xb5\x2f\xfd/, { name: 'a Zstandard file', advice: UNPACK }],
  [/^BZh[1-9]/, { name: 'a bzip2 file', advice: UNPACK }],
  [/^\xfd7zXZ\x00/, { name: 'an xz file', advice: UNPACK }],
  [/^7z\xbc\xaf\x27\x1c/, { name: 'a 7-Zip archive', advice: UNPACK }],
  [/^PAR1/, { name: 'a Parquet file', advice: EXPORT }],
  [/^%PDF-/, { name: 'a PDF document', advice: EXPORT }],
  [/^(\xff\xfe|\xfe\xff)/, { name: 'text in UTF-16', advice: AS_UTF8 }],
  // In UTF-16 without a byte order mark every other byte of ASCII is NUL.
  [/^(?:[\x09-\x7e]\x00){8}|^(?:\x00[\x09-\x7e]){8}/, { name: 'text in UTF-16', advice: AS_UTF8 }],
];

export const FORMAT_BYTES = 64;

export function formatOf(head: Uint8Array): FileFormat | null {
  const text = Buffer.from(head.subarray(0, FORMAT_BYTES)).toString('latin1');
  return SIGNATURES.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}
