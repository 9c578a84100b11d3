import type { RouteShorthandOptions } from 'fastify';
import type { Invoice } from '../../model.ts';

export interface ById {
  readonly Params: { readonly id: string };
}

export const text = { type: 'string' } as const;
export const flag = { type: 'boolean' };
export const wholeNumber = { type: 'integer', minimum: 0 } as const;
/** A typing error must not keep the sandbox busy for days. */
export const MAX_AT_ONCE = 10_000;
export const atMost = (maximum: number) => ({ type: 'integer', minimum: 1, maximum }) as const;
export const textList = { type: 'array', items: text };
export const textMap = { type: 'object', additionalProperties: text };
export const tenantsShape = { anyOf: [{ const: 'all' }, textList] };

/** Values in a query are text. */
export const digitsText = { type: 'string', pattern: '^\\d{1,9}$' };
export const pageQuery = { limit: digitsText, offset: digitsText };

export function shape(properties: Record<string, object>, required: readonly string[] = []): object {
  return { type: 'object', properties, required, additionalProperties: false };
}

export function bodyOf(properties: Record<string, object>, required?: readonly string[]) {
  return { schema: { body: shape(properties, required) } };
}

/** Unknown parameters are refused, so that a misspelt filter is noticed. */
export function queryOf(properties: Record<string, object>) {
  return { schema: { querystring: shape(properties) } };
}

export const answer201: RouteShorthandOptions = {
  preHandler: async (_request, reply) => void reply.code(201),
};
export const answer204: RouteShorthandOptions = {
  preHandler: async (_request, reply) => void reply.code(204),
};

export interface PageQuery {
  readonly limit?: string;
  readonly offset?: string;
}

export function pageOf<T>(items: readonly T[], { limit = '100', offset = '0' }: PageQuery): readonly T[] {
  return items.slice(Number(offset), Number(offset) + Number(limit));
}

/** An invoice is shown without its rows, which may be many. */
export function withoutRows({ lines: _, contentSeed: __, ...invoice }: Invoice) {
  return invoice;
}
