/** An operation of the admin API is declared once: its HTTP route, its schema in the OpenAPI document, and its command. */

import type { FastifyInstance } from 'fastify';
import type { Account, Connection } from '../../account.ts';
import type { Invoice } from '../../model.ts';

/** A value of the query or the body, and the option of the command that gives it. */
export interface Field {
  readonly schema: object;
  /** As in commander; one in angle brackets is an argument. Without any, the value is for programs only. */
  readonly flags: readonly string[];
  readonly about: string;
  /** How the text of the option becomes the value, if the schema does not tell. */
  readonly as: 'pairs' | 'switches' | 'headers' | 'contents' | 'milliseconds' | 'tenants' | null;
}
export interface Fields {
  readonly [name: string]: Field | { readonly fields: Fields };
}

export interface Operation<Body = never, Query = never> {
  readonly route: string;
  readonly about: string;
  readonly query?: Fields;
  readonly body?: Fields;
  readonly required?: readonly string[];
  readonly status?: 201 | 204;
  /** A body that the schema accepts. */
  readonly sample?: object;
  /** `webhooks enable <registrationId>`; an argument that is no field is the id in the path. */
  readonly command?: string;
  /** The arguments and options of the command's example. */
  readonly example?: string;
  /** The question of an operation that cannot be undone; `{id}` is the argument. */
  readonly confirm?: string;
  /** Without an id, `--all` is required; its description. */
  readonly all?: string;
  /** The field of the body that a JSON file may give. */
  readonly file?: string;
  /** Columns of the answer, or of each of its lists; a sentence, with `{field}` of the answer; or all of it. */
  readonly print?: readonly string[] | Readonly<Record<string, readonly string[]>> | string;
  /** What is printed instead of the answer. */
  readonly rows?: (answer: never) => object;
  readonly run: (
    account: Account,
    request: { readonly id: string; readonly query: Query; readonly body: Body },
    connection: () => Connection,
  ) => unknown;
}
export type AnyOperation = Operation & { readonly group: string };

export function operation<Body = object, Query = object>(of: Operation<Body, Query>): Operation {
  return of as unknown as Operation;
}

export function grouped(group: string, operations: readonly Operation[]): readonly AnyOperation[] {
  return operations.map((each) => ({ ...each, group }));
}

export function field(
  schema: object,
  flags: string | readonly string[] = [],
  about = '',
  as: Field['as'] = null,
): Field {
  return { schema, flags: typeof flags === 'string' ? [flags] : flags, about, as };
}

export const text = { type: 'string' } as const;
export const flag = { type: 'boolean' };
export const whole = { type: 'integer', minimum: 0 } as const;
export const texts = { type: 'array', items: text };
/** A typing error must not keep the sandbox busy for days. */
export const MAX_AT_ONCE = 10_000;
export const atMost = (maximum: number) => ({ type: 'integer', minimum: 1, maximum }) as const;
export const mapOf = (values: object) => ({ type: 'object', additionalProperties: values });
export const oneOf = (values: readonly string[]) => ({ enum: values });
export const tenants = { anyOf: [{ const: 'all' }, texts] };

/** Values in a query are text. */
export const digits = { type: 'string', pattern: '^\\d{1,9}$' };
export const paging = {
  limit: field(digits, '--limit <number>', 'maximum number (100)'),
  offset: field(digits),
};

export interface Paging {
  readonly limit?: string;
  readonly offset?: string;
}

export function page<T>(items: readonly T[], { limit = '100', offset = '0' }: Paging): readonly T[] {
  return items.slice(Number(offset), Number(offset) + Number(limit));
}

/** An invoice is shown without its rows, which may be many. */
export function brief({ lines: _, contentSeed: __, ...invoice }: Invoice) {
  return invoice;
}

export function registerOperation(
  app: FastifyInstance,
  { route, about, group, query, body, required = [], status, sample, run }: AnyOperation,
  { account, connection }: { readonly account: Account; readonly connection: () => Connection },
): void {
  const [method = '', url = ''] = route.split(' ');
  app.route<{ Params: { id: string } }>({
    ...{ method, url },
    schema: {
      ...described(group, about),
      ...(query === undefined ? {} : { querystring: shapeOf(query) }),
      ...(body === undefined ? {} : { body: { ...shapeOf(body, required), examples: [sample ?? {}] } }),
    },
    async handler({ params, query, body }, reply) {
      if (status !== undefined) reply.code(status);
      return run(account, { id: params.id, query: query as never, body: body as never }, connection);
    },
  });
}

export function described(group: string, about: string): object {
  return { tags: [group], summary: `${about.charAt(0).toUpperCase()}${about.slice(1)}.` };
}

/** Unknown names are refused, so that a misspelt one is noticed. */
function shapeOf(fields: Fields, required: readonly string[] = []): object {
  const properties = Object.entries(fields).map(([name, field]) => [
    name,
    'fields' in field
      ? shapeOf(field.fields)
      : { ...field.schema, ...(field.about === '' ? {} : { description: field.about }) },
  ]);
  return {
    ...{ type: 'object', properties: Object.fromEntries(properties), required },
    additionalProperties: false,
  };
}
