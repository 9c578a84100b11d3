import type { ParsedNode } from 'yaml';
import type { z } from 'zod';

export interface YamlFile {
  readonly path: string;
  readonly text: string;
}

/** Every scalar is text, so that 0.30 stays 0.30. @throws what `asError` returns */
export async function readCheckedYaml<T>(
  { path, text }: YamlFile,
  schema: z.ZodType<T>,
  asError: (problem: string) => Error,
) {
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
  let content: unknown;
  try {
    content = document.toJS();
  } catch {
    return fail(1, 'it has an alias (*name) without an anchor, or too many');
  }
  const parsed = schema.safeParse(content ?? {});
  if (!parsed.success) {
    const [{ path: where, message } = { path: [], message: '' }] = parsed.error.issues;
    // `rules.0.when` becomes `when`, because the line number already shows the list and the position in it.
    const top = String(where[0] ?? Object.keys(schemaShape(schema))[0] ?? 'file');
    return fail(lineOf(where), `${where.slice(2).join('.') || top}: ${message}`);
  }
  return {
    value: parsed.data,
    refuse: (where: readonly PropertyKey[], what: string): never => fail(lineOf(where), what),
  };
}

function schemaShape(schema: z.ZodType): Readonly<Record<string, unknown>> {
  return 'shape' in schema ? (schema.shape as Readonly<Record<string, unknown>>) : {};
}
