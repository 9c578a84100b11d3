/** Every fault of the kinds below that can be made in a file of SQL. */

import { type Mutant, mutantOf } from './mutant.ts';
import { otherNumber } from './typescript.ts';

interface Rule {
  readonly kind: string;
  readonly pattern: RegExp;
  /** Replaces the match; null: no fault of this match. */
  readonly after: (match: RegExpExecArray) => string | null;
}

const swap = (pairs: Readonly<Record<string, string>>) => (match: RegExpExecArray) =>
  pairs[match[0].toLowerCase()] ?? null;

const RULES: readonly Rule[] = [
  {
    kind: 'limit by one',
    pattern: /<=|>=|(?<![-<>=|])[<>](?![>=<-])/g,
    after: swap({ '<': '<=', '<=': '<', '>': '>=', '>=': '>' }),
  },
  { kind: 'negated comparison', pattern: /(?<=\s)(?:=|<>)(?=\s)/g, after: swap({ '=': '<>', '<>': '=' }) },
  {
    kind: 'null as equal',
    pattern: /\bis not distinct from\b|\bis distinct from\b/g,
    after: swap({ 'is not distinct from': '=', 'is distinct from': '<>' }),
  },
  {
    kind: 'negated condition',
    pattern: /\bis not null\b|\bis null\b/g,
    after: swap({ 'is null': 'is not null', 'is not null': 'is null' }),
  },
  {
    kind: 'swapped operator',
    pattern: /\band\b(?! \d| :|\s+date)|\bor\b(?! replace)/g,
    after: swap({ and: 'or', or: 'and' }),
  },
  {
    kind: 'condition left out',
    // From `and` to the end of a comparison without brackets; a range's `and` is part of the range.
    pattern:
      /(?<!between [\w.:']+ )\band [\w.]+ (?:=|<>|<=|>=|<|>|is not distinct from|is distinct from) [\w.:$]+(?=\s|\))/g,
    after: () => '',
  },
  {
    kind: 'condition left out',
    pattern: /\band (?:not )?[a-z_.]+(?: is (?:not )?(?:null|true|false))?(?=\s*(?:\n|\)))/g,
    after: () => '',
  },
  { kind: 'filter left out', pattern: / filter \((?:[^()]|\([^()]*\))*\)/g, after: () => '' },
  {
    kind: 'filter left out',
    pattern: /\bwhere (?=[^\n]*\n?)[^()\n;]+(?=\n|;|\))/g,
    after: () => 'where true',
  },
  { kind: 'distinct left out', pattern: /\bdistinct (?!from\b|on\b)/g, after: () => '' },
  {
    kind: 'order left out',
    pattern: /(?<=order by [\w., ]+), [\w.]+(?: desc| asc)?(?: nulls (?:first|last))?/g,
    after: () => '',
  },
  { kind: 'other order', pattern: /\b(?:desc|asc)\b/g, after: swap({ desc: 'asc', asc: 'desc' }) },
  {
    kind: 'other join',
    pattern: /\bleft join\b|\bunion all\b/g,
    after: swap({ 'left join': 'join', 'union all': 'union' }),
  },
  {
    kind: 'other function',
    pattern: /\b(?:arg_min|arg_max|min|max|least|greatest)(?=\()/g,
    after: swap({
      min: 'max',
      max: 'min',
      arg_min: 'arg_max',
      arg_max: 'arg_min',
      least: 'greatest',
      greatest: 'least',
    }),
  },
  {
    kind: 'default left out',
    pattern: /\bcoalesce\(([\w.]+), [\w.':]+\)/g,
    after: ([, value]) => value ?? null,
  },
  {
    kind: 'swapped operator',
    pattern: /(?<=[\w)] )[-+*](?= [\w(])/g,
    after: swap({ '-': '+', '+': '-', '*': '+' }),
  },
  {
    kind: 'changed constant',
    pattern: /(?<![\w.$:(])\d+(?![\w.)])/g,
    after: ([number]) => otherNumber(Number(number)),
  },
  { kind: 'changed constant', pattern: /\b(?:true|false)\b/g, after: swap({ true: 'false', false: 'true' }) },
];

/** Columns that end alike are taken to have the same type. */
const FIELD = /(?<=\b[a-z]\w*\.)[a-z]\w*_(?:at|id|date|number|cost|weight|total|code)\b/g;

export function mutantsOfSql(file: string, bytes: Buffer): readonly Mutant[] {
  const sql = maskComments(bytes.toString('latin1'));
  const code = maskTexts(sql);
  const found = RULES.flatMap(({ kind, pattern, after }) =>
    [...code.matchAll(pattern)].flatMap((match) => {
      const replacement = after(match);
      const [start, end] = [match.index, match.index + match[0].length];
      return replacement === null ? [] : [mutantOf(file, bytes, { kind, start, end, after: replacement })];
    }),
  );
  const fields = [...code.matchAll(FIELD)].flatMap((match) => {
    const ending = /_\w[a-z]*$/.exec(match[0])?.[0] ?? '';
    const others = new Set([...code.matchAll(FIELD)].map(([name]) => name));
    others.delete(match[0]);
    const [start, end] = [match.index, match.index + match[0].length];
    return [...others]
      .filter((name) => name.endsWith(ending))
      .map((after) => mutantOf(file, bytes, { kind: 'another field', start, end, after }));
  });
  return [...found, ...fields];
}

/** The same length, so that places stay the same. */
function maskComments(sql: string): string {
  return sql.replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '));
}

function maskTexts(sql: string): string {
  return sql.replace(/'(?:[^']|'')*'/g, (text) => `'${'_'.repeat(text.length - 2)}'`.replace(/\n/g, '_'));
}
