/** Commands for the sandbox as a whole: activity, seeding, reset, API keys. */
import type { Command } from 'commander';
import type { ApiKey } from '../model.ts';
import type { ActivityLine } from '../state/activity.ts';
import { group } from './invoices.ts';
import {
  AdminClient,
  ask,
  conclude,
  confirm,
  print,
  snakeKeys,
  table,
  type VerbOptions,
  verb,
} from './verb.ts';
import { given, wholeNumber } from './words.ts';

interface LogsOptions extends VerbOptions {
  readonly follow?: boolean;
  readonly ndjson?: boolean;
}

export function logsCommand(): Command {
  return verb('logs', {
    description: 'what happened: calls, events, deliveries, faults',
    example: 'logs --follow',
  })
    .option('--follow', 'go on until Ctrl-C')
    .option('--ndjson', 'print one JSON object a line')
    .action((options: LogsOptions) => conclude(options, () => logs(options)));
}

async function logs(options: LogsOptions): Promise<void> {
  const say = (line: ActivityLine) =>
    options.ndjson === true
      ? JSON.stringify(snakeKeys(line))
      : `${line.at}  ${line.kind.padEnd(8)}  ${line.message}`;
  if (options.follow !== true) {
    return ask(options, { method: 'GET', path: '/activity' }, (answer) =>
      (answer as ActivityLine[]).map(say),
    );
  }
  const client = new AdminClient(options);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  try {
    for await (const line of client.lines('/activity/follow', stop.signal)) {
      print([say(JSON.parse(line) as ActivityLine)]);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    await client.close();
  }
}

interface Seeded {
  readonly invoices?: number;
  readonly months?: number;
  readonly shipments?: number;
}

export function seedCommand(): Command {
  return verb('seed', {
    description: 'generate invoices of every tenant in every status',
    example: 'seed --invoices 30 --shipments 100\n  billsync sandbox seed --months 12',
    writes: true,
  })
    .option('--invoices <number>', 'how many (12)', wholeNumber)
    .option(
      '--months <number>',
      'one for each tenant and month instead, with duplicates, outliers, a price increase, re-bills and the like planted',
      wholeNumber,
    )
    .option('--shipments <number>', 'rows of each (25; 40 with --months)', wholeNumber)
    .action(({ invoices, months, shipments, ...options }: VerbOptions & Seeded) =>
      ask(
        options,
        { method: 'POST', path: '/seed', body: given({ invoices, months, shipments }) },
        (answer) => [`Generated ${(answer as { invoices: number }).invoices} invoices`],
      ),
    );
}

export function resetCommand(): Command {
  return verb('reset', {
    description: 'forget invoices, events, deliveries, webhooks, schedules and faults',
    example: 'reset --yes',
    writes: true,
    destroys: true,
  }).action((options: VerbOptions) =>
    conclude(options, async () => {
      await confirm(options, 'Forget everything but credentials and tenants?');
      await ask(options, { method: 'POST', path: '/reset' }, () => ['The sandbox is as new']);
    }),
  );
}

export function apiKeysCommand(): Command {
  const list = verb('list', { description: 'list API keys', example: 'api-keys list' }).action(
    (options: VerbOptions) =>
      ask(options, { method: 'GET', path: '/api-keys' }, (answer) => keyTable(answer as readonly ApiKey[])),
  );
  const add = verb('add <name>', {
    description: 'create an API key',
    example: 'api-keys add nightly',
    writes: true,
  }).action((name: string, options: VerbOptions) =>
    ask(options, { method: 'POST', path: '/api-keys', body: { name } }, (answer) =>
      keyTable([answer as ApiKey]),
    ),
  );
  const deactivate = verb('deactivate <keyId>', {
    description: 'deactivate an API key for good',
    example: 'api-keys deactivate key-1 --yes',
    writes: true,
    destroys: true,
  }).action((keyId: string, options: VerbOptions) =>
    conclude(options, async () => {
      await confirm(options, `Deactivate ${keyId}?`);
      const path = `/api-keys/${encodeURIComponent(keyId)}/deactivate`;
      await ask(options, { method: 'POST', path }, (answer) => keyTable([answer as ApiKey]));
    }),
  );
  return group('api-keys', 'keys that are used instead of tokens', [list, add, deactivate]);
}

export function revokeTokensCommand(): Command {
  return verb('revoke-tokens', {
    description: 'make every access token issued so far invalid',
    example: 'revoke-tokens',
    writes: true,
  }).action((options: VerbOptions) =>
    ask(options, { method: 'POST', path: '/revoke-tokens' }, () => ['No token issued so far works any more']),
  );
}

function keyTable(keys: readonly ApiKey[]): string[] {
  return table(
    ['KEY ID', 'NAME', 'STATUS', 'KEY'],
    keys.map((one) => [one.keyId, one.name, one.active ? 'active' : 'deactivated', one.key]),
  );
}
