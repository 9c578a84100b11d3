/** Every fault of the kinds below that can be made in a TypeScript file. Types, imports and texts for people are left alone. */

import { parseSync } from '@swc/core';
import { type Mutant, mutantOf } from './mutant.ts';

interface Node {
  readonly type: string;
  readonly span: { readonly start: number; readonly end: number };
  readonly [key: string]: unknown;
}

const OPERATORS: Readonly<Record<string, readonly [kind: string, after: string]>> = {
  '<': ['limit by one', '<='],
  '<=': ['limit by one', '<'],
  '>': ['limit by one', '>='],
  '>=': ['limit by one', '>'],
  '===': ['negated comparison', '!=='],
  '!==': ['negated comparison', '==='],
  '&&': ['swapped operator', '||'],
  '||': ['swapped operator', '&&'],
  '??': ['swapped operator', '&&'],
  '+': ['swapped operator', '-'],
  '-': ['swapped operator', '+'],
  '*': ['swapped operator', '/'],
};

const METHODS = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
]);
/** A call of one of these is replaced by the list that it is called on. */
const LIST_STEPS = new Set(['filter', 'toSorted', 'sort', 'toReversed', 'reverse']);

/** Fields that the same object has in the file and whose names end alike are taken to have the same type. */
const ENDING = /(?:_?at|_?id|_?hash|sha256|_?date|bytes|ms|count|_by|name|code|path|from|to)$/i;

export function mutantsOfTypeScript(file: string, bytes: Buffer): readonly Mutant[] {
  const found: Mutant[] = [];
  const text = (start: number, end: number): string => bytes.subarray(start, end).toString();
  const from = (node: Node): number => node.span.start - 1;
  const to = (node: Node): number => node.span.end - 1;
  const add = (kind: string, start: number, end: number, after: string, within: string | null) =>
    found.push(mutantOf(file, bytes, { kind, start, end, after, within }));
  const fields = new Map<string, Set<string>>();
  const module = parseSync(bytes.toString(), { syntax: 'typescript', target: 'es2024' }) as unknown as Node;
  walk(module, null, (node) => {
    const field = fieldOf(node);
    if (field === null) return;
    const names = fields.get(field.object) ?? new Set();
    fields.set(field.object, names.add(field.name));
  });
  walk(module, null, (node, within, parent) => {
    switch (node.type) {
      case 'BinaryExpression': {
        const [left, right] = [node.left as Node, node.right as Node];
        const operator = String(node.operator);
        const swap = OPERATORS[operator];
        const start = to(left) + text(to(left), from(right)).indexOf(operator);
        const isText = [left, right].some(({ type }) => /^(StringLiteral|TemplateLiteral)$/.test(type));
        if (swap !== undefined && !(isText && operator === '+'))
          add(swap[0], start, start + operator.length, swap[1], within);
        if (/^[!=]==$/.test(operator) && right.type === 'StringLiteral' && right.value !== '')
          add('changed constant', from(right), to(right), "''", within);
        break;
      }
      case 'NumericLiteral':
        if (/^\d+$/.test(text(from(node), to(node))))
          add('changed constant', from(node), to(node), otherNumber(Number(node.value)), within);
        break;
      case 'BooleanLiteral':
        add('changed constant', from(node), to(node), `${node.value !== true}`, within);
        break;
      case 'AwaitExpression':
        add('dropped await', from(node), from(node.argument as Node), '', within);
        break;
      case 'ExpressionStatement':
        if (
          /^(Call|Await|Assignment|Update)Expression$|^UnaryExpression$/.test((node.expression as Node).type)
        )
          add('dropped statement', from(node), to(node), ';', within);
        break;
      case 'ReturnStatement':
      case 'ContinueStatement':
      case 'ThrowStatement':
        if (parent?.type === 'IfStatement') add('dropped statement', from(node), to(node), ';', within);
        break;
      case 'IfStatement':
      case 'ConditionalExpression': {
        const test = node.test as Node;
        add('negated condition', from(test), to(test), `!(${text(from(test), to(test))})`, within);
        break;
      }
      case 'CallExpression': {
        const callee = node.callee as Node;
        if (callee.type !== 'MemberExpression') break;
        const [object, property] = [callee.object as Node, callee.property as Node];
        const method = String(property.value);
        if (LIST_STEPS.has(method) && (node.arguments as unknown[]).length <= 1)
          add('step left out', from(node), to(node), text(from(object), to(object)), within);
        const swap = METHODS.get(method);
        if (swap !== undefined) add('other method', from(property), to(property), swap, within);
        break;
      }
      default: {
        const field = fieldOf(node);
        if (field === null) break;
        const ending = ENDING.exec(field.name)?.[0].toLowerCase();
        const others = [...(fields.get(field.object) ?? [])].filter(
          (name) => name !== field.name && ending !== undefined && name.toLowerCase().endsWith(ending),
        );
        const property = node.property as Node;
        for (const other of others) add('another field', from(property), to(property), other, within);
      }
    }
  });
  return found;
}

/** One more of a few; of many a tenth, since a limit of 5,001 instead of 5,000 is hardly another. */
export function otherNumber(value: number): string {
  return `${value < 10 ? value + 1 : Math.floor(value / 10)}`;
}

function fieldOf(node: Node): { readonly object: string; readonly name: string } | null {
  if (node.type !== 'MemberExpression') return null;
  const [object, property] = [node.object as Node, node.property as Node];
  if (object.type !== 'Identifier' || property.type !== 'Identifier') return null;
  return { object: String(object.value), name: String(property.value) };
}

type Visit = (node: Node, within: string | null, parent: Node | null) => void;

function walk(node: Node, within: string | null, visit: Visit, parent: Node | null = null): void {
  if (isLeftAlone(node)) return;
  visit(node, within, parent);
  const inside = nameOf(node) ?? within;
  // A block with one statement counts as that statement.
  const block = node.type === 'BlockStatement' && (node.stmts as unknown[]).length === 1;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      const inner = isNode(child) ? child : isNode(child?.expression) ? child.expression : null;
      if (inner !== null) walk(inner, inside, visit, block ? parent : node);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'span' in value;
}

function isLeftAlone({ type }: Node): boolean {
  if (/^Ts(As|NonNull|Satisfies|ConstAssertion)/.test(type)) return false;
  return /^(Ts|Import|ExportAll|ExportNamed|TemplateElement)/.test(type);
}

/** As V8 names the function; an arrow function is named after its variable or property. */
function nameOf(node: Node): string | null {
  const named = (key: unknown): string | null => {
    if (!isNode(key) || !/^(Identifier|StringLiteral|PrivateName)$/.test(key.type)) return null;
    return `${key.type === 'PrivateName' ? '#' : ''}${String(key.value)}`;
  };
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return named(node.identifier);
    case 'VariableDeclarator':
      return isFunction(node.init) ? named(node.id) : null;
    case 'ClassMethod':
    case 'PrivateMethod':
    case 'MethodProperty':
      return named(node.key);
    case 'KeyValueProperty':
      return isFunction(node.value) ? named(node.key) : null;
    default:
      return null;
  }
}

function isFunction(value: unknown): boolean {
  return isNode(value) && /^(ArrowFunctionExpression|FunctionExpression)$/.test(value.type);
}
