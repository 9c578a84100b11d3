import type { FastifyInstance } from 'fastify';
import type { Account } from '../../account.ts';
import { seedInvoices, seedMonths } from '../../sandbox-account.ts';
import {
  answer201,
  answer204,
  atMost,
  type ById,
  bodyOf,
  digitsText,
  MAX_AT_ONCE,
  queryOf,
  text,
  wholeNumber,
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
    queryOf({ after: digitsText }),
    async ({ query: { after = '0' } }) => activity.after(Number(after)),
  );

  app.get('/api-keys', async () => account.apiKeys());
  app.post<{ Body: { name: string } }>(
    '/api-keys',
    { ...bodyOf({ name: text }, ['name']), ...answer201 },
    async ({ body }) => account.addApiKey(body.name),
  );
  app.post<ById>('/api-keys/:id/deactivate', async ({ params }) => account.deactivateApiKey(params.id));
  app.post('/revoke-tokens', answer204, async () => account.revokeTokens());

  /** Answers when no delivery is in progress or scheduled. */
  app.post('/idle', answer204, () => account.idle());
  app.post('/reset', answer204, () => account.reset());
  app.post<{ Body: { invoices?: number; months?: number; shipments?: number } }>(
    '/seed',
    {
      ...bodyOf({ invoices: atMost(MAX_AT_ONCE), months: atMost(120), shipments: wholeNumber }),
      ...answer201,
    },
    async ({ body: { invoices = 12, months, shipments } }) => ({
      invoices: await (months === undefined
        ? seedInvoices(account, invoices, shipments)
        : seedMonths(account, months, shipments)),
    }),
  );
}
