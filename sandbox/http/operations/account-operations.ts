import { seedInvoices, seedMonths } from '../../sandbox-account.ts';
import { atMost, MAX_AT_ONCE, type Operation, shape, text, whole } from './operation.ts';

export const ACCOUNT_OPERATIONS: readonly Operation[] = [
  {
    id: 'status',
    method: 'GET',
    path: '/status',
    summary: 'The account: partner, tenants, and how much of everything there is',
    run: ({ environment, partner, billing, deliveries, registrations, faults, now }) => ({
      environment,
      partner,
      now: now().toISOString(),
      invoices: billing.invoices().length,
      registrations: registrations.list().length,
      deliveries: deliveries.list().length,
      pendingDeliveries: deliveries.list().filter(({ state }) => state === 'pending').length,
      faults: faults.list().length,
    }),
  },
  {
    id: 'listApiKeys',
    method: 'GET',
    path: '/api-keys',
    summary: 'API keys',
    run: (account) => account.apiKeys(),
  },
  {
    id: 'addApiKey',
    method: 'POST',
    path: '/api-keys',
    summary: 'Creates an API key',
    body: shape({ name: text }, ['name']),
    status: 201,
    run: (account, { body }) => account.addApiKey((body as { name: string }).name),
  },
  {
    id: 'deactivateApiKey',
    method: 'POST',
    path: '/api-keys/{keyId}/deactivate',
    summary: 'Deactivates an API key for good',
    run: (account, { params }) => account.deactivateApiKey(params.keyId ?? ''),
  },
  {
    id: 'revokeTokens',
    method: 'POST',
    path: '/revoke-tokens',
    summary: 'Makes every access token issued so far invalid',
    status: 204,
    run: (account) => account.revokeTokens(),
  },
  {
    id: 'listActivity',
    method: 'GET',
    path: '/activity',
    summary: 'Activity after a known line, oldest first',
    query: { after: whole },
    run: ({ activity }, { query }) => activity.after(Number(query.after ?? 0)),
  },
  {
    id: 'waitUntilIdle',
    method: 'POST',
    path: '/idle',
    summary: 'Answers when no delivery is in progress or scheduled',
    status: 204,
    run: (account) => account.idle(),
  },
  {
    id: 'reset',
    method: 'POST',
    path: '/reset',
    summary: 'Removes everything but credentials and tenants',
    status: 204,
    run: (account) => account.reset(),
  },
  {
    id: 'seed',
    method: 'POST',
    path: '/seed',
    summary:
      'Generates invoices of every tenant in every status, or with `months` one a month with findings planted',
    body: shape({ invoices: atMost(MAX_AT_ONCE), months: atMost(120), shipments: whole }),
    status: 201,
    run: async (account, { body }) => {
      const { invoices = 12, months, shipments } = body as Readonly<Record<string, number | undefined>>;
      const made =
        months === undefined
          ? seedInvoices(account, invoices, shipments)
          : seedMonths(account, months, shipments);
      return { invoices: await made };
    },
  },
];
