import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import type { CostFinding } from '../../finance/cost-alerts/find-costs.ts';
import { ALERT_NAMES, ALERTS, alertNameOf, runbookSection } from '../../lib/alerts/alert-names.ts';
import { acknowledgeAlerts, type OpenAlert, openAlerts, quietAlerts } from '../../lib/alerts/alert-store.ts';
import { durationMs, readDuration } from '../../lib/config/setting-values.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { userName } from '../../lib/runtime.ts';
import { USER_FILES } from '../../lib/user-store.ts';
import { CliError, EXIT } from '../errors.ts';
import { type Column, printable } from '../terminal/table.ts';
import { group, outputOf, type Run, seconds, type Verb, verb } from '../verb.ts';

export function command(): Command {
  return group('alerts', 'Shows open alerts, explains them, and records decisions about them.', [
    listCommand(),
    explainCommand(),
    acknowledgeCommand(),
    quietCommand(),
    costsCommand(),
  ]);
}

function listCommand(): Command {
  return verb(
    'list',
    'Lists the open alerts, newest first. Exit code 1 if one is neither informational nor acknowledged.',
    'billsync alerts list --json',
  )
    .ndjson()
    .run(async ({ settings, output }: Run) => {
      const alerts = (await openAlerts(settings.dataDir)).map(asJson);
      output.rows(alerts, COLUMNS, { empty: 'No alert is open.' });
      const isWaiting = alerts.some(
        ({ severity, acknowledged_at }) => severity !== 'info' && acknowledged_at === null,
      );
      if (isWaiting) process.exitCode = EXIT.checkFailed;
    });
}

function explainCommand(): Command {
  return verb(
    'explain <name>',
    'Explains an alert: its meaning, what to check first, how to fix it, and how to see that it is over.',
    'billsync alerts explain disk/full',
  )
    .json()
    .action((given: string, _flags: unknown, command: Command) => {
      const name = alertNameOf(given);
      if (name === null) {
        const known = [...ALERT_NAMES].sort().join(', ');
        throw new CliError(EXIT.nothingMatched, 'there is no such alert', {
          subject: given,
          hint: `the alerts are ${known}`,
        });
      }
      const text = runbookSection(name);
      outputOf(command).thing({ name, severity: ALERTS[name].severity, text }, () => `${text}\n`);
    });
}

interface WriteFlags {
  readonly all?: boolean;
  readonly note: string;
  readonly dryRun?: boolean;
}

function acknowledgeCommand(): Command {
  const command = verb(
    'acknowledge [key...]',
    'By key, or by the number of an invoice: records that a person works on an alert: its notice is not sent again while it lasts. An alert about ' +
      'a past event (a void after the load) ends when it is acknowledged.',
    'billsync alerts acknowledge disk/full --note "a larger one is ordered"',
  );
  return withWriteFlags(command).run((run: Run<WriteFlags>, keys: readonly string[]) =>
    decide(run, { keys, until: null }),
  );
}

function quietCommand(): Command {
  const command = verb(
    'quiet [key...]',
    'Silences alerts for a time; they stay on the list. `--for 0s` ends the silence.',
    'billsync alerts quiet temporal/away --for 2h --note "it moves to another machine"',
  ).requiredOption('--for <duration>', 'duration, such as 30m, 8h or 7d', duration);
  return withWriteFlags(command).run(
    (run: Run<WriteFlags & { readonly for: number }>, keys: readonly string[]) => {
      const until = new Date(Date.now() + run.flags.for).toISOString();
      return decide(run, { keys, until });
    },
  );
}

function withWriteFlags(command: Verb): Verb {
  return command
    .audited()
    .option('--all', 'all open alerts')
    .option('--note <text>', 'reason, listed with the alert', '')
    .option('--dry-run', 'show which alerts would change');
}

interface DecisionRequest {
  readonly keys: readonly string[];
  readonly until: string | null;
}

async function decide(
  { settings, output, flags }: Run<WriteFlags>,
  { keys, until }: DecisionRequest,
): Promise<void> {
  const hint = '`billsync alerts list` shows what is open';
  const isAll = flags.all === true;
  if (isAll === keys.length > 0) {
    throw new CliError(EXIT.usage, 'name the keys of alerts, or add --all', { hint });
  }
  const open = (await openAlerts(settings.dataDir)).map(({ key }) => String(key));
  if (open.length === 0) throw new CliError(EXIT.nothingMatched, 'no alert is open');
  const found = isAll ? [open] : await Promise.all(keys.map((key) => keysOf(key, open, settings)));
  const unknown = found.findIndex((some) => some.length === 0);
  if (unknown >= 0) {
    const subject = keys[unknown] ?? '';
    throw new CliError(EXIT.nothingMatched, 'no alert is open by that key', { subject, hint });
  }
  const chosen = [...new Set(found.flat())];
  const named = chosen.map(printable).join(', ');
  if (flags.dryRun === true) return output.note(`Would change: ${named}.`);
  const decision = { at: new Date().toISOString(), by: userName(), note: flags.note.trim() };
  if (until === null) await acknowledgeAlerts(settings.dataDir, chosen, decision);
  else await quietAlerts(settings.dataDir, chosen, { ...decision, until });
  output.note(`${until === null ? 'Acknowledged' : `Silenced until ${until}`}: ${named}.`);
}

/** @param given a key, a key whose id is the number of an invoice, or that number alone: all alerts of the invoice */
async function keysOf(
  given: string,
  open: readonly string[],
  settings: Settings,
): Promise<readonly string[]> {
  if (open.includes(given)) return [given];
  const { withPublishedIfAny: ifPublished } = await import('../published.ts');
  const [, name = null, number = given] = /^([a-z-]+)\/(.+)$/.exec(given) ?? [];
  const rows = await ifPublished(settings, (published) => published.query('invoice', { invoice: number }));
  const ids = (rows ?? []).map((row) => String(row.invoice_id));
  return open.filter((key) => {
    const id = ids.find((each) => key.endsWith(`/${each}`));
    return id !== undefined && (name === null || key === `${name}/${id}`);
  });
}

function duration(text: string): number {
  try {
    return durationMs(readDuration(text));
  } catch (error) {
    throw new InvalidArgumentError(`It ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function asJson({ key, title, detail, since, role, name, acknowledged, quieted }: OpenAlert) {
  return {
    ...{ since, severity: name === null ? null : ALERTS[name].severity, key, title, detail, role, name },
    acknowledged_at: acknowledged?.at ?? null,
    acknowledged_by: acknowledged?.by ?? null,
    note: acknowledged?.note ?? quieted?.note ?? null,
    quiet_until: quieted?.until ?? null,
  };
}

const COLUMNS: readonly Column<ReturnType<typeof asJson>>[] = [
  { title: 'since', value: ({ since }) => since },
  { title: 'severity', value: ({ severity }) => severity },
  { title: 'alert', value: ({ key }) => key },
  { title: 'title', value: ({ title }) => title },
  { title: 'detail', value: ({ detail }) => detail, canShrink: true },
  { title: 'acknowledged by', value: ({ acknowledged_by }) => acknowledged_by },
  { title: 'silenced until', value: ({ quiet_until }) => quiet_until },
];

function costsCommand(): Command {
  return verb(
    'costs',
    'Lists the current findings of the cost rules, including reported ones. Sends no alert. Exit code 1 if there are any.',
    'billsync alerts costs --rules new-rules.yaml',
  )
    .option('--rules <file>', 'another rules file, for example to test it')
    .option('--timeout <seconds>', 'stop a report after this time', seconds, 60)
    .ndjson()
    .run(async ({ settings, output, flags }: Run<CostFlags>) => {
      const [{ findCosts }, { parseCostRules, readCostRules }, { publishedPath }] = await Promise.all([
        import('../../finance/cost-alerts/find-costs.ts'),
        import('../../finance/cost-alerts/rules.ts'),
        import('../published.ts'),
      ]);
      const rules =
        flags.rules === undefined
          ? await readCostRules(settings.dataDir)
          : await parseCostRules({ path: flags.rules, text: await readFile(flags.rules, 'utf8') });
      if (rules === null)
        throw new CliError(EXIT.nothingMatched, `there is no file ${USER_FILES.costRules}`, {
          hint: 'docs/how-to/cost-alerts.md describes it',
        });
      const options = {
        databasePath: publishedPath(settings),
        now: new Date(),
        timeLimitMs: flags.timeout * 1000,
      };
      const found = [];
      for (const rule of rules) found.push(...(await findCosts(rule, options)));
      output.rows(found, COST_COLUMNS, { empty: `Nothing meets the ${rules.length} rules.` });
      if (found.length > 0) process.exitCode = EXIT.checkFailed;
    });
}

interface CostFlags {
  readonly rules?: string;
  readonly timeout: number;
}

const COST_COLUMNS: readonly Column<CostFinding>[] = [
  { title: 'rule', value: ({ rule }) => rule },
  { title: 'finding', value: ({ what }) => printable(what), canShrink: true },
];
