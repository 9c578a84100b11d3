import { Command } from 'commander';
import { OPERATIONS } from '../http/admin/operations.ts';
import { logsCommand } from './logs.ts';
import { operationCommand } from './operation-command.ts';
import { serveCommand } from './serve.ts';
import { EXIT } from './verb.ts';

const GROUPS: Readonly<Record<string, string>> = {
  tenants: "the partner's tenants",
  invoices: 'the invoices of the account',
  webhooks: 'webhook registrations',
  events: 'the events of this account, delivered or not',
  deliveries: 'the delivery log',
  schedules: 'billing schedules',
  fault: 'faults by name',
  'api-keys': 'API keys, which clients use instead of tokens',
};

export function sandboxCommand(): Command {
  const sandbox = new Command('sandbox')
    .description('run and control a local stand-in of the billing service')
    .addHelpText('after', '\nExample:\n  billsync sandbox serve --json')
    .addCommand(serveCommand());
  const groups = new Map<string, Command>();
  for (const operation of OPERATIONS) {
    const { command: name } = operation;
    if (name === undefined) continue;
    const [first = ''] = name.split(' ');
    groupOf(first, { sandbox, groups, example: name }).addCommand(operationCommand(name, operation));
  }
  sandbox.addCommand(logsCommand());
  exitAsConvention(sandbox);
  return sandbox;
}

function groupOf(
  name: string,
  { sandbox, groups, example }: { sandbox: Command; groups: Map<string, Command>; example: string },
): Command {
  const about = GROUPS[name];
  if (about === undefined) return sandbox;
  const found = groups.get(name);
  if (found !== undefined) return found;
  const group = new Command(name)
    .description(about)
    .addHelpText('after', `\nExample:\n  billsync sandbox ${example.replace(/ [<[].*/, '')}`);
  groups.set(name, group);
  sandbox.addCommand(group);
  return group;
}

/** Wrong usage exits with 2; commander's default is 1. */
function exitAsConvention(command: Command): void {
  command.exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT.usage));
  for (const below of command.commands) exitAsConvention(below);
}
