/** Files of SQL statements, one section for each: a line `-- name: x`, then the statement. */

import { readFileSync } from 'node:fs';

const files = new Map<string, ReadonlyMap<string, string>>();

/** The file is read once per process, since an upgrade may replace it while the process runs. */
export function statementsIn(file: URL): ReadonlyMap<string, string> {
  let statements = files.get(file.href);
  if (statements === undefined) {
    statements = parse(readFileSync(file, 'utf8'), file);
    files.set(file.href, statements);
  }
  return statements;
}

export function statementIn(file: URL, name: string): string {
  const statement = statementsIn(file).get(name);
  if (statement === undefined) throw new Error(`${file.pathname} has no statement "${name}".`);
  return statement;
}

function parse(text: string, file: URL): ReadonlyMap<string, string> {
  const [head = '', ...sections] = text.split(/^-- name: *(.*)$/m);
  if (isBlank(head) && sections.length === 0) throw new Error(`${file.pathname} has no statement.`);
  if (!isBlank(head)) throw new Error(`${file.pathname} has a statement without a "-- name:" line.`);
  const statements = new Map<string, string>();
  for (let i = 0; i < sections.length; i += 2) {
    const [name, statement] = [sections[i]?.trim() ?? '', sections[i + 1]?.trim() ?? ''];
    if (statements.has(name)) throw new Error(`${file.pathname} has two statements "${name}".`);
    if (isBlank(statement)) throw new Error(`${file.pathname} has no SQL after "-- name: ${name}".`);
    statements.set(name, statement);
  }
  return statements;
}

function isBlank(text: string): boolean {
  return text.split('\n').every((line) => line.trim() === '' || line.startsWith('--'));
}
