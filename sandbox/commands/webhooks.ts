import type { Command } from 'commander';
import type { Registration } from '../model.ts';
import { collect, collectList, given, headerLines, path, textOf } from './arguments.ts';
import { group, table, type VerbOptions, verb } from './verb.ts';

interface SettingsOptions extends VerbOptions {
  readonly url?: string;
  readonly name?: string;
  readonly eventType?: readonly string[];
  readonly tenant?: readonly string[];
  readonly header?: readonly string[];
  readonly endpointCa?: string;
  readonly enable?: boolean;
}

export function webhooksCommand(): Command {
  const list = verb('list', {
    description: 'list all registered webhooks',
    example: 'webhooks list',
    call: () => ({ method: 'GET', path: '/registrations' }),
    lines: (answer) => registrationTable(answer as readonly Registration[]),
  });
  const add = verb<SettingsOptions>('add', {
    description: 'register a webhook, inactive until it is enabled',
    example:
      'webhooks add --url https://127.0.0.1:8443/webhooks/billing --header "Authorization: Basic …" --enable',
    writes: true,
    options: (command) =>
      withSettings(command)
        .requiredOption('--url <url>', 'https URL that receives notifications')
        .option('--enable', 'enable it at once'),
    call: (_, options) => ({
      method: 'POST',
      path: '/registrations',
      body: { name: options.url, ...settingsOf(options), ...given({ active: options.enable }) },
    }),
    lines: (answer) => registrationTable([answer as Registration]),
  });
  const edit = verb<SettingsOptions>('edit <registrationId>', {
    description: 'change the given settings of a webhook',
    example: 'webhooks edit 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --event invoice_finalized',
    writes: true,
    options: (command) =>
      withSettings(command).option('--url <url>', 'https URL that receives notifications'),
    call: (id, options) => ({
      method: 'PATCH',
      path: path`/registrations/${id}`,
      body: settingsOf(options),
    }),
    lines: (answer) => registrationTable([answer as Registration]),
  });
  const switches = (['enable', 'disable'] as const).map((name) =>
    verb(`${name} <registrationId>`, {
      description: `${name} a webhook`,
      example: `webhooks ${name} 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11`,
      writes: true,
      call: (id) => ({ method: 'POST', path: path`/registrations/${id}/${name}` }),
      lines: (answer) => registrationTable([answer as Registration]),
    }),
  );
  const remove = verb('delete <registrationId>', {
    description: 'delete a webhook',
    example: 'webhooks delete 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --yes',
    writes: true,
    confirm: (id) => `Delete the webhook ${id}?`,
    call: (id) => ({ method: 'DELETE', path: path`/registrations/${id}` }),
    lines: () => ['Deleted'],
  });
  return group('webhooks', 'webhook registrations', [list, add, edit, ...switches, remove]);
}

function withSettings(command: Command): Command {
  return command
    .option('--name <name>', 'descriptive name')
    .option(
      '--event, --event-type <types>',
      'event types, repeated or separated by commas (all three)',
      collectList,
    )
    .option('--tenant <tenant>', "tenant by name, id or the partner's own id; repeatable (all)", collect)
    .option('--header <line>', '"Name: value" sent with every request; repeatable', collect)
    .option(
      '--endpoint-ca <file>',
      'verify the endpoint against this CA; without it any certificate is accepted',
    );
}

function settingsOf(options: SettingsOptions): Record<string, unknown> {
  const { name, url, eventType, tenant, header, endpointCa } = options;
  const isAll = tenant?.length === 1 && tenant[0] === 'all';
  return given({
    name,
    url,
    eventTypes: eventType,
    tenants: isAll ? 'all' : tenant,
    headers: header === undefined ? undefined : headerLines(header),
    caPem: endpointCa === undefined ? undefined : textOf(endpointCa),
  });
}

function registrationTable(registrations: readonly Registration[]): string[] {
  return table(
    ['WEBHOOK ID', 'NAME', 'STATUS', 'EVENT TYPES', 'TENANTS', 'URL'],
    registrations.map((one) => [
      one.registrationId,
      one.name,
      one.active ? 'active' : 'inactive',
      one.eventTypes.join(','),
      one.tenants === 'all' ? 'all' : one.tenants.length,
      one.url,
    ]),
  );
}
