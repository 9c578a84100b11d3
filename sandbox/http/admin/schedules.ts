import type { NewSchedule } from '../../billing/schedules.ts';
import { MOVED } from './invoices.ts';
import { brief, field, flag, grouped, mapOf, oneOf, operation, tenants, text, whole } from './operation.ts';

const COLUMNS = ['scheduleId', 'name', 'level', 'autoApprove', 'everySeconds', 'lastRunAt'];
const AN_ID = '0f6b2a3e-5f1c-4f4e-9a38-0a1d6a6a4a11';

const settings = {
  name: field(text, '--name <name>', 'its name'),
  everySeconds: field(
    { type: ['number', 'null'] },
    '--every <seconds>',
    'interval of automatic runs; without it, runs only on request',
  ),
  level: field(oneOf(['tenant', 'partner']), '--level <level>', 'level of its invoices'),
  tenants: field(tenants, '--tenant <tenant>', 'tenant; repeatable (all)', 'tenants'),
  autoApprove: field(
    flag,
    ['--auto-approve', '--no-auto-approve'],
    'take its invoices to APPROVED at once, or leave them in DRAFT',
  ),
  tenantOverrides: field(
    mapOf(flag),
    '--override <tenant=true|false>',
    'auto-approve of one tenant; repeatable',
    'switches',
  ),
  shipments: field(whole, '--shipments <number>', 'rows of each invoice'),
  enabled: field(flag, ['--enabled', '--no-enabled'], 'run automatically, or not'),
};

export const SCHEDULES = grouped('Schedules', [
  operation({
    route: 'GET /schedules',
    about: 'list billing schedules',
    command: 'schedules list',
    print: COLUMNS,
    run: ({ schedules }) => schedules.list(),
  }),
  operation<NewSchedule>({
    route: 'POST /schedules',
    about: 'create a billing schedule',
    body: settings,
    required: ['name'],
    status: 201,
    sample: { name: 'Weekly', everySeconds: 3600, autoApprove: true, shipments: 20 },
    command: 'schedules add',
    example: '--name weekly --auto-approve --override 000417=false',
    print: COLUMNS,
    run: ({ schedules }, { body }) => schedules.add(body),
  }),
  operation<Partial<NewSchedule>>({
    route: 'PATCH /schedules/:id',
    about: 'change settings of a billing schedule',
    body: settings,
    sample: { enabled: false },
    command: 'schedules edit <scheduleId>',
    example: `${AN_ID} --no-auto-approve`,
    print: COLUMNS,
    run: ({ schedules }, { id, body }) => schedules.edit(id, body),
  }),
  operation({
    route: 'POST /schedules/:id/run',
    about: 'generate its invoices now',
    command: 'schedules run <scheduleId>',
    example: AN_ID,
    print: MOVED,
    run: async ({ schedules }, { id }) => (await schedules.run(id)).map(brief),
  }),
  operation({
    route: 'DELETE /schedules/:id',
    about: 'delete a billing schedule; its invoices stay',
    status: 204,
    command: 'schedules delete <scheduleId>',
    example: `${AN_ID} --yes`,
    confirm: 'Delete the billing schedule {id}?',
    print: 'Deleted',
    run: ({ schedules }, { id }) => schedules.delete(id),
  }),
]);
