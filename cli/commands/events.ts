import { type Command, Option } from 'commander';
import { EVENT_TYPES, type EventType } from '../../lib/wire/names.ts';
import type { ReportRow } from '../../reports/cells.ts';
import { CliError, EXIT, nothingMatchedText } from '../errors.ts';
import type { PublishedReader } from '../published.ts';
import { onInterrupt } from '../terminal/interaction.ts';
import { type Column, printable } from '../terminal/table.ts';
import { endInstant, group, instant, type Run, verb } from '../verb.ts';

export function command(): Command {
  return group(
    'events',
    'Shows received events, including duplicates and test events, and sends them again.',
    [listCommand(), showCommand(), replayCommand()],
  );
}

interface EventFilters {
  readonly since?: string;
  readonly until?: string;
  readonly invoice?: string;
  readonly type?: EventType;
  readonly tenant?: string;
  readonly verdict?: string;
}

function listCommand(): Command {
  return verb('list', 'Lists the received events, newest first.', 'billsync events list --since 2026-03-08')
    .option('--since <instant>', 'received since then', instant)
    .option('--invoice <id>', 'of this invoice, by id or number')
    .addOption(new Option('--type <type>', 'of this type').choices([...EVENT_TYPES]))
    .addOption(
      new Option('--verdict <verdict>', 'with this verdict').choices(['accepted', 'test', 'quarantined']),
    )
    .ndjson()
    .run(async ({ settings, output, flags }: Run<EventFilters>) => {
      const { withPublished } = await import('../published.ts');
      await withPublished(settings, async (published) => {
        const events = await published.query('events-list', {
          since: flags.since ?? null,
          invoice: flags.invoice ?? null,
          type: flags.type ?? null,
          verdict: flags.verdict ?? null,
        });
        if (events.length === 0 && flags.invoice !== undefined) await refuseUnknown(published, flags.invoice);
        output.rows(events, COLUMNS, { empty: 'No event matches.' });
      });
    });
}

async function refuseUnknown(published: PublishedReader, invoice: string): Promise<void> {
  const all = { since: null, type: null, verdict: null };
  if ((await published.query('invoice', { invoice })).length > 0) return;
  if ((await published.query('events-list', { ...all, invoice })).length > 0) return;
  const numbers = await published.query('invoice-numbers');
  const { nearestNames } = await import('../../lib/config/did-you-mean.ts');
  const nearest = nearestNames(invoice, [...new Set(numbers.map((row) => String(row.invoice_number)))]);
  throw nothingMatchedText({ filter: 'invoice', given: invoice, nearest });
}

function showCommand(): Command {
  return verb(
    'show <event>',
    'Shows one event as it was received, without the query of its presigned URL.',
    'billsync events show 0b8e2a1c-6f2e-4c57-9d0e-0a4c3f4a9a11 --json',
  )
    .json()
    .run(async ({ settings, output }: Run, eventId: string) => {
      const { withArchive } = await import('../with-temporal.ts');
      const event = await withArchive(settings, (archive) => archive.event(eventId));
      if (event === null) {
        throw new CliError(EXIT.nothingMatched, `no event has the id ${printable(eventId)}`, {
          hint: '`billsync events list` shows what was received',
        });
      }
      const document = {
        event_id: event.eventId,
        received_at: event.receivedAt,
        verdict: event.verdict,
        reason: event.reason,
        event_type: event.event?.eventType ?? null,
        invoice_id: event.event?.invoice.invoiceId ?? null,
        // The envelope stays text, because JSON numbers would lose digits of money.
        envelope: event.envelope,
        ...(event.trimmed === undefined
          ? {}
          : { body_purged_at: event.trimmed.at, body_sha256: event.trimmed.sha256 }),
      };
      output.thing(document, () => {
        const { envelope, ...rest } = document;
        const lines = Object.entries(rest).map(([name, value]) => `${name.padEnd(12)}  ${printable(value)}`);
        return [...lines, '', envelope].join('\n');
      });
    });
}

function replayCommand(): Command {
  return verb(
    'replay',
    'Sends received events to Temporal again. Each event is processed once, however often it is sent.',
    'billsync events replay --since 2026-03-01 --dry-run\nbillsync events replay --invoice 7f3a… ',
  )
    .option('--since <instant>', 'received since then', instant)
    .option('--until <instant>', 'received before then; a date is included', endInstant)
    .option('--invoice <id>', 'of this invoice')
    .addOption(new Option('--type <type>', 'of this type').choices([...EVENT_TYPES]))
    .option('--tenant <id>', "of this tenant, by the service's or the partner's id")
    .option('--dry-run', 'show what would be sent')
    .audited()
    .run(async ({ settings, output, flags }: Run<EventFilters & { readonly dryRun?: boolean }>) => {
      const { replayArchived: replay } = await import('../with-temporal.ts');
      const progress = output.progress('Replaying');
      let done = 0;
      const { since, until, invoice: invoiceId, type, tenant: tenantId } = flags;
      const sent = await onInterrupt(
        'Stopped. The events that were sent are processed; sending them again is harmless.',
        () =>
          replay(settings, {
            ...{ since, until, invoiceId, type, tenantId },
            dryRun: flags.dryRun === true,
            onEvent: () => progress.update(++done, null),
          }),
      ).finally(() => progress.end());
      if (sent === 0) throw new CliError(EXIT.nothingMatched, 'no received event matches');
      output.note(flags.dryRun === true ? `Would send ${sent} events again.` : `Sent ${sent} events again.`);
    });
}

const COLUMNS: readonly Column<ReportRow>[] = [
  { title: 'received', value: (row) => String(row.received_at).slice(0, 19).replace('T', ' ') },
  { title: 'type', value: (row) => row.event_type },
  { title: 'invoice', value: (row) => row.invoice_number ?? row.invoice_id },
  { title: 'verdict', value: (row) => row.verdict },
  { title: 'duplicates', value: (row) => row.duplicates, align: 'right' },
  { title: 'id', value: (row) => row.event_id },
  { title: 'reason', value: (row) => row.reason, canShrink: true },
];
