/** Reads a YAML file that a person writes and checks all of it; problems are reported with their line. */

import { readFile } from 'node:fs/promises';
import type { ParsedNode } from 'yaml';
import type { z } from 'zod';
import { systemCode } from './system-errors.ts';

export interface CheckedYaml<T> {
  readonly value: T;
  /** Refuses a value that the schema cannot check. @throws the error of the file, with the line of the value */
  refuse(where: readonly PropertyKey[], what: string): never;
}

/**
 * Every scalar is text, so that 0.30 stays 0.30.
 *
 * @param asError of a problem, which names file and line
 * @returns null when there is no such file
 * @throws what `asError` makes; the system's error
 */
export async function readCheckedYaml<T>(
  path: string,
  schema: z.ZodType<T>,
  asError: (problem: string) => Error,
): Promise<CheckedYaml<T> | null> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  // Most data folders have no such file, and their processes start sooner without it.
  const { LineCounter, parseDocument } = await import('yaml');
  const lines = new LineCounter();
  const document = parseDocument(text, {
    schema: 'failsafe',
    prettyErrors: false,
    logLevel: 'silent',
    lineCounter: lines,
  });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  const fail = (line: number, what: string): never => {
    throw asError(`${path}, line ${line}: ${what}`);
  };
  const lineOf = (where: readonly PropertyKey[]): number => {
    for (let depth = where.length; depth >= 0; depth -= 1) {
      const node = document.getIn(where.slice(0, depth), true) as ParsedNode | undefined;
      if (node?.range) return lineAt(node.range[0]);
    }
    return 1;
  };
  const [syntax] = document.errors;
  if (syntax !== undefined) return fail(lineAt(syntax.pos[0]), `this is no YAML (${syntax.code})`);
  const parsed = schema.safeParse(document.toJS() ?? {});
  if (!parsed.success) {
    const [{ path: where, message } = { path: [], message: '' }] = parsed.error.issues;
    // `rules.0.when` becomes `when`: the line shows the list and the position in it.
    const top = String(where[0] ?? Object.keys(schemaShape(schema))[0] ?? 'file');
    return fail(lineOf(where), `${where.slice(2).join('.') || top}: ${message}`);
  }
  return { value: parsed.data, refuse: (where, what) => fail(lineOf(where), what) };
}

function schemaShape(schema: z.ZodType): Readonly<Record<string, unknown>> {
  return 'shape' in schema ? (schema.shape as Readonly<Record<string, unknown>>) : {};
}
