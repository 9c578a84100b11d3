import type { ApiKey } from '../../model.ts';
import { seedInvoices, seedMonths } from '../../sandbox-account.ts';
import { atMost, digits, field, grouped, MAX_AT_ONCE, operation, text, whole } from './operation.ts';

const KEY = ['keyId', 'name', 'active', 'key'];

export const ACCOUNT = grouped('Account', [
  operation({
    route: 'GET /connection',
    about: 'print the settings of a client: addresses, credentials, CA file',
    command: 'connection',
    example: '--production --json',
    print: 'values',
    run: (_account, _request, connection) => connection(),
  }),
  operation({
    route: 'GET /status',
    about: 'print the partner and the number of invoices, webhooks, deliveries and faults',
    command: 'status',
    print: 'values',
    rows: ({ partner, ...rest }: { partner: { name: string; kind: string } }) => ({
      partner: `${partner.name} (${partner.kind})`,
      ...rest,
    }),
    run: ({ environment, partner, billing, deliveries, registrations, faults, now }) => ({
      ...{ environment, partner, now: now().toISOString(), invoices: billing.invoices().length },
      ...{ registrations: registrations.list().length, deliveries: deliveries.list().length },
      pendingDeliveries: deliveries.list().filter(({ state }) => state === 'pending').length,
      faults: faults.list().length,
    }),
  }),
  operation<object, { after?: string }>({
    route: 'GET /activity',
    about: 'list lines of the activity after a sequence number, oldest first',
    query: { after: field(digits) },
    run: ({ activity }, { query: { after = '0' } }) => activity.after(Number(after)),
  }),
  operation({
    route: 'GET /tenants',
    about: 'list the tenants',
    command: 'tenants list',
    print: ['tenantId', 'partnerTenantId', 'name', 'currencyCode', 'weightUnit'],
    run: ({ billing }) => billing.tenants(),
  }),
  operation<{ invoices?: number; months?: number; shipments?: number }>({
    route: 'POST /seed',
    about: 'generate invoices of every tenant in every status',
    body: {
      invoices: field(atMost(MAX_AT_ONCE), '--invoices <number>', 'number of invoices (12)'),
      months: field(
        atMost(120),
        '--months <number>',
        'instead, one invoice for each tenant and month, with duplicates, outliers, a price increase, re-bills and other findings planted',
      ),
      shipments: field(whole, '--shipments <number>', 'rows of each invoice (25; 40 with --months)'),
    },
    status: 201,
    sample: { invoices: 12, shipments: 20 },
    command: 'seed',
    example: '--invoices 30 --shipments 100\n  billsync sandbox seed --months 12',
    print: 'Generated {invoices} invoices',
    run: async (account, { body: { invoices = 12, months, shipments } }) => ({
      invoices: await (months === undefined
        ? seedInvoices(account, invoices, shipments)
        : seedMonths(account, months, shipments)),
    }),
  }),
  operation({
    route: 'POST /idle',
    about: 'answer when no delivery is in progress or scheduled',
    status: 204,
    run: (account) => account.idle(),
  }),
  operation({
    route: 'POST /reset',
    about: 'remove invoices, events, deliveries, webhooks, schedules and faults',
    status: 204,
    command: 'reset',
    example: '--yes',
    confirm: 'Remove everything but credentials and tenants?',
    print: 'The sandbox is reset',
    run: (account) => account.reset(),
  }),
  operation({
    route: 'GET /api-keys',
    about: 'list API keys',
    command: 'api-keys list',
    print: KEY,
    run: (account): readonly ApiKey[] => account.apiKeys(),
  }),
  operation<{ name: string }>({
    route: 'POST /api-keys',
    about: 'create an API key',
    body: { name: field(text, '<name>', 'its name') },
    required: ['name'],
    status: 201,
    sample: { name: 'ERP' },
    command: 'api-keys add',
    example: 'nightly',
    print: KEY,
    run: (account, { body }) => account.addApiKey(body.name),
  }),
  operation({
    route: 'POST /api-keys/:id/deactivate',
    about: 'deactivate an API key permanently',
    command: 'api-keys deactivate <keyId>',
    example: 'key-1 --yes',
    confirm: 'Deactivate {id}?',
    print: KEY,
    run: (account, { id }) => account.deactivateApiKey(id),
  }),
  operation({
    route: 'POST /revoke-tokens',
    about: 'make every access token issued so far invalid',
    status: 204,
    command: 'revoke-tokens',
    print: 'All tokens issued so far are revoked',
    run: (account) => account.revokeTokens(),
  }),
]);
