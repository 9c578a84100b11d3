/** Commands for billing schedules. */
import { type Command, Option } from 'commander';
import type { Invoice, Schedule } from '../model.ts';
import { group } from './invoices.ts';
import { ask, conclude, confirm, table, type VerbOptions, verb } from './verb.ts';
import { collect, decimalNumber, given, pairs, wholeNumber } from './words.ts';

interface ScheduleOptions extends VerbOptions {
  readonly name?: string;
  readonly every?: number;
  readonly level?: string;
  readonly tenant?: readonly string[];
  readonly autoApprove?: boolean;
  readonly override?: readonly string[];
  readonly shipments?: number;
  readonly enabled?: boolean;
}

export function schedulesCommand(): Command {
  const list = verb('list', { description: 'list billing schedules', example: 'schedules list' }).action(
    (options: VerbOptions) =>
      ask(options, { method: 'GET', path: '/schedules' }, (answer) =>
        scheduleTable(answer as readonly Schedule[]),
      ),
  );
  const run = verb('run <scheduleId>', {
    description: 'generate its invoices now',
    example: 'schedules run 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11',
    writes: true,
  }).action((id: string, options: VerbOptions) =>
    ask(options, { method: 'POST', path: `${pathOf(id)}/run` }, (answer) =>
      (answer as readonly Invoice[]).map((one) => `${one.invoiceId}  ${one.invoiceNumber}  ${one.status}`),
    ),
  );
  const remove = verb('delete <scheduleId>', {
    description: 'delete a billing schedule; its invoices stay',
    example: 'schedules delete 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --yes',
    writes: true,
    destroys: true,
  }).action((id: string, options: VerbOptions) =>
    conclude(options, async () => {
      await confirm(options, `Delete the billing schedule ${id}?`);
      await ask(options, { method: 'DELETE', path: pathOf(id) }, () => [`Deleted ${id}`]);
    }),
  );
  return group('schedules', 'billing schedules', [list, addCommand(), editCommand(), run, remove]);
}

function addCommand(): Command {
  return withSettings(
    verb('add', {
      description: 'create a billing schedule',
      example: 'schedules add --name weekly --auto-approve --override 000417=false',
      writes: true,
    }).requiredOption('--name <name>', 'its name'),
  ).action((options: ScheduleOptions) =>
    conclude(options, () =>
      ask(options, { method: 'POST', path: '/schedules', body: bodyOf(options) }, (answer) =>
        scheduleTable([answer as Schedule]),
      ),
    ),
  );
}

function editCommand(): Command {
  return withSettings(
    verb('edit <scheduleId>', {
      description: 'change settings of a billing schedule',
      example: 'schedules edit 0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11 --no-auto-approve',
      writes: true,
    }).option('--name <name>', 'its name'),
  )
    .option('--no-auto-approve', 'leave invoices in DRAFT')
    .action((id: string, options: ScheduleOptions) =>
      conclude(options, () =>
        ask(options, { method: 'PATCH', path: pathOf(id), body: bodyOf(options) }, (answer) =>
          scheduleTable([answer as Schedule]),
        ),
      ),
    );
}

function withSettings(command: Command): Command {
  return command
    .option(
      '--every <seconds>',
      'run automatically, this often; without it only when asked to',
      decimalNumber,
    )
    .addOption(new Option('--level <level>', 'what it generates').choices(['tenant', 'partner']))
    .option('--tenant <tenant>', 'tenant; may be repeated (all)', collect)
    .option('--auto-approve', 'take its invoices to APPROVED at once')
    .option('--override <tenant=true|false>', 'auto-approve of one tenant; may be repeated', collect)
    .option('--shipments <number>', 'rows of each invoice', wholeNumber)
    .option('--enabled', 'run automatically')
    .option('--no-enabled', 'do not run automatically');
}

function bodyOf(options: ScheduleOptions): Record<string, unknown> {
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

function pathOf(scheduleId: string): string {
  return `/schedules/${encodeURIComponent(scheduleId)}`;
}

function scheduleTable(schedules: readonly Schedule[]): string[] {
  return table(
    ['SCHEDULE ID', 'NAME', 'LEVEL', 'AUTO-APPROVE', 'EVERY', 'LAST RUN'],
    schedules.map((one) => [
      one.scheduleId,
      one.name,
      one.level,
      one.autoApprove ? 'yes' : 'no',
      one.everySeconds === null ? 'when asked' : `${one.everySeconds} s`,
      one.lastRunAt,
    ]),
  );
}
