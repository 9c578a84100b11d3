import type { Command } from 'commander';
import { path, wholeNumber, withQuery } from './arguments.ts';
import { aligned, group, snakeKeys, verb } from './verb.ts';

export function connectionCommand(): Command {
  return verb('connection', {
    description: 'print the settings of a client: addresses, credentials, CA file',
    example: 'connection --production --json',
    call: () => ({ method: 'GET', path: '/connection' }),
    print: (answer) => namedValues(answer as object),
  });
}

export function statusCommand(): Command {
  return verb('status', {
    description: 'print the partner and the number of invoices, webhooks, deliveries and faults',
    example: 'status',
    call: () => ({ method: 'GET', path: '/status' }),
    print: (answer) => {
      const { partner, ...rest } = answer as { partner: { name: string; kind: string } };
      return namedValues({ partner: `${partner.name} (${partner.kind})`, ...rest });
    },
  });
}

export function tenantsCommand(): Command {
  const list = verb('list', {
    description: 'list the tenants',
    example: 'tenants list',
    call: () => ({ method: 'GET', path: '/tenants' }),
    print: ['tenantId', 'partnerTenantId', 'name', 'currencyCode', 'weightUnit'],
  });
  return group('tenants', "the partner's tenants", [list]);
}

export function eventsCommand(): Command {
  const list = verb('list', {
    description: 'list events as they were emitted, newest first',
    example: 'events list --invoice 66271f59-6785-4f34-b6a1-dc40606f2d81 --json',
    options: (command) =>
      command
        .option('--invoice <invoiceId>', 'of one invoice')
        .option('--limit <number>', 'maximum number (100)', wholeNumber),
    call: (_, { invoice, limit }) => ({
      method: 'GET',
      path: withQuery('/events', { invoiceId: invoice, limit }),
    }),
    print: ['eventId', 'eventType', 'eventTimestamp', 'invoiceId', 'testEvent'],
  });
  return group('events', 'the events of this account, delivered or not', [list]);
}

const KEY = ['keyId', 'name', 'active', 'key'];

export function apiKeysCommand(): Command {
  const list = verb('list', {
    description: 'list API keys',
    example: 'api-keys list',
    call: () => ({ method: 'GET', path: '/api-keys' }),
    print: KEY,
  });
  const add = verb('add <name>', {
    description: 'create an API key',
    example: 'api-keys add nightly',
    writes: true,
    call: (name) => ({ method: 'POST', path: '/api-keys', body: { name } }),
    print: KEY,
  });
  const deactivate = verb('deactivate <keyId>', {
    description: 'deactivate an API key permanently',
    example: 'api-keys deactivate key-1 --yes',
    writes: true,
    confirm: (keyId) => `Deactivate ${keyId}?`,
    call: (keyId) => ({ method: 'POST', path: path`/api-keys/${keyId}/deactivate` }),
    print: KEY,
  });
  return group('api-keys', 'API keys, which clients use instead of tokens', [list, add, deactivate]);
}

export function revokeTokensCommand(): Command {
  return verb('revoke-tokens', {
    description: 'make every access token issued so far invalid',
    example: 'revoke-tokens',
    writes: true,
    call: () => ({ method: 'POST', path: '/revoke-tokens' }),
    print: () => ['All tokens issued so far are revoked'],
  });
}

export function namedValues(values: object): string[] {
  return aligned(
    Object.entries(snakeKeys(values) as object)
      .filter(([, value]) => typeof value !== 'object')
      .map(([name, value]) => [name, String(value)]),
  );
}
