/** Templates of pages: every value is escaped unless a template says otherwise. */

import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { escapeHtml } from './escape-html.js';

/** Those of a folder, read once. */
export function templatesIn(folder: URL): Eta {
  return new Eta({
    views: fileURLToPath(folder),
    autoTrim: false,
    cache: true,
    // What is not known is an empty place; nobody reads "null".
    escapeFunction: (value: unknown) => (value === null || value === undefined ? '' : escapeHtml(value)),
  });
}
