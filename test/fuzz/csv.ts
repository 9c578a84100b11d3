/**
 * Any bytes as a CSV: the byte scan and DuckDB behind it agree with csv-parse, to the cell; and a file of another
 * form comes, when that is tolerated, to the rows of the same file in the specified one.
 */

import { CSV_HEADERS } from '../../lib/wire/csv-file.ts';
import { damaged } from '../security/hostile/json.ts';
import type { Random } from '../support/random.ts';
import { type Forms, INVOICE, openReaders } from '../warehouse/load/two-readers.ts';
import type { FuzzRun } from './fuzz-targets.ts';

export const summary = 'CSV files at the byte scan and the load behind it';
export const quickCases = 400;

export async function open(): Promise<FuzzRun> {
  const readers = await openReaders();
  let [good, refused] = [0, 0];
  return {
    async play(random) {
      const { why, isGood } = await (random.chance(0.3)
        ? readers.compareForms(twoForms(random))
        : readers.compare(hostileCsv(random)));
      if (isGood) good += 1;
      else refused += 1;
      if (why !== null) throw new Error(why);
    },
    async close() {
      await readers.close();
      // A generator of one kind only would prove nothing.
      if (good + refused >= quickCases && Math.min(good, refused) < (good + refused) / 10)
        throw new Error(`${good} files were good, ${refused} were not.`);
    },
  };
}

/** The same rows as specified and in another form. */
function twoForms(random: Random): Forms {
  const rows = someRows(random);
  const specified = inForm(random, rows, { names: CSV_HEADERS, ends: ['\r\n'], zeros: false });
  const names: string[] = [...CSV_HEADERS];
  if (random.chance(0.5)) shuffle(random, names);
  for (let more = random.between(0, 2); more > 0; more -= 1) {
    names.splice(random.between(0, names.length), 0, `${random.pick(ADDED)}${more}`);
  }
  const ends = random.pick([['\n'], ['\r\n'], ['\n', '\r\n']]);
  return { specified, other: inForm(random, rows, { names, ends, zeros: random.chance(0.5) }) };
}

const ADDED = ['Fuel', 'a,b', 'a"b', '__proto__', '日本', ' x '];
const HOSTILE_BYTES = [
  ',',
  '"',
  '\r',
  '\n',
  '\r\n',
  '\0',
  '""',
  'é',
  '\ufeff',
  'a',
  ',,,,,,,,,,,,,',
  '\u{1f69a}',
];

export function hostileCsv(random: Random): Buffer {
  if (random.chance(0.2)) {
    const header = random.chance(0.7) ? `${CSV_HEADERS.join(',')}\r\n` : '';
    const parts = Array.from({ length: random.between(0, 60) }, () => random.pick(HOSTILE_BYTES));
    return Buffer.from(header + parts.join(''));
  }
  const file = inForm(random, someRows(random), { names: CSV_HEADERS, ends: ['\r\n'], zeros: false });
  return random.chance(0.5) ? file : Buffer.from(damaged(random, file));
}

type Cells = Readonly<Record<string, string>>;

function someRows(random: Random): readonly Cells[] {
  const bad = random.pick([0, 0, 0.02]);
  return Array.from({ length: random.between(0, 5) }, () =>
    Object.fromEntries(
      CSV_HEADERS.map((name) => [name, random.chance(bad) ? random.pick(BAD_CELLS) : goodCell(random, name)]),
    ),
  );
}

const BAD_CELLS = [
  '',
  ' ',
  '\u200b',
  '1e3',
  '1.23456',
  '2026-02-30',
  'usd',
  'XXX',
  'NaN',
  '-1',
  '+1',
  '0000-01-01',
];
const TEXTS = [
  'Acme',
  'a,b',
  'a"b',
  'a\r\nb',
  'a\nb',
  ' x',
  'x ',
  '日本',
  '\u202ex',
  '\ufeffx',
  '#',
  '=1+1',
  '\u0001x',
  'NULL',
];

function goodCell(random: Random, name: string): string {
  switch (name) {
    case 'Invoice ID':
      return random.chance(0.1) ? INVOICE.toUpperCase() : INVOICE;
    case 'Invoice Generation Date':
    case 'Ship Date':
      return random.pick(['2026-02-28', '0001-01-01', '9999-12-31', '2024-02-29']);
    case 'Carrier Invoice Date':
      return random.pick(['', '2026-02-28']);
    case 'Currency Code':
      return random.pick(['USD', 'EUR']);
    case 'Billing Cost':
      return random.pick(['-0.5', '9.16', '0', '00012.3400', '99999999999999.9999', '-99999999999999.9999']);
    case 'Billable Weight':
      return random.pick(['2.5', '0', '0.0001']);
    case 'Billable Weight Unit':
      return random.pick(['LB', 'KG']);
    case 'Tenant':
    case 'Tracking Number':
    case 'Carrier':
      return random.pick(TEXTS);
    default:
      return random.pick(['', ...TEXTS]);
  }
}

interface Form {
  readonly names: readonly string[];
  readonly ends: readonly string[];
  /** Amounts and weights with zeros beyond four decimals. */
  readonly zeros: boolean;
}

function inForm(random: Random, rows: readonly Cells[], { names, ends, zeros }: Form): Buffer {
  const line = (cells: readonly string[]): string =>
    cells.map((cell) => quoted(random, cell)).join(',') + random.pick(ends);
  const text = rows.map((row) =>
    line(
      names.map((name) => {
        const cell = row[name] ?? (Object.hasOwn(row, name) ? '' : random.pick(TEXTS));
        const isDecimal = name === 'Billing Cost' || name === 'Billable Weight';
        return zeros && isDecimal && /\.\d{4}$/.test(cell)
          ? `${cell}${'0'.repeat(random.between(0, 4))}`
          : cell;
      }),
    ),
  );
  return Buffer.from(line(names) + text.join(''));
}

function quoted(random: Random, cell: string): string {
  const must = /[",\r\n]/.test(cell);
  return must || random.chance(0.1) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function shuffle(random: Random, names: string[]): void {
  for (let last = names.length - 1; last > 0; last -= 1) {
    const other = random.between(0, last);
    [names[last], names[other]] = [names[other] ?? '', names[last] ?? ''];
  }
}
