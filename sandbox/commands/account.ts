/** Commands that show an account: connection, status, tenants, events. */
import type { Command } from 'commander';
import type { BillingEvent, Tenant } from '../model.ts';
import { group } from './invoices.ts';
import { ask, snakeKeys, table, type VerbOptions, verb } from './verb.ts';
import { given, wholeNumber } from './words.ts';

export function connectionCommand(): Command {
  return verb('connection', {
    description: 'what a client needs: addresses, credentials, CA file',
    example: 'connection --production --json',
  }).action((options: VerbOptions) =>
    ask(options, { method: 'GET', path: '/connection' }, (answer) => facts(snakeKeys(answer) as object)),
  );
}

export function statusCommand(): Command {
  return verb('status', {
    description: 'how the account stands: partner, and how much of everything there is',
    example: 'status',
  }).action((options: VerbOptions) =>
    ask(options, { method: 'GET', path: '/status' }, (answer) => {
      const { partner, ...rest } = answer as { partner: { name: string; kind: string } };
      return facts(snakeKeys({ partner: `${partner.name} (${partner.kind})`, ...rest }) as object);
    }),
  );
}

export function tenantsCommand(): Command {
  const list = verb('list', { description: 'list the tenants', example: 'tenants list' }).action(
    (options: VerbOptions) =>
      ask(options, { method: 'GET', path: '/tenants' }, (answer) => tenantTable(answer as readonly Tenant[])),
  );
  return group('tenants', "the partner's tenants", [list]);
}

export function eventsCommand(): Command {
  const list = verb('list', {
    description: 'list events as they were emitted, newest first',
    example: 'events list --invoice 66271f59-6785-4f34-b6a1-dc40606f2d81 --json',
  })
    .option('--invoice <invoiceId>', 'of one invoice')
    .option('--limit <number>', 'how many at most (100)', wholeNumber)
    .action(({ invoice, limit, ...options }: VerbOptions & { invoice?: string; limit?: number }) => {
      const query = new URLSearchParams(given({ invoiceId: invoice, limit }) as Record<string, string>);
      return ask(options, { method: 'GET', path: `/events?${query}` }, (answer) =>
        eventTable(answer as readonly BillingEvent[]),
      );
    });
  return group('events', 'the events of this account, delivered or not', [list]);
}

function facts(values: object): string[] {
  return table(
    ['', ''],
    Object.entries(values).map(([name, value]) => [name, value]),
  ).slice(1);
}

function tenantTable(tenants: readonly Tenant[]): string[] {
  return table(
    ['TENANT ID', "PARTNER'S ID", 'NAME', 'CURRENCY', 'UNIT'],
    tenants.map((one) => [one.tenantId, one.partnerTenantId, one.name, one.currencyCode, one.weightUnit]),
  );
}

function eventTable(events: readonly BillingEvent[]): string[] {
  return table(
    ['EVENT ID', 'EVENT', 'AT', 'INVOICE ID', 'TEST'],
    events.map((one) => [
      one.eventId,
      one.eventType,
      one.eventTimestamp,
      one.invoiceId,
      one.testEvent ? 'test' : '',
    ]),
  );
}
