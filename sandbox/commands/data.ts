import type { Command } from 'commander';
import type { ActivityLine } from '../state/activity.ts';
import { given, wholeNumber } from './arguments.ts';
import {
  AdminClient,
  conclude,
  print,
  printJson,
  snakeKeys,
  type VerbOptions,
  verb,
  verbCommand,
} from './verb.ts';

interface LogsOptions extends VerbOptions {
  readonly follow?: boolean;
  readonly ndjson?: boolean;
}

export function logsCommand(): Command {
  return verbCommand('logs', {
    description: 'print the activity: calls, events, deliveries, faults',
    example: 'logs --follow',
  })
    .option('--follow', 'continue until Ctrl-C')
    .option('--ndjson', 'print one JSON object a line')
    .action((options: LogsOptions) => conclude(options, () => logs(options)));
}

async function logs(options: LogsOptions): Promise<void> {
  const lineOf = (line: ActivityLine) =>
    options.ndjson === true
      ? JSON.stringify(snakeKeys(line))
      : `${line.at}  ${line.kind.padEnd(8)}  ${line.message}`;
  const client = new AdminClient(options);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  try {
    if (options.follow !== true) {
      const activity = (await client.call({ method: 'GET', path: '/activity' })) as ActivityLine[];
      if (options.json === true) printJson(activity);
      else print(activity.map(lineOf));
      return;
    }
    for await (const line of client.lines('/activity/follow', stop.signal)) {
      print([lineOf(JSON.parse(line) as ActivityLine)]);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    await client.close();
  }
}

interface SeedOptions extends VerbOptions {
  readonly invoices?: number;
  readonly months?: number;
  readonly shipments?: number;
}

export function seedCommand(): Command {
  return verb<SeedOptions>('seed', {
    description: 'generate invoices of every tenant in every status',
    example: 'seed --invoices 30 --shipments 100\n  billsync sandbox seed --months 12',
    writes: true,
    options: (command) =>
      command
        .option('--invoices <number>', 'number of invoices (12)', wholeNumber)
        .option(
          '--months <number>',
          'instead, one invoice for each tenant and month, with duplicates, outliers, a price increase, re-bills and other findings planted',
          wholeNumber,
        )
        .option('--shipments <number>', 'rows of each invoice (25; 40 with --months)', wholeNumber),
    call: (_, { invoices, months, shipments }) => ({
      method: 'POST',
      path: '/seed',
      body: given({ invoices, months, shipments }),
    }),
    lines: (answer) => [`Generated ${(answer as { invoices: number }).invoices} invoices`],
  });
}

export function resetCommand(): Command {
  return verb('reset', {
    description: 'remove invoices, events, deliveries, webhooks, schedules and faults',
    example: 'reset --yes',
    writes: true,
    confirm: () => 'Remove everything but credentials and tenants?',
    call: () => ({ method: 'POST', path: '/reset' }),
    lines: () => ['The sandbox is reset'],
  });
}
