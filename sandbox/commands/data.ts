import { setTimeout as sleep } from 'node:timers/promises';
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

const POLL_MS = 500;

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

async function logs({ follow, ndjson, ...options }: LogsOptions): Promise<void> {
  const client = new AdminClient(options);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
  const linesAfter = (sequence: number) =>
    client.call({ method: 'GET', path: `/activity?after=${sequence}` }) as Promise<ActivityLine[]>;
  const show = (lines: readonly ActivityLine[]) =>
    print(lines.map((line) => (ndjson === true ? JSON.stringify(snakeKeys(line)) : lineOf(line))));
  try {
    const earlier = await linesAfter(0);
    if (follow !== true) return options.json === true ? printJson(earlier) : show(earlier);
    for (let last = earlier.at(-1); ; ) {
      await sleep(POLL_MS, undefined, { signal: stop.signal });
      const lines = await linesAfter(last?.sequence ?? 0);
      show(lines);
      last = lines.at(-1) ?? last;
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    await client.close();
  }
}

function lineOf({ at, kind, message }: ActivityLine): string {
  return `${at}  ${kind.padEnd(8)}  ${message}`;
}

export function seedCommand(): Command {
  return verb('seed', {
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
    print: (answer) => [`Generated ${(answer as { invoices: number }).invoices} invoices`],
  });
}

export function resetCommand(): Command {
  return verb('reset', {
    description: 'remove invoices, events, deliveries, webhooks, schedules and faults',
    example: 'reset --yes',
    writes: true,
    confirm: () => 'Remove everything but credentials and tenants?',
    call: () => ({ method: 'POST', path: '/reset' }),
    print: () => ['The sandbox is reset'],
  });
}
