import type { Command } from 'commander';
import type { AuditEntry } from '../../lib/audit-log.ts';
import { USER_FILES, userStore } from '../../lib/user-store.ts';
import { auditLogOf } from '../audited-commands.ts';
import { CliError, EXIT } from '../errors.ts';
import { counted } from '../terminal/output.ts';
import { printable } from '../terminal/table.ts';
import { group, positiveInteger, type Run, verb } from '../verb.ts';

export function command(): Command {
  return group('audit', 'Shows and verifies the audit log of changes by commands and from the dashboard.', [
    listCommand(),
    verifyCommand(),
  ]);
}

function listCommand(): Command {
  return verb('list', 'Lists entries, newest first.', 'billsync audit list --limit 20')
    .option('--limit <number>', 'maximum number of entries', positiveInteger, 100)
    .ndjson()
    .run(async ({ settings, output, flags }: Run<{ readonly limit: number }>) => {
      const entries = await (await auditLogOf(settings)).newest(flags.limit);
      output.rows(entries.map(asJson), COLUMNS, { empty: 'The audit log is empty.' });
    });
}

const COLUMNS = [
  { title: 'number', value: (row: Printed) => row.number, align: 'right' },
  { title: 'at', value: (row: Printed) => row.at.slice(0, 19).replace('T', ' ') },
  { title: 'by', value: (row: Printed) => row.by },
  { title: 'via', value: (row: Printed) => row.via },
  { title: 'action', value: (row: Printed) => row.action },
  { title: 'outcome', value: (row: Printed) => row.outcome },
  { title: 'target', value: (row: Printed) => row.target.join(', '), canShrink: true },
  { title: 'reason', value: (row: Printed) => row.reason, canShrink: true },
  { title: 'result', value: (row: Printed) => row.detail, canShrink: true },
] as const;

function asJson({ number, at, by, via, action, outcome, target, reason, detail, began }: AuditEntry) {
  return { number, at, by, via, action, outcome, target, reason, detail, began };
}

type Printed = ReturnType<typeof asJson>;

function verifyCommand(): Command {
  return verb(
    'verify',
    'Verifies that no entry was changed, removed or inserted; exit 1 otherwise. Entries removed from the end ' +
      'are detected only with --known.',
    'billsync audit verify --json\nbillsync audit verify --known 5f0c…',
  )
    .option('--known <hash>', 'hash of the newest entry, from an earlier verify')
    .json()
    .run(async ({ settings, output, flags }: Run<{ readonly known?: string }>) => {
      const verdict = await (await auditLogOf(settings)).verify(flags.known ?? null);
      output.thing(verdict, () =>
        [
          `${counted(verdict.entries, 'entry', 'entries')}, newest ${verdict.head ?? 'none'}`,
          ...verdict.problems.map((problem) => printable(problem)),
        ].join('\n'),
      );
      if (verdict.problems.length === 0) return;
      throw new CliError(EXIT.checkFailed, 'the audit log was changed', {
        subject: (await userStore(settings.dataDir)).place(USER_FILES.audit),
        hint: 'compare the audit log with a backup; any user with write access to the log can change it',
      });
    });
}
