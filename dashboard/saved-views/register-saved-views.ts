/** A page on which a view gets its name, and the two things that change what is kept: saving and removing. */

import type { FastifyInstance } from 'fastify';
import { one, type Query } from '../address.ts';
import { isOfOurs } from '../operator/operator-guard.ts';
import { type PageContext, sendFramed } from '../page-context.ts';
import { checkAddress, type SavedViews } from './saved-views.ts';

const MAX_FORM_BYTES = 16 * 1024;

/** Serves `/views`. Whoever may look may keep what they look at; a form of another site may not. */
export function registerSavedViews(app: FastifyInstance, context: PageContext, views: SavedViews): void {
  app.get('/views', async (request, reply) => {
    const asked = one(request.query as Query, 'address');
    const address = asked === undefined ? null : checkAddress(asked);
    const kept = await views.list();
    // Our own form says where it stands; the policy of the other pages would have browsers say "null".
    reply.header('referrer-policy', 'same-origin');
    return sendFramed(context, reply, {
      ...({ view: 'views', title: 'Saved views', section: '/' } as const),
      ...{ values: { address, views: kept }, figures: { views: kept } },
    });
  });
  app.register(async (inner) => {
    const text = { parseAs: 'string', bodyLimit: MAX_FORM_BYTES } as const;
    inner.addContentTypeParser('application/x-www-form-urlencoded', text, (_request, body, done) =>
      done(null, new URLSearchParams(String(body))),
    );
    inner.post('/views', async (request, reply) => {
      if (!isOfOurs(request))
        return reply.code(403).type('text/plain').send('This was asked by a page of another site.\n');
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
      const name = form.get('name') ?? '';
      if (form.get('action') === 'remove') await views.remove(name);
      else await views.save({ name, address: form.get('address') ?? '' });
      return reply.redirect('/', 303);
    });
  });
}
