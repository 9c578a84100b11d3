import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { ActivityLine } from '../state/activity.ts';
import { AdminClient, conclude, print, printJson, snakeKeys, type VerbOptions, verbCommand } from './verb.ts';

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
