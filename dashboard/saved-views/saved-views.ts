/** Views of pages that people gave a name, in `saved-views.json` of the user store. */

import { z } from 'zod';
import { UnreadableFileError } from '../../lib/files/published-file.ts';
import { USER_FILES, userStore } from '../../lib/user-store.ts';
import { invalidFilter } from '../../reports/errors.ts';
import { type Query, withQuery } from '../address.ts';

export interface SavedView {
  readonly name: string;
  /** Path and query of a page of ours. */
  readonly address: string;
}

export interface SavedViews {
  /** By name. @throws UnreadableFileError the file is none of ours */
  list(): Promise<readonly SavedView[]>;
  /**
   * A view of the same name is replaced.
   *
   * @throws ReportError a name or an address that cannot be kept
   */
  save(view: SavedView): Promise<void>;
  remove(name: string): Promise<void>;
}

const MAX_NAME = 80;
const MAX_ADDRESS = 8_000;
const MAX_VIEWS = 200;
const PAGES = /^\/(shipments|invoices|events|reports(\/[a-z]+(-[a-z]+)*)?)?$/;
const File = z.array(z.strictObject({ name: z.string(), address: z.string() }));

export function openSavedViews(dataDir: string): SavedViews {
  async function change(to: (views: readonly SavedView[]) => readonly SavedView[]): Promise<void> {
    const store = await userStore(dataDir);
    await store.change(USER_FILES.savedViews, (before) => {
      const views = to(viewsIn(before, store.place(USER_FILES.savedViews)));
      const sorted = views.toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
      return `${JSON.stringify(sorted, null, 2)}\n`;
    });
  }
  return {
    async list() {
      const store = await userStore(dataDir);
      return viewsIn(await store.read(USER_FILES.savedViews), store.place(USER_FILES.savedViews));
    },
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

function viewsIn(file: Buffer | null, place: string): readonly SavedView[] {
  try {
    return File.parse(JSON.parse(String(file ?? '[]'))).map(checkView);
  } catch (error) {
    const hint = 'correct the file by hand, or delete it and save the views again';
    const problem = `${place} does not contain saved views.`;
    throw new UnreadableFileError('file-damaged', [problem], { hint, cause: error });
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
