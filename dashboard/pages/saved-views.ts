import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { UnreadableFileError } from '../../lib/files/damaged-database.ts';
import { USER_FILES, userStore } from '../../lib/user-store.ts';
import { invalidFilter } from '../../reports/errors.ts';
import { lastValue, type Query, withQuery } from '../address.ts';
import { isOwnForm, parseForms } from '../operator/operator-guard.ts';
import { type PageContext, sendFramed } from '../page-context.ts';

export interface SavedView {
  readonly name: string;
  readonly address: string;
}

export type SavedViews = ReturnType<typeof openSavedViews>;

const MAX_FORM_BYTES = 16 * 1024;
const MAX_NAME = 80;
const MAX_ADDRESS = 8_000;
const MAX_VIEWS = 200;
const PAGES = /^\/(shipments|invoices|events|reports(\/[a-z]+(-[a-z]+)*)?)?$/;
const File = z.array(z.strictObject({ name: z.string(), address: z.string() }));

/** Every reader may save a view, but not from a form of another site. */
export function registerSavedViews(app: FastifyInstance, context: PageContext, views: SavedViews): void {
  app.get('/views', async (request, reply) => {
    const given = lastValue(request.query as Query, 'address');
    const address = given === undefined ? null : checkAddress(given);
    const saved = await views.list();
    // The policy is `same-origin`, because the form has to name its origin.
    reply.header('referrer-policy', 'same-origin');
    return sendFramed(context, reply, {
      ...{ view: 'views', title: 'Saved views', section: '/' },
      ...{ values: { address, views: saved }, data: { views: saved } },
    });
  });
  app.register(async (inner) => {
    parseForms(inner, MAX_FORM_BYTES);
    inner.post('/views', async (request, reply) => {
      if (!isOwnForm(request))
        return reply.code(403).type('text/plain').send('A page of another site sent this.\n');
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
      const name = form.get('name') ?? '';
      if (form.get('action') === 'remove') await views.remove(name);
      else await views.save({ name, address: form.get('address') ?? '' });
      return reply.redirect('/', 303);
    });
  });
}

export function openSavedViews(dataDir: string) {
  async function change(to: (views: readonly SavedView[]) => readonly SavedView[]): Promise<void> {
    const store = await userStore(dataDir);
    await store.change(USER_FILES.savedViews, (before) => {
      const views = to(viewsIn(before, store.place(USER_FILES.savedViews)));
      const sorted = views.toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
      return `${JSON.stringify(sorted, null, 2)}\n`;
    });
  }
  return {
    /** @throws UnreadableFileError the file has another content */
    async list(): Promise<readonly SavedView[]> {
      const store = await userStore(dataDir);
      return viewsIn(await store.read(USER_FILES.savedViews), store.place(USER_FILES.savedViews));
    },
    /** A view of the same name is replaced. @throws ReportError the name or the address is invalid */
    async save(view: SavedView): Promise<void> {
      const kept = checkView(view);
      await change((views) => {
        const others = views.filter(({ name }) => name !== kept.name);
        if (others.length >= MAX_VIEWS)
          throw invalidFilter(`There are ${MAX_VIEWS} views already: remove one first.`);
        return [...others, kept];
      });
    },
    remove: (name: string): Promise<void> => change((views) => views.filter((view) => view.name !== name)),
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

function checkView({ name, address }: SavedView): SavedView {
  const named = name.trim().normalize('NFC');
  if (named === '' || [...named].length > MAX_NAME || /\p{Cc}|\p{Cs}/u.test(named))
    throw invalidFilter(`Give the view a name of at most ${MAX_NAME} characters on one line.`);
  return { name: named, address: checkAddress(address) };
}

/** The address cannot lead to another site or a script. @throws ReportError */
function checkAddress(address: string): string {
  const base = 'http://pages.invalid';
  const url = URL.canParse(address, base) ? new URL(address, base) : null;
  if (
    url?.origin !== base ||
    !address.startsWith('/') ||
    !PAGES.test(url.pathname) ||
    address.length > MAX_ADDRESS
  )
    throw invalidFilter('Only lists and reports of this dashboard can be saved as a view.');
  for (const place of ['after', 'page', 'format']) url.searchParams.delete(place);
  return `${url.pathname}${url.search}`;
}

export function saveAddress(path: string, query: Query): string {
  return withQuery('/views', { address: withQuery(path, query) });
}
