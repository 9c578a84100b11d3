/** Refused items with their reasons; read live, since requeueing does not wait for a publication. */

import type { FastifyInstance } from 'fastify';
import { frame, type PageContext, sendFramed, sendPage } from '../page-context.ts';

const MAX_BODY_BYTES = 64 * 1024;

/** Serves `/quarantine`, read from the folder and not from the publication. */
export function registerQuarantine(app: FastifyInstance, context: PageContext): void {
  app.get('/quarantine', async (_request, reply) => {
    const things = context.quarantine === null ? null : await context.quarantine.list();
    const newestFirst =
      things === null ? null : [...things].sort((one, other) => (one.at < other.at ? 1 : -1));
    return sendFramed(context, reply, {
      ...({ view: 'quarantine', title: 'Quarantine', section: '/quarantine' } as const),
      ...{ values: { things: newestFirst }, figures: { quarantined: newestFirst } },
    });
  });
  app.get<{ Params: { id: string } }>('/quarantine/:id', async (request, reply) => {
    const { id } = request.params;
    // Only what the list names is shown, so an id can never be taken for a path.
    const isListed = (await context.quarantine?.list())?.some((thing) => thing.quarantineId === id) ?? false;
    const shown = isListed ? await context.quarantine?.show(id) : null;
    if (!shown) {
      const values = {
        message: `Nothing in quarantine is called ${id}. It may have been taken up or discarded.`,
      };
      return sendPage(
        reply.code(404),
        await frame(context, { view: 'message', title: 'Not in quarantine', section: '/quarantine', values }),
      );
    }
    const body =
      shown.body === null ? null : Buffer.from(shown.body.subarray(0, MAX_BODY_BYTES)).toString('utf8');
    return sendPage(
      reply,
      await frame(context, {
        view: 'quarantined',
        title: `In quarantine: ${id}`,
        section: '/quarantine',
        values: { thing: shown.item, body },
      }),
    );
  });
}
