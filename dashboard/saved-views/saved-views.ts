/** Views of pages that people gave a name, kept in the data folder: `user/saved-views.json`, replaced as a whole. */

import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { makeFolder, replaceDurably } from '../../lib/files/durable-files.ts';
import { takeLock } from '../../lib/files/lock-file.ts';
import { DamagedFileError } from '../../lib/files/published-file.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { naming, systemCode } from '../../lib/system-errors.ts';
import { invalidFilter } from '../../reports/errors.ts';
import { type Query, withQuery } from '../address.ts';

export interface SavedView {
  readonly name: string;
  /** Path and query of a page of ours. */
  readonly address: string;
}

export interface SavedViews {
  /** By name. @throws DamagedFileError the file is none of ours */
  list(): Promise<readonly SavedView[]>;
  /**
   * A view of the same name is replaced.
   *
   * @throws ReportError a name or an address that cannot be kept
   * @throws SavedViewsBusyError another dashboard keeps the file
   */
  save(view: SavedView): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Another dashboard has the file for so long; nothing was changed. */
class SavedViewsBusyError extends Error {
  readonly statusCode = 409;
}

const PATIENCE_MS = 5_000;
const MAX_NAME = 80;
const MAX_ADDRESS = 8_000;
const MAX_VIEWS = 200;
const PAGES = /^\/(shipments|invoices|events|reports(\/[a-z]+(-[a-z]+)*)?)?$/;
const File = z.array(z.strictObject({ name: z.string(), address: z.string() }));

/** @param path of the file; it is made when the first view is saved */
export function openSavedViews(path: string): SavedViews {
  /** One after the other, here and among dashboards over one folder, so that two who save at once both find theirs. */
  const inTurn = createSemaphore(1);
  const change = (to: (views: readonly SavedView[]) => readonly SavedView[]): Promise<void> =>
    inTurn(async () => {
      await makeFolder(dirname(path)).catch(naming(path));
      const lock = await takeLock(`${path}.lock`, {
        ...{ role: 'dashboard', now: new Date(), patienceMs: PATIENCE_MS },
        refusal: () => new SavedViewsBusyError('Another dashboard is saving a view: try again.'),
      });
      try {
        const views = [...to(await read(path))].sort((a, b) => a.name.localeCompare(b.name, 'en'));
        await replaceDurably(path, `${JSON.stringify(views, null, 2)}\n`).catch(naming(path));
      } finally {
        await lock.release();
      }
    });
  return {
    list: () => read(path),
    async save(view) {
      const kept = checkView(view);
      await change((views) => {
        const others = views.filter(({ name }) => name !== kept.name);
        if (others.length >= MAX_VIEWS)
          throw invalidFilter(`There are ${MAX_VIEWS} views already: remove one first.`);
        return [...others, kept];
      });
    },
    remove: (name) => change((views) => views.filter((view) => view.name !== name)),
  };
}

async function read(path: string): Promise<readonly SavedView[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) =>
    systemCode(error) === 'ENOENT' ? '[]' : naming(path)(error),
  );
  try {
    return File.parse(JSON.parse(text)).map(checkView);
  } catch (error) {
    const hint = 'correct the file by hand, or delete it and save the views again';
    throw new DamagedFileError(path, `${path} is not what saved views are kept as.`, { hint, cause: error });
  }
}

/** @throws ReportError */
function checkView({ name, address }: SavedView): SavedView {
  const named = name.trim().normalize('NFC');
  if (named === '' || [...named].length > MAX_NAME || /\p{Cc}|\p{Cs}/u.test(named))
    throw invalidFilter(`Give the view a name of at most ${MAX_NAME} characters on one line.`);
  return { name: named, address: checkAddress(address) };
}

/** Normalizes the address of a page, so that it cannot lead to another site or a script. @throws ReportError */
export function checkAddress(address: string): string {
  const base = 'http://pages.invalid';
  const url = URL.canParse(address, base) ? new URL(address, base) : null;
  if (
    url?.origin !== base ||
    !address.startsWith('/') ||
    !PAGES.test(url.pathname) ||
    address.length > MAX_ADDRESS
  )
    throw invalidFilter('Only pages of figures of this dashboard can be kept as a view.');
  // A page's place in a list is no view of it.
  for (const place of ['after', 'page', 'format']) url.searchParams.delete(place);
  return `${url.pathname}${url.search}`;
}

/** Where a page's view gets its name. */
export function saveAddress(path: string, query: Query): string {
  return withQuery('/views', { address: withQuery(path, query) });
}
