/** Reads what a test needs of an XLSX file by the format's own rules, so that no library vouches for what another one wrote. */

import { inflateRawSync } from 'node:zlib';

/** One deflated entry of a ZIP, by its central directory. @throws Error there is none of that name */
export function unzipped(bytes: Uint8Array, name: string): string {
  const zip = Buffer.from(bytes);
  for (let at = zip.indexOf('PK\u0001\u0002'); at >= 0; at = zip.indexOf('PK\u0001\u0002', at + 4)) {
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.subarray(at + 46, at + 46 + nameLength).toString() !== name) continue;
    const local = zip.readUInt32LE(at + 42);
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    const data = zip.subarray(start, start + zip.readUInt32LE(at + 20));
    return zip.readUInt16LE(at + 10) === 0 ? data.toString() : inflateRawSync(data).toString();
  }
  throw new Error(`There is no ${name} in the workbook.`);
}

/** The cells of a sheet as they are stored: texts as texts, numbers and dates as the digits of the file. @param sheet from 1 */
export function cellsOf(bytes: Uint8Array, sheet = 1): readonly (readonly string[])[] {
  const shared = [...entry(bytes, 'xl/sharedStrings.xml').matchAll(/<si>(.*?)<\/si>/gs)].map(([, si = '']) =>
    textIn(si),
  );
  const rows = unzipped(bytes, `xl/worksheets/sheet${sheet}.xml`).matchAll(/<row[^>]*>(.*?)<\/row>/gs);
  return [...rows].map(([, row = '']) => {
    const cells: string[] = [];
    for (const [, marks = '', inner = ''] of row.matchAll(/<c ([^>]*?)(?:\/>|>(.*?)<\/c>)/gs)) {
      const value = /<v>(.*?)<\/v>/s.exec(inner)?.[1] ?? '';
      const text = /t="s"/.test(marks) ? (shared[Number(value)] ?? '') : value === '' ? textIn(inner) : value;
      // An empty cell is left out.
      const place = columnOf(/\br="([A-Z]+)/.exec(marks)?.[1] ?? '') ?? cells.length;
      while (cells.length < place) cells.push('');
      cells.push(text);
    }
    return cells;
  });
}

/** From 0; null: the cell names no column. */
function columnOf(letters: string): number | null {
  return letters === ''
    ? null
    : [...letters].reduce((at, letter) => at * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function entry(bytes: Uint8Array, name: string): string {
  try {
    return unzipped(bytes, name);
  } catch {
    return '';
  }
}

function textIn(xml: string): string {
  return [...xml.matchAll(/<t[^>]*>(.*?)<\/t>/gs)]
    .map(([, text = '']) => text)
    .join('')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}
