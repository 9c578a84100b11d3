/**
 * A file of marks, sorted: for each row of some loads 32 bits of its tracking number's hash, and which row it is. It is written once.
 *
 * Pages of 4 KB, each with its own checksum, then the first mark of each page. So a mark is found by reading one page, and a file
 * that was cut short, damaged or exchanged is noticed where it is read.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';

/** Columns of the same length, sorted by `marks`; no mark of a block is below one of the block before. */
export interface Entries {
  readonly marks: Uint32Array;
  readonly loads: Uint32Array;
  readonly rows: Uint32Array;
}

/** Its name is random, and part of every checksum. */
export interface MarkFile {
  readonly path: string;
  readonly name: string;
  readonly entries: number;
}

export class MarkFileDamagedError extends Error {}

const PAGE_BYTES = 4_096;
/** Three columns of 340, then their number, the page's number, and the checksum as the last word. */
const PAGE_WORDS = PAGE_BYTES / 4;
const PER_PAGE = 340;
const [COUNT_AT, PAGE_AT, SUM_AT] = [PER_PAGE * 3, PER_PAGE * 3 + 1, PAGE_WORDS - 1];
/** Pages that lie one behind the other are read and written together. */
const PAGES_AT_ONCE = 64;
/** Read directly: by Node's threads a page takes ten times as long. So often others have their turn. */
const READS_AT_ONCE = 32;

/** @returns how many entries it has now; nothing is flushed to the disk */
export async function writeMarkFile(
  { path, name }: Pick<MarkFile, 'path' | 'name'>,
  blocks: AsyncIterable<Entries>,
): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  try {
    const firsts: number[] = [];
    let entries = 0;
    let pages: Buffer[] = [];
    let page = new Uint32Array(PAGE_WORDS);
    let filled = 0;
    const endPage = (): void => {
      firsts.push(page[0] ?? 0);
      page[COUNT_AT] = filled;
      page[PAGE_AT] = firsts.length - 1;
      const bytes = Buffer.from(page.buffer);
      page[SUM_AT] = sumOf(name, bytes.subarray(0, SUM_AT * 4));
      pages.push(bytes);
      page = new Uint32Array(PAGE_WORDS);
      filled = 0;
    };
    for await (const { marks, loads, rows } of blocks) {
      for (let from = 0; from < marks.length; ) {
        const to = Math.min(from + PER_PAGE - filled, marks.length);
        page.set(marks.subarray(from, to), filled);
        page.set(loads.subarray(from, to), PER_PAGE + filled);
        page.set(rows.subarray(from, to), PER_PAGE * 2 + filled);
        filled += to - from;
        entries += to - from;
        from = to;
        if (filled === PER_PAGE) endPage();
      }
      if (pages.length >= PAGES_AT_ONCE) {
        await file.appendFile(Buffer.concat(pages));
        pages = [];
      }
    }
    if (filled > 0) endPage();
    const index = Buffer.from(Uint32Array.from(firsts).buffer);
    const sum = Buffer.from(Uint32Array.of(sumOf(name, index)).buffer);
    await file.appendFile(Buffer.concat([...pages, index, sum]));
    return entries;
  } finally {
    await file.close();
  }
}

/** All of its entries, in their order. @throws MarkFileDamagedError and what the system throws */
export async function* readMarkFile(file: MarkFile): AsyncGenerator<Entries> {
  const descriptor = openSync(file.path, 'r');
  try {
    const pages = Array.from({ length: Math.ceil(file.entries / PER_PAGE) }, (_, page) => page);
    yield* readPages(descriptor, file, pages);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * The entries that have one of these marks.
 *
 * @param wanted sorted, each once
 * @throws MarkFileDamagedError and what the system throws
 */
export async function findInMarkFile(
  file: MarkFile,
  wanted: Uint32Array,
  tell: (mark: number, load: number, row: number) => void,
): Promise<void> {
  const descriptor = openSync(file.path, 'r');
  try {
    const firsts = readIndex(descriptor, file);
    for await (const { marks, loads, rows } of readPages(descriptor, file, pagesOf(firsts, wanted))) {
      let next = countBelow(wanted, marks[0] ?? 0);
      for (let at = 0; at < marks.length && next < wanted.length; ) {
        const [mark = 0, sought = 0] = [marks[at], wanted[next]];
        if (mark === sought) tell(mark, loads[at] ?? 0, rows[at] ?? 0);
        if (mark <= sought) at += 1;
        else next += 1;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Equal marks may begin in the page before the first that begins with them. */
function pagesOf(firsts: Uint32Array, wanted: Uint32Array): number[] {
  const pages: number[] = [];
  for (const mark of wanted) {
    let page = Math.max(countBelow(firsts, mark) - 1, (pages.at(-1) ?? -1) + 1, 0);
    for (; page < firsts.length && (firsts[page] ?? 0) <= mark; page += 1) pages.push(page);
  }
  return pages;
}

/** Of a sorted column. */
function countBelow(sorted: Uint32Array, value: number): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle] ?? 0) < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

function readIndex(descriptor: number, file: MarkFile): Uint32Array {
  const pages = Math.ceil(file.entries / PER_PAGE);
  const index = readBytes(descriptor, file, { from: pages * PAGE_BYTES, size: pages * 4 + 4 });
  const words = new Uint32Array(index.buffer);
  if (words[pages] !== sumOf(file.name, index.subarray(0, pages * 4))) throw damaged(file);
  return words.subarray(0, pages);
}

async function* readPages(
  descriptor: number,
  file: MarkFile,
  pages: readonly number[],
): AsyncGenerator<Entries> {
  for (let [at, reads] = [0, 1]; at < pages.length; reads += 1) {
    if (reads % READS_AT_ONCE === 0) await setImmediate();
    const first = pages[at] ?? 0;
    let count = 1;
    while (count < PAGES_AT_ONCE && pages[at + count] === first + count) count += 1;
    const bytes = readBytes(descriptor, file, { from: first * PAGE_BYTES, size: count * PAGE_BYTES });
    for (let nth = 0; nth < count; nth += 1) {
      yield entriesOf(file, bytes.subarray(nth * PAGE_BYTES, (nth + 1) * PAGE_BYTES), first + nth);
    }
    at += count;
  }
}

function entriesOf(file: MarkFile, bytes: Buffer, page: number): Entries {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, PAGE_WORDS);
  const sum = sumOf(file.name, bytes.subarray(0, SUM_AT * 4));
  const count = words[COUNT_AT] ?? 0;
  const expected = Math.min(file.entries - page * PER_PAGE, PER_PAGE);
  if (words[SUM_AT] !== sum || words[PAGE_AT] !== page || count !== expected) throw damaged(file);
  const column = (number: number): Uint32Array =>
    words.subarray(number * PER_PAGE, number * PER_PAGE + count);
  return { marks: column(0), loads: column(1), rows: column(2) };
}

function readBytes(
  descriptor: number,
  file: MarkFile,
  { from, size }: { readonly from: number; readonly size: number },
): Buffer {
  const bytes = Buffer.from(new ArrayBuffer(size));
  if (readSync(descriptor, bytes, 0, size, from) < size) throw damaged(file);
  return bytes;
}

function sumOf(name: string, bytes: Buffer): number {
  return crc32(bytes, crc32(name));
}

function damaged({ path }: MarkFile): MarkFileDamagedError {
  return new MarkFileDamagedError(`${path} is not what was written`);
}
