/** `billsync alerts`: what is wrong now, and what to do about it. */

import { join } from 'node:path';
import type { Command } from 'commander';
import { type OpenAlert, openAlerts } from '../../ops/alerts.js';
import { ALERT_NAMES, alertNameOf, RUNBOOK } from '../../ops/runbook/runbook.js';
import { checkEnvironment } from '../environment-check.js';
import { CliError, EXIT } from '../errors.js';
import type { Column } from '../terminal/render-table.js';
import { contextOf, group, outputOf, verb, withJson } from '../verb.js';

export function alertsCommand(): Command {
  return group('alerts', 'Alerts that are not over, and what to do about them.', [
    listCommand(),
    explainCommand(),
  ]);
}

function listCommand(): Command {
  const command = verb(
    'list',
    'Lists the alerts that are not over, newest first. Exit code 1 when there are any besides those that only tell something.',
    'billsync alerts list --json',
  );
  return withJson(command, { ndjson: true }).action(async (_flags: unknown, command: Command) => {
    const { settings, output } = contextOf(command);
    await checkEnvironment(settings);
    const alerts = (await openAlerts(join(settings.dataDir, 'run'))).map(asJson);
    output.rows(alerts, COLUMNS, { empty: 'No alert is open.' });
    if (alerts.some(({ severity }) => severity !== 'info')) process.exitCode = EXIT.checkFailed;
  });
}

function explainCommand(): Command {
  const command = verb(
    'explain <name>',
    'Says what an alert means, where to look first, how to mend it and how one sees that it is over.',
    'billsync alerts explain disk/full',
  );
  return withJson(command).action((given: string, _flags: unknown, command: Command) => {
    const name = alertNameOf(given);
    if (name === null) {
      const known = [...ALERT_NAMES].sort().join(', ');
      throw new CliError(EXIT.nothingMatched, 'there is no such alert', {
        subject: given,
        hint: `there are ${known}`,
      });
    }
    const { severity, meaning, firstLook, cure, proof } = RUNBOOK[name];
    const lines = [
      `${name} (${severity})\n${meaning}`,
      `First look:\n${listed(firstLook)}`,
      `Cure:\n${listed(cure)}`,
      `Proof: ${proof}`,
    ];
    outputOf(command).thing(
      { name, severity, meaning, first_look: firstLook, cure, proof },
      () => `${lines.join('\n\n')}\n`,
    );
  });
}

function listed(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

function asJson({ key, title, detail, since, role, name }: OpenAlert) {
  return { since, severity: name === null ? null : RUNBOOK[name].severity, key, title, detail, role, name };
}

const COLUMNS: readonly Column<ReturnType<typeof asJson>>[] = [
  { title: 'since', value: ({ since }) => since },
  { title: 'severity', value: ({ severity }) => severity },
  { title: 'alert', value: ({ key }) => key },
  { title: 'what', value: ({ title }) => title },
  { title: 'detail', value: ({ detail }) => detail, canShrink: true },
];
