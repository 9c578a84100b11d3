import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { type Hold, readRetention } from '../../archive/retention.ts';
import { userName } from '../../lib/runtime.ts';
import { uuidOrNull } from '../../lib/text.ts';
import { CliError, EXIT } from '../errors.ts';
import { type Column, printable } from '../terminal/table.ts';
import { group, type Run, verb } from '../verb.ts';
import { withArchive } from '../with-temporal.ts';

export function command(): Command {
  return group('hold', 'Exempts data from purges, for a dispute, an audit or a court case.', [
    listCommand(),
    addCommand(),
    liftCommand(),
  ]);
}

interface Flags {
  readonly invoice?: string;
  readonly tenant?: string;
  readonly all?: boolean;
  readonly reason: string;
  readonly dryRun?: boolean;
}

function listCommand(): Command {
  return verb('list', 'Lists the holds in force, oldest first.', 'billsync hold list --json')
    .ndjson()
    .run(async ({ settings, output }: Run) => {
      const { holds } = await withArchive(settings, readRetention);
      output.rows(holds.map(asJson), COLUMNS, { empty: 'Nothing is on hold.' });
    });
}

function addCommand(): Command {
  return verb(
    'add',
    'Exempts an invoice, a tenant or all data from purges until the hold is lifted.',
    'billsync hold add --tenant T-1 --reason "case 2026/17"',
  )
    .option('--invoice <id>', 'this invoice')
    .option('--tenant <id>', "all data of this tenant, by the service's or the partner's id")
    .option('--all', 'all data')
    .requiredOption('--reason <text>', 'reason; stored in the archive and in the audit log')
    .option('--dry-run', 'show what would be held')
    .json()
    .audited()
    .run(async ({ settings, output, flags }: Run<Flags>) => {
      const hold: Hold = {
        ...{ kind: 'hold', at: new Date().toISOString(), holdId: `h-${randomBytes(6).toString('hex')}` },
        ...{ ...scopeOf(flags), by: userName(), reason: flags.reason },
      };
      const scope = `${hold.scope} ${hold.subject}`.trim();
      if (flags.dryRun === true) return output.note(`Would hold: ${printable(scope)}.`);
      await withArchive(settings, (archive) => archive.putFact(hold));
      output.thing(asJson(hold), () => hold.holdId);
      output.note(`On hold: ${printable(scope)}. \`billsync hold lift ${hold.holdId}\` ends it.`);
    });
}

function scopeOf({ invoice, tenant, all }: Flags): Pick<Hold, 'scope' | 'subject'> {
  const named: Pick<Hold, 'scope' | 'subject'>[] = [];
  if (invoice !== undefined) named.push({ scope: 'invoice', subject: invoice });
  if (tenant !== undefined) named.push({ scope: 'tenant', subject: tenant });
  if (all === true) named.push({ scope: 'all', subject: '' });
  const [scope] = named;
  if (scope === undefined || named.length > 1) {
    throw new CliError(EXIT.usage, 'a hold needs one scope', {
      hint: 'add one of --invoice, --tenant and --all',
    });
  }
  if (scope.scope === 'invoice' && uuidOrNull(scope.subject) === null) {
    throw new CliError(EXIT.usage, 'this is not an invoice id', {
      subject: scope.subject,
      hint: '`billsync invoices list` shows ids; the number of an invoice is not its id',
    });
  }
  return scope;
}

function liftCommand(): Command {
  return verb('lift <id>', 'Ends a hold.', 'billsync hold lift h-0123456789ab --reason "case closed"')
    .requiredOption('--reason <text>', 'reason; stored in the archive and in the audit log')
    .option('--dry-run', 'show what would be lifted')
    .audited()
    .run(async ({ settings, output, flags }: Run<Flags>, holdId: string) => {
      await withArchive(settings, async (archive) => {
        const { holds } = await readRetention(archive);
        if (!holds.some((hold) => hold.holdId === holdId)) {
          throw new CliError(EXIT.nothingMatched, `there is no hold ${printable(holdId)}`, {
            hint: '`billsync hold list` shows all holds',
          });
        }
        if (flags.dryRun === true) return output.note(`Would lift ${holdId}.`);
        const { reason } = flags;
        const at = new Date().toISOString();
        await archive.putFact({ kind: 'hold-lifted', at, holdId, by: userName(), reason });
        output.note(`Lifted ${holdId}.`);
      });
    });
}

function asJson({ holdId, at, scope, subject, by, reason }: Hold) {
  return { hold_id: holdId, since: at, scope, subject, by, reason };
}

const COLUMNS: readonly Column<ReturnType<typeof asJson>>[] = [
  { title: 'id', value: ({ hold_id }) => hold_id },
  { title: 'since', value: ({ since }) => since.slice(0, 16).replace('T', ' ') },
  { title: 'scope', value: ({ scope }) => scope },
  { title: 'subject', value: ({ subject }) => subject },
  { title: 'by', value: ({ by }) => by },
  { title: 'reason', value: ({ reason }) => reason, canShrink: true },
];
