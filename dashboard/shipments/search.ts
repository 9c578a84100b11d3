/** The field on every page: a tracking number, invoice number, id or tenant leads to its page; several are listed. */

import type { FastifyInstance } from 'fastify';
import { one, type Query, withQuery } from '../address.ts';
import { asksForFigures } from '../figures.ts';
import { ask, type PageContext, sendFramed } from '../page-context.ts';

interface Hit {
  readonly kind: string;
  readonly name: string;
  readonly more: string;
  readonly address: string;
}

/** Serves `/search`: to the one thing that has the words as its name, or to a list of all that have. */
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
        ['shipments whose tracking number begins so', withQuery('/shipments', { tracking: `${words}*` })],
        ['invoices whose number contains it', withQuery('/invoices', { search: words })],
        ['events', withQuery('/events', { search: words })],
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
  const hits = named.map(({ kind, id, name, more }): Hit => {
    const known = kind === 'invoice' ? ADDRESS.invoice : kind === 'event' ? ADDRESS.event : ADDRESS.tenant;
    const shown = { kind: String(kind), name: String(name), more: String(more ?? '') };
    return { ...shown, address: known(String(id)) };
  });
  const numbers = [...new Set(tracked.map((row) => String(row.tracking_number)))];
  return [
    ...numbers.map((number): Hit => {
      const lines = tracked.filter((row) => row.tracking_number === number).length;
      const more = `${lines} ${lines === 1 ? 'line' : 'lines'}`;
      return { kind: 'shipment', name: number, more, address: `/shipments/${encodeURIComponent(number)}` };
    }),
    ...hits,
  ];
}

const ADDRESS = {
  invoice: (id: string) => `/invoices/${encodeURIComponent(id)}`,
  event: (id: string) => withQuery('/events', { search: id }),
  tenant: (id: string) => withQuery('/shipments', { tenant: id }),
} as const;
