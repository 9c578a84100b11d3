import { Command } from 'commander';
import {
  apiKeysCommand,
  connectionCommand,
  eventsCommand,
  revokeTokensCommand,
  statusCommand,
  tenantsCommand,
} from './account.ts';
import { logsCommand, resetCommand, seedCommand } from './data.ts';
import { deliveriesCommand, resendCommand, testEventCommand } from './deliveries.ts';
import { faultCommand } from './faults.ts';
import { invoicesCommand, moveCommands, triggerCommand } from './invoices.ts';
import { schedulesCommand } from './schedules.ts';
import { serveCommand } from './serve.ts';
import { EXIT } from './verb.ts';
import { webhooksCommand } from './webhooks.ts';

export function sandboxCommand(): Command {
  const sandbox = new Command('sandbox')
    .description('run and control a local stand-in of the billing service')
    .addHelpText('after', '\nExample:\n  billsync sandbox serve --json');
  const verbs = [
    serveCommand(),
    connectionCommand(),
    statusCommand(),
    tenantsCommand(),
    triggerCommand(),
    ...moveCommands(),
    invoicesCommand(),
    webhooksCommand(),
    testEventCommand(),
    eventsCommand(),
    resendCommand(),
    deliveriesCommand(),
    schedulesCommand(),
    faultCommand(),
    logsCommand(),
    seedCommand(),
    resetCommand(),
    apiKeysCommand(),
    revokeTokensCommand(),
  ];
  for (const verb of verbs) sandbox.addCommand(verb);
  exitAsConvention(sandbox);
  return sandbox;
}

/** Wrong usage exits with 2; commander's default is 1. */
function exitAsConvention(command: Command): void {
  command.exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT.usage));
  for (const below of command.commands) exitAsConvention(below);
}
