/** The state of each invoice as it is published. */

import { statSync } from 'node:fs';
import type { Settings } from '../../lib/config/settings.ts';
import { openPublished, publishedPath } from '../published.ts';

/** Asks the published file again only when it was replaced: the machine has better things to do meanwhile. */
export function watchStates(settings: Settings): () => Promise<ReadonlyMap<string, string>> {
  let seen = '';
  let states: ReadonlyMap<string, string> = new Map();
  return async () => {
    // An inode alone can come back with the next file but one.
    const file = statSync(publishedPath(settings), { throwIfNoEntry: false });
    const replaced = file === undefined ? '' : `${file.ino} ${file.mtimeMs} ${file.size}`;
    if (replaced !== seen) {
      states = await statesOf(settings);
      seen = replaced;
    }
    return states;
  };
}

/** Empty until the first publication. */
async function statesOf(settings: Settings): Promise<ReadonlyMap<string, string>> {
  try {
    const published = await openPublished(settings);
    try {
      const rows = await published.ask('invoices-list', { states: null, tenants: null, since: null });
      return new Map(rows.map((row) => [String(row.invoice_id), String(row.state)]));
    } finally {
      published.close();
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'NotPublishedError') return new Map();
    throw error;
  }
}
