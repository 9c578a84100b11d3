/** `billsync audit`: what people changed, by a command or from the dashboard, and whether that record is whole. */

import type { Command } from 'commander';
import type { AuditEntry } from '../../lib/audit-log.ts';
import { auditFolder, auditLogOf } from '../audited-commands.ts';
import { CliError, EXIT } from '../errors.ts';
import { counted } from '../terminal/output.ts';
import { printable } from '../terminal/table.ts';
import { checkEnvironment, contextOf, group, positiveInteger, verb, withJson } from '../verb.ts';

export function auditCommand(): Command {
  return group('audit', 'Who changed what, when and why, by a command or from the dashboard.', [
    listCommand(),
    verifyCommand(),
  ]);
}

function listCommand(): Command {
  const command = verb('list', 'Lists what was done, newest first.', 'billsync audit list --limit 20').option(
    '--limit <number>',
    'at most this many entries',
    positiveInteger,
    100,
  );
  return withJson(command, { ndjson: true }).action(
    async ({ limit }: { readonly limit: number }, command: Command) => {
      const { settings, output } = contextOf(command);
      await checkEnvironment(settings);
      const entries = await (await auditLogOf(settings)).newest(limit);
      const empty = 'Nothing was changed by a person yet.';
      output.rows(entries.map(asJson), COLUMNS, { empty });
    },
  );
}

const COLUMNS = [
  { title: 'number', value: (row: Printed) => row.number, align: 'right' },
  { title: 'at', value: (row: Printed) => row.at.slice(0, 19).replace('T', ' ') },
  { title: 'by', value: (row: Printed) => row.by },
  { title: 'via', value: (row: Printed) => row.via },
  { title: 'action', value: (row: Printed) => row.action },
  { title: 'outcome', value: (row: Printed) => row.outcome },
  { title: 'target', value: (row: Printed) => row.target.join(', '), canShrink: true },
  { title: 'why', value: (row: Printed) => row.reason, canShrink: true },
  { title: 'what came of it', value: (row: Printed) => row.detail, canShrink: true },
] as const;

function asJson({ number, at, by, via, action, outcome, target, reason, detail, began }: AuditEntry) {
  return { number, at, by, via, action, outcome, target, reason, detail, began };
}

type Printed = ReturnType<typeof asJson>;

function verifyCommand(): Command {
  const command = verb(
    'verify',
    'Proves that no entry was changed, removed or inserted; exit 1 when one was. What was cut off at the end ' +
      'shows only against a hash that was kept elsewhere.',
    'billsync audit verify --json\nbillsync audit verify --known 5f0c…',
  ).option('--known <hash>', 'hash of the newest entry, as an earlier verify printed it');
  return withJson(command).action(async (flags: { readonly known?: string }, command: Command) => {
    const { settings, output } = contextOf(command);
    await checkEnvironment(settings);
    const verdict = await (await auditLogOf(settings)).verify(flags.known ?? null);
    output.thing(verdict, () =>
      [
        `${counted(verdict.entries, 'entry', 'entries')}, newest ${verdict.head ?? 'none'}`,
        ...(verdict.unfinished === 0
          ? []
          : [`${counted(verdict.unfinished, 'line')} of a process that was ended while it wrote: no entry`]),
        ...verdict.problems.map((problem) => printable(problem)),
      ].join('\n'),
    );
    if (verdict.problems.length === 0) return;
    throw new CliError(EXIT.checkFailed, 'the audit log is not what was written', {
      subject: auditFolder(settings),
      hint: 'compare it with a backup; every user who can write to the data folder can do this',
    });
  });
}
