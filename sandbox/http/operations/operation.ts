import type { Account } from '../../account.ts';
import type { Invoice } from '../../model.ts';

export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below /admin; `{name}` is a path parameter. */
  readonly path: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, QuerySchema>>;
  readonly body?: object;
  readonly status?: 201 | 204;
  readonly run: (account: Account, call: Call) => unknown;
}

export interface QuerySchema {
  readonly type?: 'string' | 'integer';
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | number | undefined>>;
  readonly body: unknown;
}

export const text = { type: 'string' } as const;
export const flag = { type: 'boolean' };
export const whole = { type: 'integer', minimum: 0 } as const;
/** A typing error must not keep the sandbox busy for days. */
export const MAX_AT_ONCE = 10_000;
export const atMost = (maximum: number) => ({ type: 'integer', minimum: 1, maximum }) as const;
export const texts = { type: 'array', items: text };
export const textMap = { type: 'object', additionalProperties: text };

export function shape(properties: Record<string, object>, required: readonly string[] = []): object {
  return { type: 'object', properties, required, additionalProperties: false };
}

export const tenantsShape = { anyOf: [{ const: 'all' }, texts] };
export const pageQuery = { limit: whole, offset: whole };

export function page<T>(items: readonly T[], { limit = 100, offset = 0 }: Call['query']): readonly T[] {
  return items.slice(Number(offset), Number(offset) + Number(limit));
}

/** Without its rows, which may be many. */
export function brief({ lines: _, contentSeed: __, ...invoice }: Invoice) {
  return invoice;
}
