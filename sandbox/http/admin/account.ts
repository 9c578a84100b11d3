import type { FastifyInstance } from 'fastify';
import type { Account } from '../../account.ts';
import { seedInvoices, seedMonths } from '../../sandbox-account.ts';
import {
  atMost,
  type ById,
  bodyOf,
  created,
  digits,
  empty,
  MAX_AT_ONCE,
  queryOf,
  text,
  whole,
} from './shapes.ts';

export function accountRoutes(app: FastifyInstance, account: Account): void {
  const { environment, partner, billing, deliveries, registrations, faults, activity, now } = account;

  app.get('/status', async () => ({
    environment,
    partner,
    now: now().toISOString(),
    invoices: billing.invoices().length,
    registrations: registrations.list().length,
    deliveries: deliveries.list().length,
    pendingDeliveries: deliveries.list().filter(({ state }) => state === 'pending').length,
    faults: faults.list().length,
  }));
  app.get<{ Querystring: { after?: string } }>(
    '/activity',
    queryOf({ after: digits }),
    async ({ query: { after = '0' } }) => activity.after(Number(after)),
  );

  app.get('/api-keys', async () => account.apiKeys());
  app.post<{ Body: { name: string } }>(
    '/api-keys',
    { ...bodyOf({ name: text }, ['name']), ...created },
    async ({ body }) => account.addApiKey(body.name),
  );
  app.post<ById>('/api-keys/:id/deactivate', async ({ params }) => account.deactivateApiKey(params.id));
  app.post('/revoke-tokens', empty, async () => account.revokeTokens());

  /** Answers when no delivery is in progress or scheduled. */
  app.post('/idle', empty, () => account.idle());
  app.post('/reset', empty, () => account.reset());
  app.post<{ Body: { invoices?: number; months?: number; shipments?: number } }>(
    '/seed',
    { ...bodyOf({ invoices: atMost(MAX_AT_ONCE), months: atMost(120), shipments: whole }), ...created },
    async ({ body: { invoices = 12, months, shipments } }) => ({
      invoices: await (months === undefined
        ? seedInvoices(account, invoices, shipments)
        : seedMonths(account, months, shipments)),
    }),
  );
}
