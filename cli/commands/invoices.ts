import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Settings } from '../../lib/config/settings.ts';
import { INVOICE_STATES } from '../../lib/wire/names.ts';
import type { ReportCell, ReportRow } from '../../reports/cells.ts';
import { type InvoiceHistory, timelineOf } from '../../reports/invoices/timeline.ts';
import type { InvoiceAddress } from '../../workflows/client/invoice-client.ts';
import { CliError, EXIT, nothingMatchedText } from '../errors.ts';
import { findInvoice, invoiceName, publishedInvoice } from '../find-invoices.ts';
import type { PublishedReader } from '../published.ts';
import type { Output } from '../terminal/output.ts';
import { type Column, paint, printable, renderTable } from '../terminal/table.ts';
import { collect, group, instant, type Run, seconds, verb } from '../verb.ts';
import { restoreCommand, useVersionCommand } from './invoice-decisions.ts';

export function command(): Command {
  return group('invoices', 'Shows invoices with their state and its reason, and changes them.', [
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
  return verb(
    'list',
    'Lists every known invoice with its state: draft, finalized, loaded, voided or needs_attention.',
    'billsync invoices list --state needs_attention',
  )
    .addOption(
      new Option('--state <state>', 'only invoices in this state (repeatable)')
        .choices([...INVOICE_STATES])
        .argParser(stateCollector),
    )
    .option('--tenant <tenant>', 'only invoices of this tenant, by name or id (repeatable)', collect)
    .option('--since <instant>', 'only invoices whose state changed since then', instant)
    .ndjson()
    .run(async ({ settings, output, flags }: Run<ListFlags>) => {
      const { listValue } = await import('@duckdb/node-api');
      const listOrNull = (values: readonly string[] | undefined) =>
        values === undefined ? null : listValue([...values]);
      const { withPublished } = await import('../published.ts');
      await withPublished(settings, async (published) => {
        const invoices = await published.query('invoices-list', {
          states: listOrNull(flags.state),
          tenants: listOrNull(flags.tenant),
          since: flags.since ?? null,
        });
        if (invoices.length === 0) await refuseUnknown(published, flags.tenant ?? []);
        output.rows(invoices, COLUMNS, { empty: 'No invoice matches.' });
      });
    });
}

async function refuseUnknown(published: PublishedReader, tenants: readonly string[]): Promise<void> {
  if (tenants.length === 0) return;
  const names = (await published.query('tenants-list')).map(({ name }) => String(name));
  const known = new Set(names.map((name) => name.toLowerCase()));
  const given = tenants.find((tenant) => !known.has(tenant.toLowerCase()));
  if (given === undefined) return;
  const { nearestNames } = await import('../../lib/config/did-you-mean.ts');
  throw nothingMatchedText({ filter: 'tenant', given, nearest: nearestNames(given, [...new Set(names)]) });
}

function showCommand(): Command {
  return verb(
    'show <invoice>',
    'Shows one invoice by id or number: its history, events, files and discrepancies.',
    'billsync invoices show INV-000042\nbillsync invoices show INV-000042 --diff',
  )
    .option('--diff', 'show the rows that the last version added, removed or changed in cost')
    .json()
    .run(async ({ settings, output, flags }: Run<{ readonly diff?: boolean }>, idOrNumber: string) => {
      const [{ withPublished }, { invoiceHistory }] = await Promise.all([
        import('../published.ts'),
        import('../../reports/invoices/invoice-questions.ts'),
      ]);
      await withPublished(settings, async (published) => {
        const invoice = await findInvoice(published, idOrNumber);
        if (flags.diff === true) return printDiff({ settings, output }, invoice);
        const amounts = await published.query('invoice-amounts', { load: String(invoice.load_id ?? '') });
        const parts = { amounts, ...(await invoiceHistory(published.query, String(invoice.invoice_id))) };
        output.thing({ ...invoice, ...parts }, () => renderInvoice({ invoice, ...parts }));
      });
    });
}

interface RetryFlags {
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly dryRun?: boolean;
}

/** A backfill of one invoice is answered once the invoice is settled. */
async function waitForRetry(
  settings: Settings,
  { partnerId, invoiceId }: InvoiceAddress,
  { flags, output }: { readonly flags: RetryFlags; readonly output: Output },
): Promise<void> {
  const { withTemporal } = await import('../with-temporal.ts');
  const { startBackfill } = await import('../../workflows/client/backfill-client.ts');
  const { waitFor, watchUntilInterrupt: watched } = await import('./backfill.ts');
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
    .option('--wait', 'print the result once it is published; exit 1 if the invoice still needs attention')
    .option('--timeout <seconds>', 'with --wait: stop waiting after this time; the worker continues', seconds)
    .option('--dry-run', 'show what would be retried')
    .audited()
    .run(async ({ settings, output, flags }: Run<RetryFlags>, idOrNumber: string) => {
      const invoice = await publishedInvoice(settings, idOrNumber);
      const { addressOf, retryOneInvoice: retryOne } = await import('../with-temporal.ts');
      const what = `invoice ${invoiceName(invoice)} (${String(invoice.state)})`;
      if (flags.dryRun === true) return output.note(`Would retry ${what}.`);
      const address = await addressOf(settings, invoice);
      await retryOne(settings, address);
      if (flags.wait === true) return await waitForRetry(settings, address, { flags, output });
      output.note(
        `Retrying ${what}. \`billsync invoices show ${String(invoice.invoice_id)}\` shows the result.`,
      );
    });
}

const COLUMNS: readonly Column<ReportRow>[] = [
  { title: 'invoice', value: (row) => row.invoice_number },
  { title: 'tenant', value: (row) => row.tenant, canShrink: true },
  { title: 'state', value: (row) => row.state },
  { title: 'since', value: (row) => String(row.state_since).slice(0, 16).replace('T', ' ') },
  { title: 'shipments', value: (row) => row.shipments, align: 'right' },
  { title: 'billing cost', value: (row) => row.billing_cost, align: 'right' },
  { title: 'currency', value: currencyOf },
  { title: 'id', value: (row) => row.invoice_id },
  { title: 'reason', value: (row) => row.reason, canShrink: true },
];

function currencyOf({ currency_code: code, currencies }: ReportRow): unknown {
  return String(currencies ?? '').includes(',') ? `${code} of ${currencies}` : code;
}

function stateCollector(value: string, before: readonly string[] | undefined): readonly string[] {
  if (INVOICE_STATES.some((state) => state === value)) return collect(value, before);
  throw new InvalidArgumentError(`Use ${INVOICE_STATES.join(', ')}.`);
}

export interface InvoicePage extends InvoiceHistory {
  readonly invoice: ReportRow;
  readonly amounts: readonly ReportRow[];
}

export function renderInvoice(page: InvoicePage): string {
  const { invoice, amounts, files, discrepancies } = page;
  const life = lifeOf(page);
  const parts = [heading(invoice), facts(invoice, amounts), section('Life', life)];
  if (files.length > 0) parts.push(section('Files', renderTable(files, fileColumns(invoice))));
  if (discrepancies.length > 0) {
    parts.push(section('Discrepancies', renderTable(discrepancies, DISCREPANCY_COLUMNS)));
  }
  return parts.join('\n\n');
}

function heading(invoice: ReportRow): string {
  const title = `Invoice ${invoiceName(invoice)}: ${printable(invoice.state)} since ${timeText(invoice.state_since)}`;
  return invoice.reason === null
    ? paint('bold', title)
    : `${paint('bold', title)}\n${printable(invoice.reason)}`;
}

function facts(invoice: ReportRow, amounts: readonly ReportRow[]): string {
  const { stated_total_text: total, stated_currency_code: currency } = invoice;
  const stated = [total, currency]
    .filter((part) => part !== null && part !== undefined)
    .map(printable)
    .join(' ');
  const loaded = amounts
    .map((one) => `${printable(one.billing_cost)} ${printable(one.currency_code)}`)
    .join(' and ');
  const lines: readonly (readonly [string, string])[] = [
    ['id', printable(invoice.invoice_id)],
    ['tenant', `${printable(invoice.tenant)} (${printable(invoice.invoice_level)} level)`],
    ['period', `${printable(invoice.invoice_start_date)} to ${printable(invoice.invoice_end_date)}`],
    ['stated', `${stated || printable(null)}, ${printable(invoice.stated_shipments)} shipments`],
    ['loaded', `${loaded || printable(null)}, ${printable(invoice.shipments)} shipments`],
    ['proof', printable(invoice.proof)],
    ['workflow run', printable(invoice.workflow_run_id)],
  ];
  return lines.map(([name, value]) => `  ${name.padEnd(12)}  ${value}`).join('\n');
}

function lifeOf(page: InvoicePage): string {
  return timelineOf(page.invoice, page)
    .map(({ at, kind, what, reference }) => {
      const event = kind === 'event' ? ` (event ${printable(reference)})` : '';
      return `${timeText(at)}  ${printable(what)}${event}`;
    })
    .join('\n');
}

const fileColumns = (invoice: ReportRow): readonly Column<ReportRow>[] => [
  { title: 'sha-256', value: (row) => String(row.file_sha256).slice(0, 16) },
  { title: 'bytes', value: (row) => row.file_size_bytes, align: 'right' },
  { title: 'from', value: (row) => row.file_source },
  { title: 'received', value: (row) => timeText(row.first_had_at) },
  { title: 'version', value: (row) => row.version, align: 'right' },
  {
    title: 'counts',
    value: (row) => {
      if (row.is_current !== true) return 'no';
      return invoice.voided_at === null ? 'yes' : 'no: voided';
    },
  },
];

const DISCREPANCY_COLUMNS: readonly Column<ReportRow>[] = [
  { title: 'rule', value: (row) => row.rule },
  { title: 'stated', value: (row) => row.stated, align: 'right' },
  { title: 'found', value: (row) => row.found, align: 'right' },
];

function section(title: string, body: string): string {
  return `${paint('bold', title)}\n${body.replace(/^/gm, '  ')}`;
}

function timeText(value: ReportCell | undefined): string {
  return value === null || value === undefined ? '–' : String(value).replace(/\.\d+Z$/, 'Z');
}

async function printDiff(
  { settings, output }: Pick<Run, 'settings' | 'output'>,
  invoice: ReportRow,
): Promise<void> {
  const { diffVersions } = await import('../../warehouse/explain-published.ts');
  const { publishedPath } = await import('../published.ts');
  const diff = await diffVersions({
    databasePath: publishedPath(settings),
    invoiceId: String(invoice.invoice_id),
  });
  const { from, to } = diff;
  if (from === null || to === null) {
    const name = invoiceName(invoice);
    const has = diff.versions.length === 0 ? 'no file that was loaded' : 'only one version';
    throw new CliError(EXIT.nothingMatched, `invoice ${name} has ${has}, so there is nothing to compare`, {
      hint: `another file of it makes another version; \`billsync invoices show ${name}\` shows what there is`,
    });
  }
  const rows = diff.changes.map((change) => ({
    change: change.change,
    tracking_number: change.trackingNumber,
    ship_date: change.shipDate,
    carrier: change.carrier,
    service_level: change.serviceLevel,
    currency_code: change.currencyCode,
    old_billing_cost: change.oldBillingCost,
    new_billing_cost: change.newBillingCost,
  }));
  const count = (kind: string) => rows.filter(({ change }) => change === kind).length;
  output.rows(rows, [
    { title: 'change', value: (row) => row.change },
    { title: 'tracking number', value: (row) => row.tracking_number },
    { title: 'ship date', value: (row) => row.ship_date },
    { title: 'carrier', value: (row) => row.carrier },
    { title: 'was', value: (row) => row.old_billing_cost, align: 'right' },
    { title: 'is', value: (row) => row.new_billing_cost, align: 'right' },
    { title: 'currency', value: (row) => row.currency_code },
  ]);
  output.note(
    `Version ${from.version} (${from.billingCost} ${from.currencyCode}) to ${to.version} (${to.billingCost} ${to.currencyCode}): ` +
      `${count('added')} rows added, ${count('removed')} removed, ${count('changed')} changed in cost.`,
  );
}
