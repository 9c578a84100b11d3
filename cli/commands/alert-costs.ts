/** `billsync alerts costs`: what meets the cost rules now, told to nobody but who asks. */

import type { Command } from 'commander';
import type { CostFinding } from '../../finance/cost-alerts/find-costs.ts';
import { checkEnvironment } from '../environment-check.ts';
import { CliError, EXIT } from '../errors.ts';
import type { Column } from '../terminal/render-table.ts';
import { printable } from '../terminal/terminal-text.ts';
import { contextOf, seconds, verb, withJson } from '../verb.ts';

export function costsCommand(): Command {
  const command = verb(
    'costs',
    'Lists what meets a rule of cost-rules.yaml now, reported before or not. Sends nothing. Exit code 1 when there is anything.',
    'billsync alerts costs --rules draft.yaml',
  );
  command
    .option('--rules <file>', 'another rules file, to try it out first')
    .option('--timeout <seconds>', 'stop a report after so long', seconds, 60);
  return withJson(command, { ndjson: true }).action(async (flags: CostFlags, command: Command) => {
    const { settings, output } = contextOf(command);
    await checkEnvironment(settings);
    const [{ findCosts }, { readCostRules }, { costPaths }, { publishedPath }] = await Promise.all([
      import('../../finance/cost-alerts/find-costs.ts'),
      import('../../finance/cost-alerts/rules.ts'),
      import('../../finance/cost-alerts/watch-costs.ts'),
      import('../published.ts'),
    ]);
    const path = flags.rules ?? costPaths(settings.dataDir).rulesPath;
    const rules = await readCostRules(path);
    if (rules === null)
      throw new CliError(EXIT.nothingMatched, `there is no file of cost rules: ${printable(path)}`, {
        hint: 'docs/how-to/cost-alerts.md shows what it may say',
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
