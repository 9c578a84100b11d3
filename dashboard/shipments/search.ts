/** The search field on every page: tenants, carriers, invoices, tracking numbers, claims and ids, whole or in part. */

import type { FastifyInstance } from 'fastify';
import { one, type Query, withQuery } from '../address.ts';
import { asksForFigures } from '../figures.ts';
import type { Hit } from '../guest-pages.ts';
import { ask, type PageContext, sendFramed } from '../page-context.ts';
import { choicesOf } from '../pages/choices.ts';

/** Serves `/search`: redirects to the only hit, else lists all. */
export function registerSearch(app: FastifyInstance, context: PageContext): void {
  app.get('/search', async (request, reply) => {
    const words = (one(request.query as Query, 'q') ?? '').trim();
    if (words === '') return reply.redirect('/shipments', 302);
    const hits = await hitsOf(context, words);
    const [only] = hits;
    if (only !== undefined && hits.length === 1 && !asksForFigures(request))
      return reply.redirect(only.address, 302);
    const values = {
      ...{ asked: words, hits },
      elsewhere: [
        ['Shipments whose tracking number begins so', withQuery('/shipments', { tracking: `${words}*` })],
        ['Invoices whose number contains it', withQuery('/invoices', { search: words })],
        ['Events', withQuery('/events', { search: words })],
      ],
    };
    const page = { view: 'found', title: `Find ${words}`, section: '', values, figures: { hits } } as const;
    return sendFramed(context, reply.code(hits.length === 0 ? 404 : 200), page);
  });
}

async function hitsOf(context: PageContext, words: string): Promise<readonly Hit[]> {
  const whole = words.replace(/\s+/g, '');
  const { named, tracked } = await ask(context, async (asking) => ({
    named: await asking('found', { words }),
    tracked: await asking('tracked', { words: whole, letters: whole.toUpperCase() }),
  }));
  const lines = Map.groupBy(tracked, ({ tracking_number }) => String(tracking_number));
  const carriers = (await choicesOf(context)).carriers.filter((carrier) =>
    carrier.toLowerCase().includes(words.toLowerCase()),
  );
  const ofGuests = await Promise.all(context.guests.map(({ find }) => find?.(words).catch(() => []) ?? []));
  const hits = [
    ...[...lines].map(([number, { length }]) => shipmentHit(number, length)),
    ...ofGuests.flat(),
    ...carriers.map((name) => ({
      ...{ kind: 'carrier', name, more: 'what it cost' },
      address: withQuery('/reports/carriers', { carrier: name }),
    })),
    ...named.map(({ kind, id, name, more }): Hit => {
      const addressOf = ADDRESSES[String(kind)] ?? ADDRESSES.invoice;
      const shown = { kind: String(kind), name: String(name), more: String(more ?? '') };
      return { ...shown, address: addressOf(String(id)) };
    }),
  ];
  if (hits.length > 0 || whole.length < MIN_LETTERS) return hits;
  const begun = await ask(context, (asking) => asking('tracked-part', { words: whole }));
  return begun.map((row) => shipmentHit(String(row.tracking_number), Number(row.lines)));
}

/** Fewer letters begin too many tracking numbers. */
const MIN_LETTERS = 4;

function shipmentHit(number: string, lines: number): Hit {
  const more = `${lines} ${lines === 1 ? 'line' : 'lines'}`;
  return { kind: 'shipment', name: number, more, address: `/shipments/${encodeURIComponent(number)}` };
}

const ADDRESSES = {
  invoice: (id: string) => `/invoices/${encodeURIComponent(id)}`,
  event: (id: string) => withQuery('/events', { search: id }),
  tenant: (id: string) => withQuery('/shipments', { tenant: id }),
} as { readonly invoice: (id: string) => string } & Readonly<Record<string, (id: string) => string>>;
