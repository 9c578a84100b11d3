import { type Command, Option } from 'commander';
import { collect, decimalNumber, given, pairs, path, wholeNumber } from './arguments.ts';
import { MOVED } from './invoices.ts';
import { group, type Options, verb } from './verb.ts';

const SCHEDULE = ['scheduleId', 'name', 'level', 'autoApprove', 'everySeconds', 'lastRunAt'];

export function schedulesCommand(): Command {
  const list = verb('list', {
    description: 'list billing schedules',
    example: 'schedules list',
    call: () => ({ method: 'GET', path: '/schedules' }),
    print: SCHEDULE,
  });
  const add = verb('add', {
    description: 'create a billing schedule',
    example: 'schedules add --name weekly --auto-approve --override 000417=false',
    writes: true,
    options: (command) => withSettings(command.requiredOption('--name <name>', 'its name')),
    call: (_, options) => ({ method: 'POST', path: '/schedules', body: bodyOf(options) }),
    print: SCHEDULE,
  });
  const edit = verb('edit <scheduleId>', {
    description: 'change settings of a billing schedule',
    example: 'schedules edit 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --no-auto-approve',
    writes: true,
    options: (command) =>
      withSettings(command.option('--name <name>', 'its name')).option(
        '--no-auto-approve',
        'leave invoices in DRAFT',
      ),
    call: (id, options) => ({ method: 'PATCH', path: path`/schedules/${id}`, body: bodyOf(options) }),
    print: SCHEDULE,
  });
  const run = verb('run <scheduleId>', {
    description: 'generate its invoices now',
    example: 'schedules run 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11',
    writes: true,
    call: (id) => ({ method: 'POST', path: path`/schedules/${id}/run` }),
    print: MOVED,
  });
  const remove = verb('delete <scheduleId>', {
    description: 'delete a billing schedule; its invoices stay',
    example: 'schedules delete 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --yes',
    writes: true,
    confirm: (id) => `Delete the billing schedule ${id}?`,
    call: (id) => ({ method: 'DELETE', path: path`/schedules/${id}` }),
    print: () => ['Deleted'],
  });
  return group('schedules', 'billing schedules', [list, add, edit, run, remove]);
}

function withSettings(command: Command): Command {
  return command
    .option(
      '--every <seconds>',
      'interval of automatic runs; without it, runs only on request',
      decimalNumber,
    )
    .addOption(new Option('--level <level>', 'level of its invoices').choices(['tenant', 'partner']))
    .option('--tenant <tenant>', 'tenant; repeatable (all)', collect)
    .option('--auto-approve', 'take its invoices to APPROVED at once')
    .option('--override <tenant=true|false>', 'auto-approve of one tenant; repeatable', collect)
    .option('--shipments <number>', 'rows of each invoice', wholeNumber)
    .option('--enabled', 'run automatically')
    .option('--no-enabled', 'do not run automatically');
}

function bodyOf(options: Options): Record<string, unknown> {
  const overrides = Object.entries(pairs(options.override)).map(([tenant, on]) => [tenant, on === 'true']);
  return given({
    name: options.name,
    everySeconds: options.every,
    level: options.level,
    tenants: options.tenant,
    autoApprove: options.autoApprove,
    tenantOverrides: options.override === undefined ? undefined : Object.fromEntries(overrides),
    shipments: options.shipments,
    enabled: options.enabled,
  });
}
