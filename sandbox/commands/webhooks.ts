/** Commands for webhook registrations. */

import type { Command } from 'commander';
import type { Registration } from '../model.ts';
import { group } from './invoices.ts';
import { ask, conclude, confirm, table, type VerbOptions, verb } from './verb.ts';
import { collect, collectWords, given, headerLines, textOf } from './words.ts';

interface SettingsOptions extends VerbOptions {
  readonly url?: string;
  readonly name?: string;
  readonly eventType?: readonly string[];
  readonly tenant?: readonly string[];
  readonly header?: readonly string[];
  readonly endpointCa?: string;
}

export function webhooksCommand(): Command {
  const list = verb('list', { description: 'list all registered webhooks', example: 'webhooks list' }).action(
    (options: VerbOptions) =>
      ask(options, { method: 'GET', path: '/registrations' }, (answer) =>
        registrationTable(answer as readonly Registration[]),
      ),
  );
  const moves = (['enable', 'disable'] as const).map((name) =>
    verb(`${name} <registrationId>`, {
      description: `${name} a webhook`,
      example: `webhooks ${name} 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11`,
      writes: true,
    }).action((id: string, options: VerbOptions) =>
      ask(options, { method: 'POST', path: `${pathOf(id)}/${name}` }, (answer) =>
        registrationTable([answer as Registration]),
      ),
    ),
  );
  const remove = verb('delete <registrationId>', {
    description: 'delete a webhook',
    example: 'webhooks delete 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --yes',
    writes: true,
    destroys: true,
  }).action((id: string, options: VerbOptions) =>
    conclude(options, async () => {
      await confirm(options, `Delete the webhook ${id}?`);
      await ask(options, { method: 'DELETE', path: pathOf(id) }, () => [`Deleted ${id}`]);
    }),
  );
  return group('webhooks', 'webhook registrations', [list, addCommand(), editCommand(), ...moves, remove]);
}

function addCommand(): Command {
  return withSettings(
    verb('add', {
      description: 'register a webhook, inactive until it is enabled',
      example:
        'webhooks add --url https://127.0.0.1:8443/webhooks/billing --header "Authorization: Basic …" --enable',
      writes: true,
    }),
  )
    .requiredOption('--url <url>', 'https URL that receives notifications')
    .option('--enable', 'make it active at once')
    .action((options: SettingsOptions & { readonly enable?: boolean }) =>
      conclude(options, async () => {
        const body = { name: options.url, ...settingsOf(options), ...given({ active: options.enable }) };
        await ask(options, { method: 'POST', path: '/registrations', body }, (answer) =>
          registrationTable([answer as Registration]),
        );
      }),
    );
}

function editCommand(): Command {
  return withSettings(
    verb('edit <registrationId>', {
      description: 'change settings of a webhook; what is not named stays',
      example: 'webhooks edit 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --event invoice_finalized',
      writes: true,
    }),
  )
    .option('--url <url>', 'https URL that receives notifications')
    .action((id: string, options: SettingsOptions) =>
      conclude(options, () =>
        ask(options, { method: 'PATCH', path: pathOf(id), body: settingsOf(options) }, (answer) =>
          registrationTable([answer as Registration]),
        ),
      ),
    );
}

/** The settings of spec 2.3; both spellings of a word that people try first. */
function withSettings(command: Command): Command {
  return command
    .option('--name <name>', 'descriptive name')
    .option('--event, --event-type <types>', 'event type; repeated or with commas (all three)', collectWords)
    .option('--tenant <tenant>', "tenant by name, id or the partner's own id; may be repeated (all)", collect)
    .option('--header <line>', '"Name: value" sent with every request; may be repeated', collect)
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

/** Path of a registration in the admin API. */
export function pathOf(registrationId: string): string {
  return `/registrations/${encodeURIComponent(registrationId)}`;
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
