import type { Command } from 'commander';
import type { ApiKey, BillingEvent, Tenant } from '../model.ts';
import { path, wholeNumber, withQuery } from './arguments.ts';
import { group, snakeKeys, table, type VerbOptions, verb } from './verb.ts';

export function connectionCommand(): Command {
  return verb('connection', {
    description: 'print the settings of a client: addresses, credentials, CA file',
    example: 'connection --production --json',
    call: () => ({ method: 'GET', path: '/connection' }),
    lines: (answer) => namedValues(snakeKeys(answer) as object),
  });
}

export function statusCommand(): Command {
  return verb('status', {
    description: 'print the partner and the number of invoices, webhooks, deliveries and faults',
    example: 'status',
    call: () => ({ method: 'GET', path: '/status' }),
    lines: (answer) => {
      const { partner, ...rest } = answer as { partner: { name: string; kind: string } };
      return namedValues(snakeKeys({ partner: `${partner.name} (${partner.kind})`, ...rest }) as object);
    },
  });
}

export function tenantsCommand(): Command {
  const list = verb('list', {
    description: 'list the tenants',
    example: 'tenants list',
    call: () => ({ method: 'GET', path: '/tenants' }),
    lines: (answer) =>
      table(
        ['TENANT ID', "PARTNER'S ID", 'NAME', 'CURRENCY', 'UNIT'],
        (answer as readonly Tenant[]).map((one) => [
          one.tenantId,
          one.partnerTenantId,
          one.name,
          one.currencyCode,
          one.weightUnit,
        ]),
      ),
  });
  return group('tenants', "the partner's tenants", [list]);
}

export function eventsCommand(): Command {
  const list = verb<VerbOptions & { readonly invoice?: string; readonly limit?: number }>('list', {
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
    lines: (answer) =>
      table(
        ['EVENT ID', 'EVENT', 'AT', 'INVOICE ID', 'TEST'],
        (answer as readonly BillingEvent[]).map((one) => [
          one.eventId,
          one.eventType,
          one.eventTimestamp,
          one.invoiceId,
          one.testEvent ? 'test' : '',
        ]),
      ),
  });
  return group('events', 'the events of this account, delivered or not', [list]);
}

export function apiKeysCommand(): Command {
  const list = verb('list', {
    description: 'list API keys',
    example: 'api-keys list',
    call: () => ({ method: 'GET', path: '/api-keys' }),
    lines: (answer) => keyTable(answer as readonly ApiKey[]),
  });
  const add = verb('add <name>', {
    description: 'create an API key',
    example: 'api-keys add nightly',
    writes: true,
    call: (name) => ({ method: 'POST', path: '/api-keys', body: { name } }),
    lines: (answer) => keyTable([answer as ApiKey]),
  });
  const deactivate = verb('deactivate <keyId>', {
    description: 'deactivate an API key permanently',
    example: 'api-keys deactivate key-1 --yes',
    writes: true,
    confirm: (keyId) => `Deactivate ${keyId}?`,
    call: (keyId) => ({ method: 'POST', path: path`/api-keys/${keyId}/deactivate` }),
    lines: (answer) => keyTable([answer as ApiKey]),
  });
  return group('api-keys', 'API keys, which clients use instead of tokens', [list, add, deactivate]);
}

export function revokeTokensCommand(): Command {
  return verb('revoke-tokens', {
    description: 'make every access token issued so far invalid',
    example: 'revoke-tokens',
    writes: true,
    call: () => ({ method: 'POST', path: '/revoke-tokens' }),
    lines: () => ['All tokens issued so far are revoked'],
  });
}

export function namedValues(values: object): string[] {
  return table(['', ''], Object.entries(values)).slice(1);
}

function keyTable(keys: readonly ApiKey[]): string[] {
  return table(
    ['KEY ID', 'NAME', 'STATUS', 'KEY'],
    keys.map((one) => [one.keyId, one.name, one.active ? 'active' : 'deactivated', one.key]),
  );
}
