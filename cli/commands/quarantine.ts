import type { Command } from 'commander';
import type { Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import type { Quarantine, QuarantinedItem } from '../../lib/quarantine.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { CliError, EXIT } from '../errors.ts';
import { confirm } from '../terminal/interaction.ts';
import { type Column, paint, printable, renderTable } from '../terminal/table.ts';
import { group, type Run, verb } from '../verb.ts';
import { withArchive } from '../with-temporal.ts';

export function command(): Command {
  return group('quarantine', 'Shows refused deliveries and files, and requeues or discards them.', [
    listCommand(),
    showCommand(),
    requeueCommand(),
    discardCommand(),
  ]);
}

function open(settings: Settings): Promise<Quarantine> {
  return openQuarantine(dataFolder(settings.dataDir).quarantine);
}

function listCommand(): Command {
  return verb(
    'list',
    'Lists refused items, oldest first. An unreadable record of the archive is not in quarantine: `billsync verify` ' +
      'lists it as record-set-aside.',
    'billsync quarantine list --json',
  )
    .ndjson()
    .run(async ({ settings, output }: Run) => {
      const items = await (await open(settings)).list();
      output.rows(items.map(asJson), COLUMNS, { empty: 'Nothing is in quarantine.' });
    });
}

function showCommand(): Command {
  return verb(
    'show <id>',
    'Shows a refused item: the findings of a file with line, column, rule and value, or the body of a delivery.',
    'billsync quarantine show f-0123456789abcdef',
  )
    .json()
    .run(async ({ settings, output }: Run, id: string) => {
      const { item, body } = await find(await open(settings), id);
      const bodyText = body === null ? null : Buffer.from(body).toString('utf8');
      output.thing({ ...asJson(item), findings: item.findings, body: bodyText }, () =>
        describe(item, bodyText),
      );
    });
}

interface WriteFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly note?: string;
}

function requeueCommand(): Command {
  return verb(
    'requeue <id...>',
    'Processes refused items again, after the cause was fixed.',
    'billsync quarantine requeue d-0123456789abcdef --dry-run',
  )
    .option('--dry-run', 'show what would be retried')
    .audited()
    .run(async ({ settings, output, flags }: Run<WriteFlags>, ids: readonly string[]) => {
      const quarantine = await open(settings);
      for (const id of ids) await find(quarantine, id);
      if (flags.dryRun === true) return output.note(`Would retry: ${ids.join(', ')}.`);
      const { requeue } = await import('../requeue.ts');
      for (const line of await requeue({ settings, quarantine, ids })) output.note(line);
    });
}

function discardCommand(): Command {
  return verb(
    'discard <id...>',
    'Deletes refused items permanently. User and reason are kept in the archive.',
    'billsync quarantine discard d-0123456789abcdef --note "a test of ours" --yes',
  )
    .option('--note <text>', 'the reason', '')
    .option('--dry-run', 'show what would be discarded')
    .option('--yes', 'skip the confirmation')
    .audited()
    .run(async ({ settings, output, flags }: Run<WriteFlags>, ids: readonly string[]) => {
      const quarantine = await open(settings);
      for (const id of ids) await find(quarantine, id);
      if (flags.dryRun === true) return output.note(`Would discard: ${ids.join(', ')}.`);
      await confirm(`Discard ${ids.length} refused item(s)?`, flags);
      const { discardQuarantined } = await import('../../webhook/requeue.ts');
      await withArchive(settings, async (archive) => {
        for (const id of ids) await discardQuarantined(id, { quarantine, archive, note: flags.note ?? '' });
      });
      output.note(`Discarded ${ids.join(', ')}.`);
    });
}

async function find(quarantine: Quarantine, id: string) {
  const found = /^[df]-[0-9a-f]{16}$/.test(id) ? await quarantine.show(id) : null;
  if (found !== null) return found;
  throw new CliError(EXIT.nothingMatched, `nothing in quarantine has the id ${printable(id)}`, {
    hint: '`billsync quarantine list` shows all items',
  });
}

function asJson(item: QuarantinedItem) {
  return {
    quarantine_id: item.quarantineId,
    kind: item.kind,
    at: item.at,
    code: item.code,
    reason: item.reason,
    invoice_id: item.invoiceId,
    event_id: item.eventId,
    sha256: item.sha256,
    finding_count: item.findingCount,
    size_bytes: item.sizeBytes,
  };
}

const COLUMNS: readonly Column<ReturnType<typeof asJson>>[] = [
  { title: 'id', value: ({ quarantine_id }) => quarantine_id },
  { title: 'since', value: ({ at }) => at.slice(0, 16).replace('T', ' ') },
  { title: 'kind', value: ({ kind }) => kind },
  { title: 'code', value: ({ code }) => code },
  { title: 'reason', value: ({ reason }) => reason, canShrink: true },
];

function describe(item: QuarantinedItem, body: string | null): string {
  const facts = Object.entries(asJson(item)).map(
    ([name, value]) => `${name.padEnd(13)}  ${printable(value)}`,
  );
  const parts = [facts.join('\n')];
  if (item.findings.length > 0) {
    parts.push(
      `${paint('bold', `${item.findingCount} finding(s)`)}\n${renderTable(item.findings, [
        { title: 'line', value: ({ line }) => line, align: 'right' },
        { title: 'column', value: ({ column }) => column },
        { title: 'rule', value: ({ rule }) => rule },
        { title: 'value', value: ({ value }) => value },
      ])}`,
    );
  }
  if (body !== null)
    parts.push(
      body
        .split('\n')
        .map((line) => line.split('\t').map(printable).join('\t'))
        .join('\n'),
    );
  return parts.join('\n\n');
}
