/** The warehouse's SQL: named statements (`sql/`), numbered migrations (`migrations/`) and views (`views/`). */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { statementsIn } from '../../lib/sql-file.ts';
import { COLUMN_MEANINGS } from './column-meanings.ts';
import { withCsvColumns } from './csv-columns.ts';

const folder = new URL('../sql/', import.meta.url);
let statements: ReadonlyMap<string, string> | undefined;

/** The statement of that name in any file of `warehouse/sql`; a text with a space is a statement itself. */
export function sql(name: string): string {
  if (name.includes(' ')) return name;
  // All files at once: an upgrade may replace them while this process runs.
  statements ??= readAllStatements();
  const text = statements.get(name);
  if (text === undefined) throw new Error(`warehouse/sql has no statement "${name}".`);
  return text;
}

function readAllStatements(): ReadonlyMap<string, string> {
  const all = new Map<string, string>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.sql'))) {
    for (const [name, text] of statementsIn(new URL(file, folder))) {
      if (all.has(name)) throw new Error(`warehouse/sql has two statements "${name}".`);
      all.set(name, withCsvColumns(text));
    }
  }
  return all;
}

/** A file of one statement, with the columns of the CSV inserted. */
export function readStatement(path: URL): string {
  return withCsvColumns(readFileSync(path, 'utf8'));
}

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
}

/** All migrations in order; their numbers have no gap. */
export function migrations(): readonly Migration[] {
  return migrationsIn(new URL('../migrations/', import.meta.url));
}

/** The `NNNN-name.sql` files of a folder, in the order of their numbers. */
export function migrationsIn(folder: URL): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({
      number: Number.parseInt(name, 10),
      name: name.replace(/\.sql$/, ''),
      text: readStatement(new URL(name, folder)),
    }));
}

export interface Views {
  /** One script a file, in order of their names: a view stands behind those that it reads. */
  readonly scripts: readonly string[];
  /** By view: the comment at the top of its file. */
  readonly heads: ReadonlyMap<string, string>;
  /** Of all of them and their comments, in lower-case hex: whoever has stored the same one has these views. */
  readonly sha256: string;
}

let knownViews: Views | undefined;

/** The views and macros that readers see: not numbered, but made again whenever a text of theirs has changed. */
export function views(): Views {
  if (knownViews === undefined) {
    const files = migrationsIn(new URL('../views/', import.meta.url));
    const scripts = files.map(({ text }) => text);
    const heads = new Map(
      files
        .filter(({ text }) => /\ncreate or replace view (?!internal\.)/.test(text))
        .map(({ name, text }) => [name.replace(/^\d+-/, '').replaceAll('-', '_'), headOf(text)]),
    );
    const all = [...scripts, JSON.stringify(COLUMN_MEANINGS)].join('\0');
    knownViews = { scripts, heads, sha256: createHash('sha256').update(all).digest('hex') };
  }
  return knownViews;
}

/** The comment at the top of a view's file, as one line; empty without one. */
function headOf(script: string): string {
  const lines = script.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^-- ?/, ''))
    .join(' ');
}
