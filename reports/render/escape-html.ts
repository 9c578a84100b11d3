/** Text as HTML: nothing in it is markup, and nothing in it is invisible. */

import { visible } from '../../lib/wire/text.ts';

/** For what a person reads. Control and bidirectional characters are written out, so no name can pass for another. */
export function escapeHtml(value: unknown): string {
  return escapeAttribute(visible(String(value)));
}

/** For the value of a form's field, which has to come back as it was. */
export function escapeAttribute(value: unknown): string {
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
