import type { Command } from 'commander';
import { collect, collectList, given, headerLines, path, textOf } from './arguments.ts';
import { group, type Options, verb } from './verb.ts';

const REGISTRATION = ['registrationId', 'name', 'active', 'eventTypes', 'tenants', 'url'];

export function webhooksCommand(): Command {
  const list = verb('list', {
    description: 'list all registered webhooks',
    example: 'webhooks list',
    call: () => ({ method: 'GET', path: '/registrations' }),
    print: REGISTRATION,
  });
  const add = verb('add', {
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
    print: REGISTRATION,
  });
  const edit = verb('edit <registrationId>', {
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
    print: REGISTRATION,
  });
  const switches = (['enable', 'disable'] as const).map((name) =>
    verb(`${name} <registrationId>`, {
      description: `${name} a webhook`,
      example: `webhooks ${name} 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11`,
      writes: true,
      call: (id) => ({ method: 'POST', path: path`/registrations/${id}/${name}` }),
      print: REGISTRATION,
    }),
  );
  const remove = verb('delete <registrationId>', {
    description: 'delete a webhook',
    example: 'webhooks delete 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --yes',
    writes: true,
    confirm: (id) => `Delete the webhook ${id}?`,
    call: (id) => ({ method: 'DELETE', path: path`/registrations/${id}` }),
    print: () => ['Deleted'],
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

function settingsOf({ name, url, eventType, tenant, header, endpointCa }: Options): Record<string, unknown> {
  return given({
    name,
    url,
    eventTypes: eventType,
    tenants: String(tenant) === 'all' ? 'all' : tenant,
    headers: header === undefined ? undefined : headerLines(header),
    caPem: endpointCa === undefined ? undefined : textOf(String(endpointCa)),
  });
}
