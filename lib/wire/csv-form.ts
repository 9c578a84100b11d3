/** The forms of a CSV that a partner may accept besides the specified one, and where a file of such a form has its cells. */

import { CSV_EDITIONS, CSV_HEADERS } from './columns.ts';
import type { CsvTolerance } from './csv-file.ts';
import { isNothing } from './invisible.ts';

export interface CsvForm {
  /** Every column's name, in the order of the file. */
  readonly names: readonly string[];
  /** For each specified column its place in a record, from 0; -1 for one that came after the file. */
  readonly places: readonly number[];
  /** Places of the columns that the specification does not know. */
  readonly added: readonly number[];
  /** What has to be tolerated for it. */
  readonly needs: readonly CsvTolerance[];
}

/** Each row repeats the names of added columns: more than this is an attack on the disk. */
const MOST_ADDED_BYTES = 2_000;

/** null when a column is missing, a name stands twice, or an added one has none. */
export function readForm(names: readonly string[]): CsvForm | null {
  const edition = CSV_EDITIONS.findLast((headers) => headers.every((header) => names.includes(header)));
  if (edition === undefined || new Set(names).size !== names.length) return null;
  const places = CSV_HEADERS.map((header) => (edition.includes(header) ? names.indexOf(header) : -1));
  const added = names.flatMap((name, place) => (places.includes(place) ? [] : [{ name, place }]));
  if (added.some(({ name }) => isNothing(name))) return null;
  if (Buffer.byteLength(added.map(({ name }) => name).join('')) > MOST_ADDED_BYTES) return null;
  const inOrder = edition.map((header) => names.indexOf(header));
  const isInOrder = inOrder.every((place, index) => index === 0 || place > (inOrder[index - 1] ?? 0));
  return {
    names,
    places,
    added: added.map(({ place }) => place),
    needs: [
      ...(isInOrder ? [] : (['column-order'] as const)),
      ...(added.length === 0 ? [] : (['added-columns'] as const)),
    ],
  };
}

/** The added columns of a record as a JSON object in the order of the file, an empty cell as null; null when there are none. */
export function addedCells({ names, added }: CsvForm, record: readonly string[]): string | null {
  if (added.length === 0) return null;
  // Built as text: an object would sort names that are numbers and lose `__proto__`.
  const cells = added.map((place) => {
    const cell = record[place] ?? '';
    return `${JSON.stringify(names[place])}:${cell === '' ? 'null' : JSON.stringify(cell)}`;
  });
  return `{${cells.join(',')}}`;
}
