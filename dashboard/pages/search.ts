import type { FastifyInstance } from 'fastify';
import { shortName } from '../../lib/text.ts';
import { isForPrograms, lastValue, type Query, withQuery } from '../address.ts';
import { type PageContext, readPublished, sendFramed } from '../page-context.ts';
import type { Hit } from '../plugin-pages.ts';

/** A search with one hit redirects to it; otherwise all hits are listed. */
export function registerSearch(app: FastifyInstance, context: PageContext): void {
  app.get('/search', async (request, reply) => {
    const text = (lastValue(request.query as Query, 'q') ?? '').trim();
    if (text === '') return reply.redirect('/shipments', 302);
    const { hits, left } = await hitsOf(context, text);
    const [only] = hits;
    if (only !== undefined && hits.length === 1 && !isForPrograms(request))
      return reply.redirect(only.address, 302);
    const values = {
      ...{ text, hits, left },
      elsewhere: [
        ['Shipments whose tracking number begins so', withQuery('/shipments', { tracking: `${text}*` })],
        ['Invoices whose number contains it', withQuery('/invoices', { search: text })],
        ['Events', withQuery('/events', { search: text })],
      ],
    };
    const page = { view: 'search', title: `Find ${text}`, section: '', values, data: { hits, left } };
    return sendFramed(context, reply.code(hits.length === 0 ? 404 : 200), page);
  });
}

/** `left` is the number of further names that contain the text. */
async function hitsOf(
  context: PageContext,
  text: string,
): Promise<{ readonly hits: readonly Hit[]; readonly left: number }> {
  const whole = text.replace(/\s+/g, '');
  const { named, carriers, tracked } = await readPublished(context, async (run) => ({
    named: await run('found', { text }),
    carriers: await run('found-carriers', { text }),
    tracked: await run('tracked', { text: whole, letters: whole.toUpperCase() }),
  }));
  const lines = Map.groupBy(tracked, ({ tracking_number }) => String(tracking_number));
  const ofPlugins = await Promise.all(context.plugins.map(({ find }) => find?.(text).catch(() => []) ?? []));
  const hits = [
    ...[...lines].map(([number, [line]]) => shipmentHit(number, Number(line?.found ?? 0))),
    ...ofPlugins.flat(),
    ...carriers.map(({ carrier }) => ({
      ...{ kind: 'carrier', name: String(carrier), more: 'its cost' },
      address: withQuery('/reports/carriers', { carrier: String(carrier) }),
    })),
    ...named.map(({ kind, id, name, more }): Hit => {
      const addressOf = ADDRESSES[String(kind)] ?? ADDRESSES.invoice;
      const hit = { kind: String(kind), name: String(name), more: String(more ?? '') };
      return { ...hit, address: addressOf(String(id)) };
    }),
  ];
  const left = [named, carriers].reduce((sum, rows) => sum + Number(rows[0]?.found ?? 0) - rows.length, 0);
  if (hits.length > 0 || whole.length < MIN_LETTERS) return { hits, left };
  const begun = await readPublished(context, (run) => run('tracked-part', { text: whole }));
  return {
    hits: begun.map((row) => shipmentHit(String(row.tracking_number), Number(row.lines))),
    left: Number(begun[0]?.found ?? 0) - begun.length,
  };
}

/** Fewer letters match too many tracking numbers. */
const MIN_LETTERS = 4;

function shipmentHit(number: string, lines: number): Hit {
  const more = `${lines} ${lines === 1 ? 'line' : 'lines'}`;
  return {
    kind: 'shipment',
    name: number,
    more,
    address: `/shipments/${encodeURIComponent(shortName(number))}`,
  };
}

const ADDRESSES = {
  invoice: (id: string) => `/invoices/${encodeURIComponent(id)}`,
  event: (id: string) => withQuery('/events', { search: id }),
  tenant: (id: string) => withQuery('/shipments', { tenant: id }),
} as { readonly invoice: (id: string) => string } & Readonly<Record<string, (id: string) => string>>;
