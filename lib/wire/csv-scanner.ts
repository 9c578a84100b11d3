import { printable } from '../text.ts';
import { CSV_EDITIONS, CSV_HEADERS, type CsvFinding, type CsvScan } from './csv-file.ts';
import { formatOf } from './file-format.ts';
import { Utf8Validator } from './utf8-validator.ts';

export const MAX_FINDINGS = 100;

/** A record longer than this is refused: DuckDB's own limit is 2,097,152 bytes (hazard 67). */
export const MAX_RECORD_BYTES = 2_000_000;

/**
 * DuckDB holds so many records in memory at a time, on every thread, outside its own limit: 2,048 records of almost 2
 * MB would be 4 GB.
 */
const RECORDS_AT_ONCE = 2_048;
export const MAX_BYTES_AT_ONCE = 64 * 1024 ** 2;

/** Records from one cut to the next: as many as DuckDB keeps in a row group, so that none is filled from two chunks. */
export const RECORDS_PER_CUT = 122_880;

export const SCAN_RULES = [
  'format',
  'header',
  'no-rows',
  'field-count',
  'blank-line',
  'bare-cr',
  'bare-lf',
  'nul',
  'utf-8',
  'stray-quote',
  'text-after-quote',
  'open-quote',
  'record-too-big',
] as const;
export type ScanRule = (typeof SCAN_RULES)[number];

const COMMA = 0x2c;
const QUOTE = 0x22;
const CR = 0x0d;
const LF = 0x0a;
const NUL = 0x00;

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
/** Any name may be quoted, which is the same record for every CSV reader. */
const HEADERS = CSV_EDITIONS.map((names) => ({
  names,
  pattern: new RegExp(`^${names.map((name) => `(?:${name}|"${name}")`).join(',')}(?=[\\r\\n]|$)`),
}));
const MAX_HEADER_BYTES = BOM.length + CSV_HEADERS.map((name) => `"${name}"`).join(',').length + 2;
const FIELD_TEXT_BYTES = 200;

const FIELD_START = 0;
const UNQUOTED = 1;
const QUOTED = 2;
const AFTER_QUOTE = 3;
const AFTER_CR = 4;
type State = typeof FIELD_START | typeof UNQUOTED | typeof QUOTED | typeof AFTER_QUOTE | typeof AFTER_CR;

/**
 * Chunks may be cut anywhere; memory does not grow with the file. After a finding, a bare LF ends a record; a bare CR
 * and a misplaced quote are text.
 */
export class CsvScanner {
  readonly #utf8 = new Utf8Validator();
  readonly #findings: CsvFinding[] = [];
  readonly #newestCell = new Map<ScanRule, { record: number; field: number }>();
  #findingCount = 0;

  #head: Buffer | null = Buffer.alloc(0);
  #state: State = FIELD_START;
  #field = 0;
  /** Number of the current record from 0; -1 while the header is read. */
  #record = -1;
  #records = 0;
  #line = 1;
  #recordLine = 1;
  #quoteLine = 1;
  #offset = 0;
  #recordOffset = 0;
  #bytesAtOnce = 0;
  readonly #recordsPerCut: number;
  readonly #cuts: number[] = [];
  #headerIsRight = false;
  #isOther = false;
  /** A lone CR does not end the header, so rows follow in its record. */
  #headerGoesOn = false;
  #endsWithLineEnd = false;
  /** Start of the current field in the current chunk; -1 when it began in an earlier one, then `#carried` has its first bytes. */
  #fieldStart = 0;
  #carried: Buffer = Buffer.alloc(0);

  #names: readonly string[];
  readonly #isHeaderChecked: boolean;
  readonly #takesLineFeeds: boolean;

  constructor(
    recordsPerCut = RECORDS_PER_CUT,
    tolerated?: { readonly names: readonly string[]; readonly takesLineFeeds: boolean },
  ) {
    this.#recordsPerCut = recordsPerCut;
    this.#names = tolerated?.names ?? CSV_HEADERS;
    this.#isHeaderChecked = tolerated !== undefined;
    this.#takesLineFeeds = tolerated?.takesLineFeeds === true;
  }

  push(chunk: Uint8Array): void {
    if (this.#isOther) return;
    if (this.#head === null) {
      this.#pushBody(chunk);
      return;
    }
    this.#head = Buffer.concat([this.#head, chunk]);
    if (this.#head.length >= MAX_HEADER_BYTES) this.#pushHead(this.#head);
  }

  end(): CsvScan {
    if (this.#head !== null) this.#pushHead(this.#head);
    if (this.#utf8.endsInsideCharacter()) this.#add('utf-8', { value: 'the file ends inside a character' });
    if (this.#state === AFTER_CR) this.#add('bare-cr', { value: '\r' });
    if (this.#state === QUOTED) this.#add('open-quote', { line: this.#quoteLine, value: this.#fieldText() });
    if (this.#offset > this.#recordOffset) this.#endRecord(this.#offset, 0);
    if (this.#records === 0 && this.#headerIsRight && !this.#headerGoesOn) {
      this.#add('no-rows', {
        line: null,
        row: null,
        column: null,
        value: 'the header is followed by nothing',
      });
    }
    if (this.#records > 0 && this.#cuts.at(-1) === this.#offset) this.#cuts.pop();
    return {
      records: this.#records,
      findings: this.#findings,
      findingCount: this.#findingCount,
      endsWithLineEnd: this.#endsWithLineEnd,
      cuts: this.#cuts,
      ...(this.#isHeaderChecked || this.#names === CSV_EDITIONS[0] ? {} : { columns: this.#names.length }),
    };
  }

  #pushHead(head: Buffer): void {
    this.#head = null;
    const format = formatOf(head);
    if (format !== null) {
      this.#isOther = true;
      const value = `this is ${format.name}, not a CSV: ${format.advice}`;
      this.#add('format', { line: null, row: null, column: null, value });
      return;
    }
    const start = head.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0;
    const header = HEADERS.find(({ pattern }) =>
      pattern.test(head.toString('latin1', start, MAX_HEADER_BYTES)),
    );
    this.#headerIsRight = this.#isHeaderChecked || header !== undefined;
    if (!this.#isHeaderChecked && header !== undefined) this.#names = header.names;
    if (!this.#headerIsRight)
      this.#add('header', wrongHeader(head.toString('utf8', start, MAX_HEADER_BYTES)));
    this.#offset = start;
    this.#recordOffset = start;
    this.#pushBody(head.subarray(start));
  }

  #pushBody(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    let scanned = 0;
    for (const { offset, bytes } of this.#utf8.check(chunk)) {
      this.#scan(chunk, scanned, offset);
      this.#addOnce(
        'utf-8',
        () => `${inHex(bytes)} after "${this.#fieldText(chunk, offset).replace(/\uFFFD+$/, '')}"`,
      );
      scanned = offset;
    }
    this.#scan(chunk, scanned, chunk.length);
    this.#carryField(chunk);
    this.#offset += chunk.length;
  }

  /** In this hot loop, everything that is not special in its state is skipped by one comparison a byte. */
  #scan(chunk: Uint8Array, from: number, to: number): void {
    let state = this.#state;
    let i = from;
    while (i < to) {
      let byte = chunk[i] as number;
      switch (state) {
        case QUOTED:
          // Within quotes, no byte above the quote is special; LF counts lines.
          while (byte > QUOTE && ++i < to) byte = chunk[i] as number;
          if (i >= to) break;
          if (byte === QUOTE) state = AFTER_QUOTE;
          else if (byte === LF) this.#line++;
          else if (byte === NUL) this.#addAt('nul', chunk, i);
          i++;
          break;
        case AFTER_CR:
          if (byte === LF) {
            i++;
            this.#endLine(chunk, i, 2);
            state = FIELD_START;
          } else {
            this.#addAt('bare-cr', chunk, i - 1);
            this.#headerGoesOn ||= this.#record === -1;
            state = UNQUOTED;
          }
          break;
        case AFTER_QUOTE:
          if (byte === QUOTE) {
            state = QUOTED;
            i++;
            break;
          }
          if (byte !== COMMA && byte !== CR && byte !== LF) this.#addAt('text-after-quote', chunk, i);
          state = UNQUOTED;
          break;
        default:
          // Outside quotes, no byte above the comma is special.
          if (byte > COMMA) {
            state = UNQUOTED;
            while (byte > COMMA && ++i < to) byte = chunk[i] as number;
            if (i >= to) break;
          }
          i++;
          if (byte === COMMA) {
            this.#field++;
            this.#fieldStart = i;
            state = FIELD_START;
          } else if (byte === CR) {
            state = AFTER_CR;
          } else if (byte === LF) {
            if (!this.#takesLineFeeds) this.#addAt('bare-lf', chunk, i - 1);
            this.#endLine(chunk, i, 1);
            state = FIELD_START;
          } else if (byte === QUOTE && state === FIELD_START) {
            this.#quoteLine = this.#line;
            state = QUOTED;
          } else {
            if (byte === QUOTE) this.#addAt('stray-quote', chunk, i - 1);
            else if (byte === NUL) this.#addAt('nul', chunk, i - 1);
            state = UNQUOTED;
          }
      }
    }
    this.#state = state;
  }

  #endLine(chunk: Uint8Array, end: number, lineEndBytes: 1 | 2): void {
    this.#endRecord(this.#offset + end, lineEndBytes);
    this.#line++;
    this.#recordLine = this.#line;
    this.#fieldStart = Math.min(end, chunk.length);
  }

  #endRecord(endOffset: number, lineEndBytes: 0 | 1 | 2): void {
    const sizeBytes = endOffset - this.#recordOffset;
    if (sizeBytes === lineEndBytes) {
      this.#add('blank-line', { line: this.#recordLine, column: null, value: '' });
    } else if (this.#record === -1) {
      this.#record = 0;
      this.#cuts.push(endOffset);
    } else {
      this.#record++;
      this.#records++;
      if (this.#field + 1 !== this.#names.length) {
        const value = `${this.#field + 1} fields instead of ${this.#names.length}`;
        this.#add('field-count', { line: this.#recordLine, row: this.#record, column: null, value });
      }
      if (sizeBytes > MAX_RECORD_BYTES) {
        const value = `${sizeBytes} bytes, at most ${MAX_RECORD_BYTES}`;
        this.#add('record-too-big', { line: this.#recordLine, row: this.#record, column: null, value });
      } else this.#countAtOnce(sizeBytes);
      if (this.#records % this.#recordsPerCut === 0) this.#cuts.push(endOffset);
    }
    this.#endsWithLineEnd = lineEndBytes > 0;
    this.#recordOffset = endOffset;
    this.#field = 0;
  }

  #countAtOnce(sizeBytes: number): void {
    const before = this.#bytesAtOnce;
    this.#bytesAtOnce += sizeBytes;
    if (before <= MAX_BYTES_AT_ONCE && this.#bytesAtOnce > MAX_BYTES_AT_ONCE) {
      const value = `over ${MAX_BYTES_AT_ONCE} bytes in fewer than ${RECORDS_AT_ONCE} records`;
      this.#add('record-too-big', { line: this.#recordLine, row: this.#record, column: null, value });
    }
    if (this.#records % RECORDS_AT_ONCE === 0) this.#bytesAtOnce = 0;
  }

  #carryField(chunk: Uint8Array): void {
    const begun = chunk.subarray(Math.max(0, this.#fieldStart), chunk.length);
    const before = this.#fieldStart === -1 ? this.#carried : Buffer.alloc(0);
    if (before.length < FIELD_TEXT_BYTES) {
      this.#carried = Buffer.concat([before, begun.subarray(0, FIELD_TEXT_BYTES - before.length)]);
    } else {
      this.#carried = before;
    }
    this.#fieldStart = -1;
  }

  #fieldText(chunk?: Uint8Array, end = 0): string {
    const here = chunk?.subarray(Math.max(0, this.#fieldStart), end) ?? Buffer.alloc(0);
    const bytes =
      this.#fieldStart === -1 ? Buffer.concat([this.#carried, here.subarray(0, FIELD_TEXT_BYTES)]) : here;
    return Buffer.from(bytes.subarray(0, FIELD_TEXT_BYTES)).toString('utf8');
  }

  #addAt(rule: ScanRule, chunk: Uint8Array, at: number): void {
    this.#addOnce(rule, () => this.#fieldText(chunk, at + 1));
  }

  #addOnce(rule: ScanRule, value: () => string): void {
    const newest = this.#newestCell.get(rule);
    if (newest === undefined) {
      this.#newestCell.set(rule, { record: this.#record, field: this.#field });
    } else {
      if (newest.record === this.#record && newest.field === this.#field) return;
      newest.record = this.#record;
      newest.field = this.#field;
    }
    // A file may be wrong in every byte: beyond the limit, findings are counted but not formulated.
    if (this.#findings.length >= MAX_FINDINGS) this.#findingCount++;
    else this.#add(rule, { value: value() });
  }

  #add(rule: ScanRule, finding: Partial<CsvFinding> & { readonly value: string }): void {
    this.#findingCount++;
    if (this.#findings.length >= MAX_FINDINGS) return;
    this.#findings.push({
      line: this.#line,
      row: this.#record === -1 ? null : this.#record + 1,
      column: this.#record === -1 ? null : (this.#names[this.#field] ?? null),
      rule,
      ...finding,
      value: printable(finding.value),
    });
  }
}

function wrongHeader(head: string): { readonly column: string | null; readonly value: string } {
  const [line = ''] = head.split(/[\r\n]/, 1);
  if (line === '')
    return { column: null, value: head === '' ? 'the file is empty' : 'the first line is empty' };
  const names = line.split(',');
  const at = CSV_HEADERS.findIndex((name, index) => names[index] !== name && names[index] !== `"${name}"`);
  const column = CSV_HEADERS[at];
  if (column === undefined) return { column: null, value: `more than ${CSV_HEADERS.length} fields: ${line}` };
  const found = names[at] === undefined ? 'nothing' : `"${printable(names[at], 80)}"`;
  return { column, value: `field ${at + 1} is ${found} instead of "${column}": ${line}` };
}

function inHex(bytes: readonly number[]): string {
  return `byte${bytes.length === 1 ? '' : 's'} ${bytes.map((byte) => `0x${byte.toString(16).padStart(2, '0')}`).join(' ')}`;
}
