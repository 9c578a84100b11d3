/**
 * What a session makes before the first statement that names it: the macros that all reports share, one by one, the views of its
 * filters, and what only some statements read. To make all of it would cost every session twenty milliseconds, and a report reads
 * a third.
 */

import { statementText } from './statement-text.ts';

/** One macro, table or view of a session. */
interface Made {
  readonly kind: string;
  readonly name: string;
  /** The statement that makes it, without comments. */
  readonly text: string;
  /** Found in statements that name it. */
  readonly isNamed: RegExp;
}

const SESSION_FOLDER = new URL('./session/', import.meta.url);
/** In this order: each names only those before it. */
const FILES = ['macros', 'definitions', 'known-invoices'];
const MADE = /^create or replace temp (macro|table|view) (\w+)/;

let reading: Promise<readonly Made[]> | undefined;

/** Of one connection. */
export interface MadeWhenNamed {
  /** @returns the statements to run before `sql`, null when it names nothing that is not there yet */
  missingFor(sql: string): Promise<string | null>;
  /**
   * @param text of a statement that makes a view or a macro, which may name what was there or kept before
   * @returns false: it is to be run, since it makes nothing of the kind or takes the place of what others may name by now
   */
  keep(text: string): Promise<boolean>;
}

export function madeWhenNamed(): MadeWhenNamed {
  const isMade = new Set<string>();
  let all: readonly Made[] | undefined;
  const known = async (): Promise<readonly Made[]> => {
    all ??= await readAll();
    return all;
  };
  return {
    async missingFor(sql) {
      let asked = sql;
      // From the last to the first, since each may name those before it.
      const found = (await known())
        .filter(({ name }) => !isMade.has(name))
        .toReversed()
        .filter(({ text, isNamed }) => {
          const names = isNamed.test(asked);
          if (names) asked += text;
          return names;
        });
      for (const { name } of found) isMade.add(name);
      return found.length === 0
        ? null
        : found
            .toReversed()
            .map(({ text }) => text)
            .join('\n');
    },
    async keep(text) {
      const [made, ...others] = statementsOf(text);
      if (made === undefined || others.length > 0 || !['view', 'macro'].includes(made.kind)) return false;
      const before = await known();
      const place = before.findIndex(({ name }) => name === made.name);
      if (before[place]?.text === made.text) return true;
      all = place < 0 ? [...before, made] : before.with(place, made);
      return !isMade.has(made.name);
    },
  };
}

/** The names of all macros as in a statement, for who runs statements of their own. */
export async function everyMacro(): Promise<string> {
  const all = await readAll();
  return all.flatMap(({ name, kind }) => (kind === 'macro' ? `${name}(` : [])).join(' ');
}

function readAll(): Promise<readonly Made[]> {
  if (reading === undefined) {
    reading = readFiles();
    // Who failed to read them does not fail those who ask later.
    reading.catch(() => {
      reading = undefined;
    });
  }
  return reading;
}

async function readFiles(): Promise<readonly Made[]> {
  const texts = await Promise.all(FILES.map((name) => statementText(new URL(`${name}.sql`, SESSION_FOLDER))));
  return texts.flatMap(statementsOf);
}

function statementsOf(text: string): readonly Made[] {
  return text
    .replace(/^\s*--.*$/gm, '')
    .trim()
    .split(/;\s*(?:\n|$)/)
    .filter((statement) => statement !== '')
    .map((statement) => {
      const [, kind = '', name = ''] = MADE.exec(statement.trim()) ?? [];
      const isNamed = new RegExp(`\\b${name}${kind === 'macro' ? '\\(' : '\\b'}`);
      return { kind, name, text: `${statement.trim()};`, isNamed };
    });
}
