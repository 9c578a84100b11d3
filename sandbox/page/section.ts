import type { Account, Connection } from '../account.ts';
import type { Form, Typed } from './form.ts';
import type { Page } from './render.ts';

export interface PageRequest {
  readonly account: Account;
  readonly connection: Connection;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Form;
  readonly form: Form;
  /** The fields of a refused form; empty on a new page. */
  readonly typed: Typed;
}

type Show = (request: PageRequest) => Page | Promise<Page>;
/** Returns the address to redirect to, with a key of NOTICES: `/invoices?done=generated`. */
type Act = (request: PageRequest) => string | Promise<string>;

export type Route =
  | { readonly get: string; readonly show: Show }
  | { readonly post: string; readonly act: Act; readonly again: Show | null };

const PAGE_SIZE = 50;

/** @param query its `page` counts from 1 */
export function paged<T>(found: readonly T[], query: Form) {
  const page = Math.max(1, Math.floor(Number(query.text('page')) || 1));
  return {
    onPage: found.toReversed().slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE),
    position: { total: found.length, page, pages: Math.max(1, Math.ceil(found.length / PAGE_SIZE)) },
  };
}

export function page(get: string, show: Show): Route {
  return { get, show };
}

/** @param again shows the form again when its action is refused; null: an error page does */
export function action(post: string, again: Show | null, act: Act): Route {
  return { post, act, again };
}
