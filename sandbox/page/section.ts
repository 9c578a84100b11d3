/** The routes of a section of the page. */

import type { Account, Connection } from '../account.ts';
import type { Form } from './form.ts';
import type { Page } from './render.ts';

/** The request of a page or form. */
export interface Asked {
  readonly account: Account;
  readonly connection: Connection;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Form;
  readonly form: Form;
  /** The fields of a refused form; empty on a new page. */
  readonly typed: Readonly<Record<string, string>>;
}

/** A page, or a form's deed with the page that shows the form again when the deed is refused. */
export type Route =
  | { readonly get: string; readonly show: Show }
  | { readonly post: string; readonly act: Act; readonly again?: Show };

type Show = (asked: Asked) => Page | Promise<Page>;
/** Answers where to go on, with a word of NOTICES: `/invoices?done=generated`. */
type Act = (asked: Asked) => string | Promise<string>;
