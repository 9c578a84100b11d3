/** Makes the command of an operation of the admin API from its declaration. */

import { Argument, type Command, Option } from 'commander';
import type { AnyOperation, Field, Fields } from '../http/admin/operation.ts';
import {
  collect,
  collectList,
  decimalNumber,
  headerLines,
  jsonFile,
  pairs,
  textOf,
  wholeNumber,
  withQuery,
} from './arguments.ts';
import {
  type AdminCall,
  AdminClient,
  CommandFailure,
  conclude,
  EXIT,
  namedValues,
  type Options,
  print,
  printJson,
  requireConfirmation,
  table,
  type VerbOptions,
  verbCommand,
} from './verb.ts';

/** @param name the operation's command */
export function operationCommand(name: string, operation: AnyOperation): Command {
  const { route, about, query = {}, body = {}, required = [], confirm, all, file } = operation;
  const [words = '', argument] = name.split(/ (?=[<[])/);
  const example = operation.example === undefined ? words : `${words} ${operation.example}`;
  const command = verbCommand(words.split(' ').at(-1) ?? '', { description: about, example });
  if (argument !== undefined) command.argument(argument);
  if (!route.startsWith('GET')) {
    command.option('--dry-run', 'print the request instead of sending it');
    // Accepted by every command that writes, so that scripts can always pass it.
    const yes = new Option('--yes', 'skip the confirmation');
    command.addOption(confirm === undefined ? yes.hideHelp() : yes);
  }
  addOptions(command, { ...query, ...body }, required);
  if (all !== undefined) command.option('--all', all);
  if (file !== undefined)
    command.option('--file <file>', 'JSON with tenant, shipments, set as in POST /invoices; - is stdin');
  return command.action((...actionArguments: unknown[]) => {
    const count = command.registeredArguments.length;
    const value = count === 0 ? '' : String(actionArguments[0] ?? '');
    const options = actionArguments[count] as Options & VerbOptions;
    return conclude(options, async () => {
      const call = callOf(operation, { value, options });
      if (confirm !== undefined) await requireConfirmation(options, confirm.replace('{id}', value));
      await send(options, call, operation);
    });
  });
}

function addOptions(command: Command, fields: Fields, required: readonly string[]): void {
  for (const [name, field] of Object.entries(fields)) {
    if ('fields' in field) {
      addOptions(command, field.fields, []);
      continue;
    }
    const { enum: choices } = field.schema as { enum?: readonly string[] };
    for (const flags of field.flags) {
      if (flags.startsWith('<')) {
        const argument = new Argument(flags, field.about);
        command.addArgument(choices === undefined ? argument : argument.choices(choices));
        continue;
      }
      const option = new Option(flags, field.about).makeOptionMandatory(required.includes(name));
      const parser = parserOf(field);
      if (choices !== undefined) option.choices(choices);
      else if (parser !== null) option.argParser((value, before: unknown) => parser(value, before as never));
      command.addOption(option);
    }
  }
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly anyOf?: readonly Schema[];
}

/** Null leaves the text as it is. */
function parserOf({ schema, as }: Field): ((text: string, before: never) => unknown) | null {
  const { pattern, anyOf = [schema as Schema] } = schema as Schema;
  const types = [schema as Schema, ...anyOf].flatMap(({ type = [] }) => type);
  if (as === 'milliseconds' || types.includes('number')) return decimalNumber;
  if (types.includes('integer') || pattern !== undefined) return wholeNumber;
  if (as !== null && as !== 'contents') return collect;
  return types.includes('array') ? (anyOf.length > 1 ? collect : collectList) : null;
}

const READERS: Readonly<Record<NonNullable<Field['as']>, (given: unknown) => unknown>> = {
  pairs,
  headers: headerLines,
  contents: (file) => textOf(String(file)),
  milliseconds: (seconds) => Number(seconds) * 1_000,
  switches: (given) =>
    Object.fromEntries(Object.entries(pairs(given)).map(([name, value]) => [name, value === 'true'])),
  tenants: (given) => (String(given) === 'all' ? 'all' : given),
};

interface Given {
  /** The argument, empty when it is left out. */
  readonly value: string;
  readonly options: Options;
}

function callOf({ route, query = {}, body, all, file }: AnyOperation, given: Given): AdminCall {
  const { value, options } = given;
  if (all !== undefined && (value === '') !== (options.all === true))
    throw new CommandFailure(EXIT.usage, ['Name one invoice, or use --all.']);
  const [method, path = ''] = route.split(' ') as [AdminCall['method'], string?];
  const place = path.replace('/:id', value === '' ? '' : `/${encodeURIComponent(value)}`);
  const values = body === undefined ? null : valuesOf(body, given);
  if (values !== null && file !== undefined && options.file !== undefined)
    values[file] = merged(jsonFile(String(options.file)), (values[file] ?? {}) as Options);
  return {
    ...{ method, path: withQuery(place, valuesOf(query, given)) },
    ...(values === null ? {} : { body: values }),
  };
}

function valuesOf(fields: Fields, given: Given): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if ('fields' in field) {
      const inner = valuesOf(field.fields, given);
      if (Object.keys(inner).length > 0) values[name] = inner;
      continue;
    }
    const [flags] = field.flags;
    if (flags === undefined) continue;
    const text = flags.startsWith('<') ? given.value : given.options[new Option(flags).attributeName()];
    if (text !== undefined) values[name] = field.as === null ? text : READERS[field.as](text);
  }
  return values;
}

/** Options replace the fields of a file one by one. */
function merged(file: Options, options: Options): Options {
  const set = { ...(file.set as object | undefined), ...(options.set as object | undefined) };
  return { ...file, ...options, ...(Object.keys(set).length === 0 ? {} : { set }) };
}

async function send(options: VerbOptions, call: AdminCall, operation: AnyOperation): Promise<void> {
  if (options.dryRun === true) return printCall(options, call);
  const client = new AdminClient(options);
  try {
    const answer = await client.call(call);
    if (options.json === true) printJson(answer);
    else print(linesOf(answer, operation));
    if (Array.isArray(answer) && answer.length === 0 && call.method === 'GET') {
      throw new CommandFailure(EXIT.nothingMatched, ['Nothing matched.']);
    }
  } finally {
    await client.close();
  }
}

function linesOf(answer: unknown, { print: shown = [], rows }: AnyOperation): readonly string[] {
  const of = (rows?.(answer as never) ?? answer) as Readonly<Record<string, object[]>>;
  if (shown === 'json') return [JSON.stringify(of, null, 2)];
  if (shown === 'values') return namedValues(of);
  if (typeof shown === 'string') return [shown.replace(/\{(\w+)\}/g, (_, name: string) => String(of[name]))];
  if (!isColumns(shown))
    return Object.entries(shown).flatMap(([name, columns]) => [...table(of[name] ?? [], columns), '']);
  return table([of].flat(), shown);
}

function isColumns(shown: object): shown is readonly string[] {
  return Array.isArray(shown);
}

function printCall(options: VerbOptions, call: AdminCall): void {
  const body = call.body === undefined ? '' : ` with ${JSON.stringify(call.body)}`;
  if (options.json === true) printJson({ dryRun: true, ...call });
  else print([`Would ${call.method} ${call.path}${body}`]);
}
