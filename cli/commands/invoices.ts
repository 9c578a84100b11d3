/** `billsync invoices`: where each invoice stands and why; one in full; and another try for one that is stuck. */

import { type Command, Option } from 'commander';
import type { Settings } from '../../lib/config/settings.ts';
import { INVOICE_STATES } from '../../lib/wire/names.ts';
import type { ReportRow } from '../../reports/report-result.ts';
import type { InvoiceAddress } from '../../workflows/client/invoice-client.ts';
import { CliError, EXIT, nothingIs } from '../errors.ts';
import type { PublishedReader } from '../published.ts';
import type { Output } from '../terminal/output.ts';
import type { Column } from '../terminal/render-table.ts';
import { printable } from '../terminal/terminal-text.ts';
import { collect, contextOf, group, instant, seconds, verb, withJson } from '../verb.ts';
import { restoreCommand, useVersionCommand } from './invoices/invoice-decisions.ts';
import { invoiceName, renderInvoice } from './invoices/invoice-page.ts';

export function invoicesCommand(): Command {
  return group('invoices', 'The state of each invoice, and why.', [
    listCommand(),
    showCommand(),
    retryCommand(),
    restoreCommand(),
    useVersionCommand(),
  ]);
}

interface ListFlags {
  readonly state?: readonly string[];
  readonly tenant?: readonly string[];
  readonly since?: string;
}

function listCommand(): Command {
  const command = verb(
    'list',
    'Lists every known invoice with its state: draft, finalized, loaded, voided or needs_attention.',
    'billsync invoices list --state needs_attention',
  )
    .addOption(
      new Option('--state <state>', 'only these (repeatable)')
        .choices([...INVOICE_STATES])
        .argParser(stateCollector),
    )
    .option('--tenant <tenant>', 'only these, by name or id (repeatable)', collect)
    .option('--since <instant>', 'only those whose state changed since then', instant);
  return withJson(command, { ndjson: true }).action(async (flags: ListFlags, command: Command) => {
    const { settings, output } = contextOf(command);
    const { listValue } = await import('@duckdb/node-api');
    const listOrNull = (values: readonly string[] | undefined) =>
      values === undefined ? null : listValue([...values]);
    const { openPublished } = await import('../published.ts');
    const published = await openPublished(settings);
    try {
      const invoices = await published.ask('invoices-list', {
        states: listOrNull(flags.state),
        tenants: listOrNull(flags.tenant),
        since: flags.since ?? null,
      });
      if (invoices.length === 0) await refuseUnknown(published, flags.tenant ?? []);
      output.rows(invoices, COLUMNS, { empty: 'No invoice matches.' });
    } finally {
      published.close();
    }
  });
}

/** @throws CliError (exit 3) one of them is no tenant of ours */
async function refuseUnknown(published: PublishedReader, tenants: readonly string[]): Promise<void> {
  if (tenants.length === 0) return;
  const names = (await published.ask('tenants-list')).map(({ name }) => String(name));
  const known = new Set(names.map((name) => name.toLowerCase()));
  const asked = tenants.find((tenant) => !known.has(tenant.toLowerCase()));
  if (asked === undefined) return;
  const { nearestNames } = await import('../../reports/nearest-names.ts');
  throw nothingIs({ filter: 'tenant', asked, nearest: nearestNames(asked, [...new Set(names)]) });
}

/** @throws CliError (exit 3) when no invoice has that id or number */
export async function findInvoice(published: PublishedReader, wanted: string): Promise<ReportRow> {
  const found = await published.ask('invoice', { invoice: wanted });
  const [invoice, ...others] = found;
  if (invoice === undefined) {
    throw new CliError(EXIT.nothingMatched, `no invoice has the id or number ${printable(wanted)}`, {
      hint: '`billsync invoices list` shows all; `billsync backfill ID` fetches one that no event announced',
    });
  }
  if (others.length > 0) {
    throw new CliError(EXIT.usage, `${found.length} invoices have the number ${printable(wanted)}`, {
      subject: found.map(({ invoice_id }) => String(invoice_id)).join(', '),
      hint: 'name one of them by its id',
    });
  }
  return invoice;
}

function showCommand(): Command {
  const command = verb(
    'show <invoice>',
    'Shows one invoice, by id or number: its history, its events, its files and what is wrong with it.',
    'billsync invoices show INV-000042\nbillsync invoices show INV-000042 --diff',
  ).option('--diff', 'rows added, removed and changed in cost between the last two versions');
  return withJson(command).action(
    async (wanted: string, flags: { readonly diff?: boolean }, command: Command) => {
      const { settings, output } = contextOf(command);
      const { openPublished } = await import('../published.ts');
      const published = await openPublished(settings);
      try {
        const invoice = await findInvoice(published, wanted);
        const id = { invoice: String(invoice.invoice_id) };
        if (flags.diff === true) {
          const { printDiff } = await import('./invoices/invoice-diff.ts');
          return await printDiff({ settings, output, invoice });
        }
        const events = await published.ask('invoice-events', id);
        const words = await published.ask('invoice-words', id);
        const files = await published.ask('invoice-files', id);
        const discrepancies = await published.ask('invoice-discrepancies', id);
        const amounts = await published.ask('invoice-amounts', { load: String(invoice.load_id ?? '') });
        const parts = { amounts, events, words, files, discrepancies };
        output.thing({ ...invoice, ...parts }, () => renderInvoice({ invoice, ...parts }));
      } finally {
        published.close();
      }
    },
  );
}

interface RetryFlags {
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly dryRun?: boolean;
}

/** A backfill of one invoice is answered once the invoice is settled, so it waits for the retry as well. */
async function waitForRetry(
  settings: Settings,
  { partnerId, invoiceId }: InvoiceAddress,
  { flags, output }: { readonly flags: RetryFlags; readonly output: Output },
): Promise<void> {
  const { withTemporal } = await import('../ask-temporal.ts');
  const { startBackfill } = await import('../../workflows/client/backfill-client.ts');
  const { waitFor, watched } = await import('./backfill.ts');
  await withTemporal(settings, async (client) => {
    const handle = await startBackfill(client, settings, { partnerId, invoiceIds: [invoiceId] });
    await watched(handle, () => waitFor({ client, settings, handle, flags, output }));
  });
}

function retryCommand(): Command {
  return verb(
    'retry <invoice>',
    'Retries an invoice that needs attention, after the cause was fixed.',
    'billsync invoices retry INV-000042 --wait',
  )
    .option('--wait', 'print the result, return when readers see it; exit 1 when it still needs attention')
    .option(
      '--timeout <seconds>',
      'with --wait: stop watching after this time (the worker continues)',
      seconds,
    )
    .option('--dry-run', 'say what would be tried')
    .action(async (wanted: string, flags: RetryFlags, command: Command) => {
      const { settings, output } = contextOf(command);
      const { openPublished } = await import('../published.ts');
      const published = await openPublished(settings);
      const invoice = await findInvoice(published, wanted).finally(() => published.close());
      const { addressOf, retryOne } = await import('../ask-temporal.ts');
      const what = `invoice ${invoiceName(invoice)} (${String(invoice.state)})`;
      if (flags.dryRun === true) return output.note(`Would try ${what} again.`);
      const address = await addressOf(settings, invoice);
      await retryOne(settings, address);
      if (flags.wait === true) return await waitForRetry(settings, address, { flags, output });
      output.note(
        `Trying ${what} again. \`billsync invoices show ${String(invoice.invoice_id)}\` tells how it went.`,
      );
    });
}

const COLUMNS: readonly Column<ReportRow>[] = [
  { title: 'invoice', value: (row) => text(row.invoice_number) },
  { title: 'tenant', value: (row) => text(row.tenant), canShrink: true },
  { title: 'state', value: (row) => text(row.state) },
  { title: 'since', value: (row) => minute(row.state_since) },
  { title: 'shipments', value: (row) => text(row.shipments), align: 'right' },
  { title: 'billing cost', value: (row) => text(row.billing_cost), align: 'right' },
  { title: 'currency', value: currencyOf },
  { title: 'id', value: (row) => text(row.invoice_id) },
  { title: 'why', value: (row) => text(row.reason), canShrink: true },
];

function text(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** Of the amount beside it; a file in several currencies has more amounts than this one. */
function currencyOf({ currency_code: code, currencies }: ReportRow): string | null {
  return String(currencies ?? '').includes(',') ? `${code} of ${currencies}` : text(code);
}

/** Seconds are noise in a list; `--json` has them. */
function minute(value: unknown): string | null {
  return text(value)?.slice(0, 16).replace('T', ' ') ?? null;
}

function stateCollector(value: string, before: readonly string[] | undefined): readonly string[] {
  if (!INVOICE_STATES.some((state) => state === value)) {
    throw new CliError(EXIT.usage, `there is no state '${value}'`, {
      hint: `take ${INVOICE_STATES.join(', ')}`,
    });
  }
  return collect(value, before);
}
